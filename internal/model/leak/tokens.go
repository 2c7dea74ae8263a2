package leak

import (
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// fate is what became of the reading of a family's markup.
type fate uint8

const (
	readable fate = iota
	garbled       // not what such a model writes
	cut           // right as far as it goes, and it ends in the middle
)

// reading is what a family's markup holds.
type reading struct {
	fate     fate
	calls    []Call
	text     string   // what the model says to the user beside the calls
	thoughts string   // what it says to itself
	about    []string // the tools that are named, however little else can be read
	after    string   // what follows the markup
}

// listTokens are followed by calls in JSON.
var listTokens = []string{"[TOOL_CALLS]", "<|python_tag|>", "<|tool_call|>", "<|tool_call_start|>", "<|START_ACTION|>", "functools"}

// endTokens end a call or an answer; servers that let one token pass let these
// pass too.
var endTokens = []string{"</s>", "<|eot_id|>", "<|eom_id|>", "<|im_end|>", "<|end|>", "<|endoftext|>", "<|/tool_call|>", "<|tool_call_end|>", "<|END_ACTION|>", "<|end_of_text|>"}

// harmonyTokens are gpt-oss'.
var harmonyTokens = []string{"<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>", "<|call|>", "<|return|>"}

// readFamily reads markup that [lookFurther] has found; false when it is none of
// those that are read here.
func readFamily(text string) (reading, bool) {
	for _, t := range listTokens {
		if strings.HasPrefix(text, t) {
			return readList(text), true
		}
	}
	switch {
	case strings.HasPrefix(text, "{"):
		return readBare(text), true
	case strings.HasPrefix(text, "<|channel|>"), strings.HasPrefix(text, "<|start|>"), strings.HasPrefix(text, "to=functions."),
		strings.HasPrefix(text, "commentary"), strings.HasPrefix(text, "analysis"), strings.HasPrefix(text, "assistant"):
		return readHarmony(text), true
	case strings.HasPrefix(text, "<start_function_call>"):
		return reading{fate: garbled}, true
	}
	return reading{}, false
}

// readList reads tokens with calls in JSON after them, or, as newer Mistral
// models write it, a name, perhaps an id, and the arguments.
func readList(text string) (r reading) {
	for {
		text = skip(text, endTokens)
		begin := trim(text)
		token, found := oneOf(begin, listTokens)
		if !found {
			if r.after = text; begins(begin, listTokens) {
				r.fate = cut
			}
			return r
		}
		text = begin[len(token):]
		if n := nameLength(text); n > 0 {
			if text = r.named(text[:n], text[n:]); r.fate != readable {
				return r
			}
			continue
		}
		for {
			if text = r.values(trim(text)); r.fate != readable {
				return r
			}
			next, more := strings.CutPrefix(trim(text), ";")
			if next = trim(next); more && next == "" {
				r.fate = cut
				return r
			}
			if !strings.HasPrefix(next, "{") {
				break
			}
			text = next
		}
	}
}

// named reads what follows a name, and gives back the rest.
func (r *reading) named(tool, text string) string {
	r.about = append(r.about, tool)
	if id, ok := strings.CutPrefix(text, "[CALL_ID]"); ok {
		n := nameLength(id)
		text = id[n:]
	}
	if begins(text, []string{"[ARGS]", "[CALL_ID]"}) {
		text = ""
	}
	text = trim(strings.TrimPrefix(text, "[ARGS]"))
	v, after, fate := jsonAt(text)
	if r.fate = fate; fate == readable {
		r.calls = append(r.calls, Call{Name: tool, Arguments: v.String()})
	}
	return after
}

// values reads a call or a list of calls, and gives back the rest.
func (r *reading) values(text string) string {
	v, after, fate := jsonAt(text)
	if fate != readable {
		r.fate = fate
		const most = 16 << 10 // a name stands at the beginning
		for _, m := range calledName().FindAllStringSubmatch(text[:min(len(text), most)], -1) {
			r.about = append(r.about, m[1])
		}
		return after
	}
	var items []jsonvalue.Value
	if v.IsObject() {
		items = append(items, v)
	}
	for _, item := range v.Elements() {
		items = append(items, item)
	}
	if len(items) == 0 {
		r.fate = garbled
	}
	for _, item := range items {
		c, ok := callIn(item)
		if c.Name != "" {
			r.about = append(r.about, c.Name)
		}
		if !ok {
			r.fate = garbled
			return after
		}
		r.calls = append(r.calls, c)
	}
	return after
}

// readBare reads calls in JSON that nothing announces.
func readBare(text string) (r reading) {
	for {
		text = r.values(text)
		if r.fate != readable {
			return r
		}
		next := trim(skip(text, endTokens))
		if next = trim(strings.TrimPrefix(next, ";")); !strings.HasPrefix(next, "{") {
			if next != "" {
				r.after = text
			}
			return r
		}
		text = next
	}
}

// callIn reads a call as JSON: a name and arguments, themselves or below
// "function".
func callIn(v jsonvalue.Value) (Call, bool) {
	if f := v.Get("function"); f.IsObject() {
		v = f
	}
	c := Call{}
	for _, key := range []string{"name", "tool_name", "function"} {
		if c.Name = v.GetString(key); c.Name != "" {
			break
		}
	}
	args := jsonvalue.Value{}
	for _, key := range []string{"arguments", "parameters"} {
		if args = v.Get(key); !args.IsUndefined() {
			break
		}
	}
	if text, ok := args.Str(); ok && strings.TrimSpace(text) != "" {
		parsed, err := jsonvalue.ParseString(text)
		if err != nil {
			return c, false
		}
		args = parsed
	} else if ok || args.IsUndefined() || args.IsNull() {
		args = jsonvalue.Object()
	}
	c.Arguments = args.String()
	return c, c.Name != "" && args.IsObject()
}

// readHarmony reads messages as gpt-oss writes them: a role, a channel, whom it
// is for, and the message; with the tokens between them or without.
func readHarmony(text string) (r reading) {
	for {
		text = skip(text, append(endTokens[:len(endTokens):len(endTokens)], "<|call|>", "<|return|>"))
		if text == "" {
			return r
		}
		if !harmonyBegins(text) {
			r.after = text
			return r
		}
		var to, channel string
		var message bool
		to, channel, message, text = harmonyHead(text)
		if to != "" {
			r.about = append(r.about, to)
		}
		switch {
		case strings.TrimSpace(text) == "" && !message:
			r.fate = cut
			return r
		case to != "" && (message || strings.HasPrefix(text, "{")):
			v, after, fate := jsonAt(trim(text))
			if fate == readable && !v.IsObject() {
				fate = garbled
			}
			if r.fate = fate; fate != readable {
				return r
			}
			r.calls = append(r.calls, Call{Name: to, Arguments: v.String()})
			text = after
		case message:
			end := len(text)
			for _, t := range harmonyTokens {
				if at := strings.Index(text, t); at >= 0 {
					end = min(end, at)
				}
			}
			if channel == "analysis" {
				r.thoughts = join(r.thoughts, text[:end])
			} else {
				r.text = join(r.text, text[:end])
			}
			text = text[end:]
		default:
			r.fate = garbled
			return r
		}
	}
}

func join(a, b string) string {
	b = strings.TrimSpace(b)
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

func harmonyBegins(text string) bool {
	text = trim(text)
	_, found := oneOf(text, []string{"<|start|>", "<|channel|>", "assistantcommentary", "commentary to=", "analysis to=", "to=functions."})
	return found
}

// harmonyHead reads all that stands before a message.
func harmonyHead(text string) (to, channel string, message bool, rest string) {
	for {
		text = trim(text)
		if after, ok := strings.CutPrefix(text, "<|message|>"); ok {
			return to, channel, true, after
		}
		if token, ok := oneOf(text, harmonyTokens[:3]); ok {
			text = text[len(token):]
			continue
		}
		if after, ok := strings.CutPrefix(text, "to="); ok {
			n := nameLength(after)
			to, text = strings.TrimPrefix(after[:n], "functions."), after[n:]
			continue
		}
		word, ok := oneOf(text, []string{"assistant", "analysis", "commentary", "final", "json", "code"})
		if !ok {
			return to, channel, false, text
		}
		if word == "analysis" || word == "commentary" || word == "final" {
			channel = word
		}
		text = text[len(word):]
	}
}

// jsonAt reads the object or list that text begins with, and gives back the
// rest.
func jsonAt(text string) (v jsonvalue.Value, rest string, f fate) {
	if text == "" {
		return v, text, cut
	}
	if text[0] != '{' && text[0] != '[' {
		return v, text, garbled
	}
	d := json.NewDecoder(strings.NewReader(text))
	for depth := 0; ; {
		token, err := d.Token()
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return v, "", cut
		case err != nil:
			return v, text, garbled
		}
		if b, ok := token.(json.Delim); ok {
			if depth++; b == '}' || b == ']' {
				depth -= 2
			}
		}
		if depth == 0 {
			break
		}
	}
	end := d.InputOffset()
	v, err := jsonvalue.ParseString(text[:end])
	if err != nil {
		return v, text, garbled
	}
	return v, text[end:], readable
}

// skip leaves out blanks and tokens at the beginning of a text; only blanks are
// left in.
func skip(text string, tokens []string) string {
	for {
		trimmed := trim(text)
		token, found := oneOf(trimmed, tokens)
		switch {
		case found:
			text = trimmed[len(token):]
		case trimmed == "", begins(trimmed, tokens):
			return ""
		default:
			return text
		}
	}
}

// begins reports whether a text is no more than the beginning of a token.
func begins(text string, tokens []string) bool {
	for _, t := range tokens {
		if text != "" && strings.HasPrefix(t, text) {
			return true
		}
	}
	return false
}

func trim(s string) string { return strings.TrimLeft(s, " \t\r\n") }

// oneOf gives the token that a text begins with.
func oneOf(text string, tokens []string) (string, bool) {
	for _, t := range tokens {
		if strings.HasPrefix(text, t) {
			return t, true
		}
	}
	return "", false
}

func nameLength(s string) (n int) {
	for n < len(s) && nameByte(s[n]) {
		n++
	}
	return n
}
