package leak

import "strings"

// place is where in an answer a marker stands, outside of code.
type place uint8

const (
	inLine  place = iota // after something else on its line
	atLine               // at the beginning of a line
	atStart              // before anything else of the answer
)

// The parts of a pattern that stand for more than themselves.
const (
	blanks = "\x00b" // any number of them
	name   = "\x00n" // of a tool
)

// family is markup whose words alone say little: ordinary text mentions them.
// What follows them tells a call from a mention.
type family struct {
	first string // what all of the patterns begin with
	// least is the first place where the markup is looked for, and start, line
	// and inside are what is thought of it in each place.
	least               place
	start, line, inside verdict
	patterns            [][]string
}

var list = [][]string{{blanks, "[", blanks, "{"}, {blanks, "{", blanks, `"`}}

// families are the spellings of models whose special tokens a server let pass:
// Mistral's, Llama's, Granite's, Cohere's, LFM's, Gemma's, gpt-oss' with its
// tokens and without them, Phi's; a call in JSON that is all of an answer; and
// those of [softMarkers] in the middle of a line.
var families = [...]family{
	{"[TOOL_CALLS]", inLine, hard, soft, tail, append(list[:2:2], []string{name, "[ARGS]"}, []string{name, "[CALL_ID]"}, []string{name, "{"})},
	{"<|python_tag|>", inLine, hard, soft, tail, append(list[:2:2], []string{name, "("}, []string{"import "}, []string{"from "})},
	{"<|tool_call|>", inLine, hard, soft, tail, list},
	{"<|START_ACTION|>", inLine, hard, soft, tail, list},
	{"<|tool_call_start|>", inLine, hard, soft, tail, [][]string{{blanks, "["}, {blanks, "{"}}},
	{"<start_function_call>", inLine, hard, soft, tail, [][]string{{blanks, "call:"}}},
	{"<|channel|>", inLine, hard, soft, tail, [][]string{
		{blanks, "analysis", blanks, "<|"},
		{blanks, "commentary", blanks, "<|"},
		{blanks, "final", blanks, "<|"},
		{blanks, "analysis", blanks, "to="},
		{blanks, "commentary", blanks, "to="},
	}},
	{"<|start|>", inLine, hard, soft, tail, [][]string{{blanks, "assistant", blanks, "<|channel|>"}, {blanks, "assistant", blanks, "to="}}},
	{"assistantcommentary to=functions.", atLine, soft, soft, no, recipient},
	{"commentary to=functions.", atLine, soft, soft, no, recipient},
	{"analysis to=functions.", atLine, soft, soft, no, recipient},
	{"to=functions.", atLine, soft, soft, no, recipient},
	{"functools[", atLine, soft, soft, no, [][]string{{blanks, "{"}}},
	{"{", atStart, tail, no, no, [][]string{
		{blanks, `"name"`, blanks, ":", blanks, `"`, name, `"`, blanks, ",", blanks, `"parameters"`, blanks, ":", blanks, "{"},
		{blanks, `"name"`, blanks, ":", blanks, `"`, name, `"`, blanks, ",", blanks, `"arguments"`, blanks, ":", blanks, "{"},
		{blanks, `"type"`, blanks, ":", blanks, `"function"`, blanks, ",", blanks, `"name"`, blanks, ":", blanks, `"`, name, `"`, blanks, ",", blanks, `"parameters"`, blanks, ":", blanks, "{"},
		{blanks, `"type"`, blanks, ":", blanks, `"function"`, blanks, ",", blanks, `"function"`, blanks, ":", blanks, "{"},
	}},
	{"<tool_call>", inLine, no, no, tail, [][]string{{blanks, "{", blanks, `"`}, {blanks, "<function="}}},
	{"<function_calls>", inLine, no, no, tail, wrapped},
	{"<tool_calls>", inLine, no, no, tail, wrapped},
	{"<" + "antml:" + "function_calls>", inLine, no, no, tail, wrapped},
	{"<minimax:tool_call>", inLine, no, no, tail, wrapped},
}

var (
	recipient = [][]string{{name, blanks, "<|"}, {name, blanks, "json"}, {name, blanks, "code"}, {name, blanks, "{"}}
	wrapped   = [][]string{{blanks, "<invoke name="}, {blanks, "<" + "antml:" + "invoke name="}}
)

// maxLook bounds how much text a family may wait for, in bytes.
const maxLook = 256

// lookFurther says whether s begins the markup of a family that is taken for
// such at that place. s is what has come so far; ended says that it is all.
func lookFurther(s string, at place, ended bool) verdict {
	if at == inLine && s[0] != '<' && s[0] != '[' || len(s) > 1 && s[0] == '<' && strings.IndexByte("|afmst", s[1]) < 0 {
		return no // most of all text, without a look at each
	}
	if len(s) > maxLook {
		s = s[:maxLook]
	}
	result := no
	for i := range families {
		f := &families[i]
		v := [...]verdict{f.inside, f.line, f.start}[at]
		if v == no || at < f.least {
			continue
		}
		rest, begins := strings.CutPrefix(s, f.first)
		if !begins {
			// One letter begins most of all words: it is not waited for.
			if len(s) < len(f.first) && strings.HasPrefix(f.first, s) && (len(s) > 1 || !letter(s[0])) {
				result = maybe
			}
			continue
		}
		for _, pattern := range f.patterns {
			switch matched, far := match(rest, pattern); {
			case matched == hard, matched == maybe && ended && far:
				return v
			case matched == maybe:
				result = maybe
			}
		}
	}
	if result == maybe && (ended || len(s) == maxLook) {
		return no
	}
	return result
}

// match holds a text against a pattern: hard when it begins with it, maybe when
// the text is too short to tell; far says that a part of the pattern that is not
// blank was there already.
func match(s string, pattern []string) (v verdict, far bool) {
	for i, part := range pattern {
		switch part {
		case blanks:
			s = trim(s)
		case name:
			n := 0
			for n < len(s) && nameByte(s[n]) {
				n++
			}
			if n == len(s) && n > 0 && n <= 64 {
				return maybe, true
			}
			if n > 64 || n == 0 && s != "" {
				return no, false
			}
			far = far || n > 0
			s = s[n:]
		default:
			if len(s) < len(part) {
				if strings.HasPrefix(part, s) {
					return maybe, far || s != ""
				}
				return no, false
			}
			if !strings.HasPrefix(s, part) {
				return no, false
			}
			s, far = s[len(part):], true
		}
		if s == "" && i < len(pattern)-1 {
			return maybe, far
		}
	}
	return hard, true
}

func letter(b byte) bool { return 'a' <= b && b <= 'z' }

func nameByte(b byte) bool {
	return b == '_' || b == '-' || b == '.' || '0' <= b && b <= '9' || 'A' <= b && b <= 'Z' || 'a' <= b && b <= 'z'
}

// lineEnds reports whether what follows some markup begins on another line.
func lineEnds(after string) bool {
	rest := strings.TrimLeft(after, " \t\r")
	return rest == "" || rest[0] == '\n'
}
