// Package assemble makes the chunks of one answer from what a codec reads: it
// numbers the blocks, joins characters that were cut in two, keeps leaked tool
// markup out of the text, and closes everything in the right order.
package assemble

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/leak"
	"github.com/dsh-acp/dsh-acp/internal/model/prepare"
)

// The bounds of one answer.
const (
	maxBytes = 32 << 20
	maxCalls = 256
)

// ErrStopped says that whoever takes the chunks wants no more.
var ErrStopped = errors.New("the answer is not wanted any more")

// Builder makes the chunks of one answer. It is not safe for concurrent use.
type Builder struct {
	emit  func(model.Chunk) bool
	tools *prepare.ToolSet

	next  int   // the index of the next block
	open  *flow // the text or reasoning block that is open
	calls []*Call
	size  int

	text, reasoning leak.Scanner
	cutText, cutRsn string // half of a character that came so far
	shown           bool   // some text has been shown
	err             error
}

// flow is a block of text or of reasoning.
type flow struct {
	index int
	kind  model.PartType
	text  strings.Builder
	extra jsonvalue.Value
}

// New returns a builder that hands each chunk to emit, which reports whether it
// wants more.
func New(tools *prepare.ToolSet, emit func(model.Chunk) bool) *Builder {
	return &Builder{tools: tools, emit: emit}
}

// Err is why nothing more is taken: [ErrStopped], or an *[model.Error] when the
// answer is larger than is sane; nil as long as all is well.
func (b *Builder) Err() error { return b.err }

// Amount grows with whatever the answer holds; it tells an event that adds
// something from one that does not.
func (b *Builder) Amount() int { return b.size + b.next }

// Tools are what the request offers.
func (b *Builder) Tools() *prepare.ToolSet { return b.tools }

func (b *Builder) send(c model.Chunk) {
	if b.err == nil && !b.emit(c) {
		b.err = ErrStopped
	}
}

func (b *Builder) grow(n int) bool {
	if b.size += n; b.size > maxBytes && b.err == nil {
		b.err = &model.Error{Code: "PROTOCOL", Message: fmt.Sprintf("the model's answer is larger than %d MiB; something is wrong with it: try again", maxBytes>>20)}
	}
	return b.err == nil
}

// Text adds to the answer's text.
func (b *Builder) Text(s string) {
	if s == "" || !b.grow(len(s)) {
		return
	}
	s, b.cutText = whole(b.cutText + s)
	b.show(model.PartText, b.text.Push(s))
}

// Reasoning adds to the answer's reasoning.
func (b *Builder) Reasoning(s string) {
	if s == "" || !b.grow(len(s)) {
		return
	}
	s, b.cutRsn = whole(b.cutRsn + s)
	b.show(model.PartReasoning, b.reasoning.Push(s))
}

// Extra gives the open reasoning block, or a new one, further members, such as
// a signature.
func (b *Builder) Extra(key string, v jsonvalue.Value) {
	f := b.flow(model.PartReasoning)
	if f.extra.IsUndefined() {
		f.extra = jsonvalue.Object()
	}
	f.extra = f.extra.With(key, v)
}

// AppendExtra adds to a text member of the open reasoning block.
func (b *Builder) AppendExtra(key, s string) {
	if s == "" || !b.grow(len(s)) {
		return
	}
	b.Extra(key, jsonvalue.String(b.flow(model.PartReasoning).extra.GetString(key)+s))
}

// Split closes the open block, so that what follows gets one of its own.
func (b *Builder) Split() { b.close() }

func (b *Builder) show(kind model.PartType, s string) {
	if s == "" {
		return
	}
	f := b.flow(kind)
	f.text.WriteString(s)
	if kind == model.PartText {
		b.shown = true
		b.send(model.TextChunk(f.index, s))
	} else {
		b.send(model.ReasoningChunk(f.index, s))
	}
}

