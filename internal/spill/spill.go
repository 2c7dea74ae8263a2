// Package spill keeps long results out of the model's context: the model gets
// the beginning and the end, and the path of a file with the whole text.
package spill

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Options configure the policy of one session.
type Options struct {
	// MaxInline is how many bytes of a result's text the model gets. 0 turns
	// the policy off (rule R15.1).
	MaxInline int64
	// Dir is where whole texts are kept; it is made when it is needed.
	Dir string
	// Conceal keeps out of a text what may not be stored; nil changes nothing.
	Conceal func(string) string
	// Logger gets what went wrong; nil discards.
	Logger *slog.Logger
}

// Install puts the policy behind every other post-execute listener of the scope
// (rule R15.1).
func Install(scope *registry.Scope, pipe *pipeline.Pipeline, o Options) error {
	if o.MaxInline <= 0 {
		return nil
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	_, err := pipe.OnPostExecute(scope, o.listen, registry.Prepend())
	return err
}

// listen replaces the content of accepted, top-level results that are all text
// and too long. The tool read is exempt, for it is how the rest is got at. When
// the text cannot be stored the result stays as it is (rule R15.1).
func (o Options) listen(ctx context.Context, exec *registry.Execution, r *registry.Result, next pipeline.PostNext) (pipeline.PostDecision, error) {
	d, err := next(ctx)
	if err != nil || !d.IsAccept() || !d.Value().IsUndefined() || exec.Nested() || exec.Name() == "read" {
		return d, err
	}
	blocks, replaced := d.Content()
	if !replaced {
		blocks = r.Content()
	}
	text, ok := o.allText(blocks)
	if !ok || int64(len(text)) <= o.MaxInline {
		return d, nil
	}
	if short, ok := o.spill(exec, text); ok {
		d = d.WithContent(content.Text(short))
	}
	return d, nil
}

// Logged does the same to what a session's log keeps of a call that a program
// made, read included: the program has its value already, and no model reads
// this. nil keeps the content (rule R15.1).
func (o Options) Logged(exec *registry.Execution, blocks []content.Block) []content.Block {
	text, ok := o.allText(blocks)
	if o.MaxInline <= 0 || !ok || int64(len(text)) <= o.MaxInline {
		return nil
	}
	short, ok := o.spill(exec, text)
	if !ok {
		return nil
	}
	return []content.Block{content.Text(short)}
}

// spill stores a text and gives what stands for it; false when it cannot be
// stored, or not be made short enough.
func (o Options) spill(exec *registry.Execution, text string) (short string, ok bool) {
	path, err := store(o.Dir, exec.Name(), text)
	if err != nil {
		if o.Logger != nil {
			o.Logger.Warn("a long result could not be stored, so it stays as it is", "tool", exec.Name(), "call", exec.CallID(), "err", err)
		}
		return "", false
	}
	if short, ok = shorten(text, path, int(o.MaxInline)); !ok {
		_ = os.Remove(path)
		return "", false
	}
	o.record(exec, path, len(text))
	return short, true
}

// TypeSpilled says in the log where the whole of a call's shortened result is:
// {callId, path, bytes}. It comes before the result, whose card gets a link.
const TypeSpilled = "tool/spill"

// record logs where the text is. Without that there is no link, and no harm.
func (o Options) record(exec *registry.Execution, path string, size int) {
	to, ok := exec.Agent().(interface {
		Record(eventType string, data jsonvalue.Value) error
	})
	if !ok {
		return
	}
	err := to.Record(TypeSpilled, jsonvalue.Object(
		jsonvalue.Member{Key: "callId", Value: jsonvalue.String(exec.CallID())},
		jsonvalue.Member{Key: "path", Value: jsonvalue.String(path)},
		jsonvalue.Member{Key: "bytes", Value: jsonvalue.Int(int64(size))},
	))
	if err != nil && o.Logger != nil {
		o.Logger.Warn("the place of a long result could not be logged", "call", exec.CallID(), "err", err)
	}
}

// allText is the text of a result that is nothing else, as it may be stored.
func (o Options) allText(blocks []content.Block) (string, bool) {
	for _, b := range blocks {
		if _, ok := b.Text(); !ok {
			return "", false
		}
	}
	text := content.JoinText(blocks)
	if o.Conceal != nil {
		text = o.Conceal(text)
	}
	return text, len(blocks) > 0
}

// shorten keeps the two ends of a text, with a notice where the rest is. All of
// it takes at most limit bytes; false when there is no room for that.
func shorten(text, path string, limit int) (string, bool) {
	notice := func(omitted int) string {
		return fmt.Sprintf("\n\n(Omitted %d bytes. Full formatted result stored at: %s. Use read with offset/limit, or grep this path to search within it.)", omitted, path)
	}
	// The number of omitted bytes cannot have more digits than that of all.
	keep := limit - len(notice(len(text)))
	if keep < 0 {
		return "", false
	}
	// A number with fewer digits leaves room for a little more.
	for keep+1+len(notice(len(text)-keep-1)) <= limit {
		keep++
	}
	head := wholeHead(text, (keep+1)/2)
	tail := wholeTail(text[len(head):], keep/2)
	return head + tail + notice(len(text)-len(head)-len(tail)), true
}

// wholeHead is the first n bytes or fewer, without a part of a character.
func wholeHead(s string, n int) string {
	for n > 0 && n < len(s) && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// wholeTail is the last n bytes or fewer, without a part of a character.
func wholeTail(s string, n int) string {
	i := len(s) - n
	for i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return s[i:]
}

// store writes the whole text to a new file that only the user can read, and
// returns its path.
func store(dir, tool, text string) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	// Twelve digits that nobody can guess: the notice has always the same length.
	name := make([]byte, 6)
	_, _ = rand.Read(name) // never fails
	f, err := os.OpenFile(filepath.Join(dir, hex.EncodeToString(name)+"-"+fileName(tool)+".txt"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	_, err = io.WriteString(f, text)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return "", err
	}
	return filepath.Clean(f.Name()), nil
}

// fileName makes a tool's name part of a file name.
func fileName(tool string) string {
	if len(tool) > 40 {
		tool = tool[:40]
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, tool)
}