// flow is the open block of that kind, opened if need be.
func (b *Builder) flow(kind model.PartType) *flow {
	if b.open != nil && b.open.kind == kind {
		return b.open
	}
	b.closeFor(kind)
	return b.begin(kind)
}

func (b *Builder) begin(kind model.PartType) *flow {
	b.open = &flow{index: b.next, kind: kind}
	b.next++
	b.send(model.StartChunk(b.open.index, kind))
	return b.open
}

func (b *Builder) close() { b.closeFor("") }

// closeFor closes the open block, as one of another kind follows. What a scanner
// has held back since the beginning of a block is the block.
func (b *Builder) closeFor(next model.PartType) {
	for _, kind := range []model.PartType{model.PartReasoning, model.PartText} {
		scanner := &b.text
		if kind == model.PartReasoning {
			scanner = &b.reasoning
		}
		if b.open == nil && kind != next {
			if held := scanner.Flush(); held != "" {
				b.begin(kind)
				b.show(kind, held)
				b.closeFor(next)
			}
		}
	}
	if f := b.open; f != nil {
		scanner := &b.text
		if f.kind == model.PartReasoning {
			scanner = &b.reasoning
		}
		b.show(f.kind, scanner.Flush())
		b.open = nil
		b.send(model.EndChunk(f.index, model.Part{Type: f.kind, Text: f.text.String(), Extra: f.extra}))
	}
}

// Call is a tool call under way.
type Call struct {
	b     *Builder
	index int
	// id and name are what is known so far; started says that they were sent.
	id, name string
	started  bool
	ended    bool
	args     strings.Builder
	extra    jsonvalue.Value
}

// Call begins a tool call. Both may still be unknown; name is the one on the
// wire.
func (b *Builder) Call(id, name string) *Call {
	c := &Call{b: b, id: id, name: name}
	if len(b.calls) >= maxCalls && b.err == nil {
		b.err = &model.Error{Code: "PROTOCOL", Message: fmt.Sprintf("the model made more than %d calls in one answer; something is wrong with it: try again", maxCalls)}
	}
	b.close()
	c.index = b.next
	b.next++
	b.calls = append(b.calls, c)
	b.send(model.StartChunk(c.index, model.PartToolCall))
	c.start()
	return c
}

// start sends id and name once the name is known. Arguments that came before
// it go along.
func (c *Call) start() {
	if !c.started && c.name != "" {
		c.started = true
		c.b.send(model.ToolCallChunk(c.index, c.id, c.b.tools.Original(c.name), c.args.String()))
	}
}

// ID and Name are what is known so far; Arguments what has come.
func (c *Call) ID() string        { return c.id }
func (c *Call) Name() string      { return c.name } // Name is the one on the wire.
func (c *Call) Arguments() string { return c.args.String() }

// SetID takes an id that comes late. Only the first one counts.
func (c *Call) SetID(id string) {
	if c.id == "" && id != "" {
		c.id = id
		if c.started {
			c.b.send(model.ToolCallChunk(c.index, id, "", ""))
		}
	}
}

// SetName takes a name that comes late, or a longer one.
func (c *Call) SetName(name string) {
	if name == "" || name == c.name {
		return
	}
	c.name = name
	if c.started {
		c.b.send(model.ToolCallChunk(c.index, "", c.b.tools.Original(name), ""))
		return
	}
	c.start()
}

// Args adds to the text of the arguments.
func (c *Call) Args(s string) {
	if s == "" || !c.b.grow(len(s)) {
		return
	}
	c.args.WriteString(s)
	if c.started {
		c.b.send(model.ToolCallChunk(c.index, "", "", s))
	}
}

// Extra gives the call a further member that its server wants back.
func (c *Call) Extra(key string, v jsonvalue.Value) {
	if c.extra.IsUndefined() {
		c.extra = jsonvalue.Object()
	}
	c.extra = c.extra.With(key, v)
}

// End closes the call. Arguments that are nothing but blanks become "".
func (c *Call) End() {
	if c.ended {
		return
	}
	c.ended = true
	if c.id == "" {
		c.id = fmt.Sprintf("call_%d", c.index)
	}
	args := c.args.String()
	if strings.TrimSpace(args) == "" {
		args = ""
	}
	c.b.send(model.EndChunk(c.index, model.Part{
		Type: model.PartToolCall, ID: c.id, Name: c.b.tools.Original(c.name), Arguments: args, Extra: c.extra,
	}))
}

// Finish closes every block, reads the calls out of leaked markup, and sends
// the usage, if any, and the finish. The error says why the answer must not be
// used; nothing that waited for it has then been shown.
func (b *Builder) Finish(kind model.FinishKind, usage *model.Usage) error {
	if b.cutText != "" {
		b.show(model.PartText, b.text.Push("\uFFFD"))
	}
	if b.cutRsn != "" {
		b.show(model.PartReasoning, b.reasoning.Push("\uFFFD"))
	}
	reasoning, text := b.reasoning.Finish(b.tools), b.text.Finish(b.tools)
	b.show(model.PartReasoning, reasoning.Thoughts+reasoning.Text+text.Thoughts)
	b.show(model.PartText, text.Text)
	b.close()
	for _, c := range b.calls {
		if c.name == "" && kind.Whole() && b.err == nil {
			b.err = &model.Error{Code: "PROTOCOL", Retryable: true, Message: "the model called a tool without naming it; try again"}
		}
		c.End()
	}
	structured := len(b.calls)
	leaked := text
	if structured == 0 && !b.shown && len(text.Calls) == 0 && !text.Broken {
		// A call that was meant, but written before the thinking had ended. Next
		// to anything else it is only what the model thought about.
		leaked = reasoning
	}
	if leaked.Broken && structured == 0 && kind.Whole() && b.err == nil {
		b.err = &model.Error{Code: "PROTOCOL", Retryable: true, Message: "the model wrote a tool call into its text in a form that cannot be read; it was not run. Try again"}
	}
	if b.err != nil {
		return b.err
	}
	for _, l := range leaked.Calls {
		if b.repeats(l) {
			continue
		}
		c := b.Call("", l.Name)
		c.Args(l.Arguments)
		c.End()
	}
	switch {
	case kind == model.FinishStop && len(b.calls) > 0:
		kind = model.FinishToolCalls
	case kind == model.FinishToolCalls && len(b.calls) == 0 && b.err == nil:
		b.err = &model.Error{Code: "PROTOCOL", Retryable: true, Message: "the model announced a tool call and made none; try again"}
	}
	if usage != nil && b.err == nil {
		b.send(model.UsageChunk(*usage))
	}
	if b.err == nil {
		b.send(model.FinishChunk(kind))
	}
	return b.err
}

// repeats reports whether a leaked call was also made properly.
func (b *Builder) repeats(l leak.Call) bool {
	args := func(s string) jsonvalue.Value { return model.Part{Arguments: s}.ArgumentsObject() }
	for _, c := range b.calls {
		if b.tools.Original(c.name) == b.tools.Original(l.Name) && args(c.args.String()).Equal(args(l.Arguments)) {
			return true
		}
	}
	return false
}

// Empty reports whether the answer holds nothing so far: no text, no reasoning
// and no call.
func (b *Builder) Empty() bool { return b.next == 0 && !b.text.Found() && !b.reasoning.Found() }

// whole splits off the half of a character that a server cut in two (a high
// surrogate at the end), and joins the halves that came before.
func whole(s string) (text, rest string) {
	if n := len(s); n >= 3 && s[n-3] == 0xED && s[n-2] >= 0xA0 && s[n-2] <= 0xAF {
		s, rest = s[:n-3], s[n-3:]
	}
	// Building the value joins pairs and makes the rest well-formed.
	joined, _ := jsonvalue.String(s).Str()
	return joined, rest
}
