package leak

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// leaks are calls as families of models write them, with what must come of them
// at the beginning of an answer. Each but those of [lineOnly] is also read
// behind text on the same line.
var leaks = map[string]string{
	"[TOOL_CALLS][{\"name\": \"read\", \"arguments\": {\"path\":\"x\"}}]":                                            readX,
	"[TOOL_CALLS] [{\"name\": \"read\", \"arguments\": {\"path\":\"x\"}}, {\"name\":\"bash\",\"arguments\":{}}]</s>": readX + bashNone,
	"[TOOL_CALLS]{\"name\":\"read\",\"arguments\":\"{\\\"path\\\":\\\"x\\\"}\"}":                                     readX,
	"[TOOL_CALLS]read{\"path\":\"x\"}":                                                                                                                                           readX,
	"[TOOL_CALLS]read[ARGS]{\"path\":\"x\"}[TOOL_CALLS]bash[ARGS]{}":                                                                                                             readX + bashNone,
	"[TOOL_CALLS]read[CALL_ID]a1B2c3D4e[ARGS]{\"path\":\"x\"}":                                                                                                                   readX,
	"<|python_tag|>{\"name\": \"read\", \"parameters\": {\"path\":\"x\"}}":                                                                                                       readX,
	"<|python_tag|>{\"type\": \"function\", \"name\": \"read\", \"parameters\": {\"path\":\"x\"}}<|eom_id|>":                                                                     readX,
	"<|python_tag|>\n{\"name\":\"read\",\"parameters\":{\"path\":\"x\"}}; {\"name\":\"bash\",\"parameters\":{}}<|eot_id|>":                                                       readX + bashNone,
	"<|tool_call|>[{\"name\":\"read\",\"arguments\":{\"path\":\"x\"}}]<|/tool_call|>":                                                                                            readX,
	"<|START_ACTION|>[{\"tool_call_id\": \"0\", \"tool_name\": \"read\", \"parameters\": {\"path\":\"x\"}}]<|END_ACTION|>":                                                       readX,
	"<|tool_call_start|>[{\"name\":\"read\",\"arguments\":{\"path\":\"x\"}}]<|tool_call_end|>":                                                                                   readX,
	"<|channel|>commentary to=functions.read <|constrain|>json<|message|>{\"path\":\"x\"}<|call|>":                                                                               readX,
	"<|channel|>commentary to=functions.read<|message|>{\"path\":\"x\"}":                                                                                                         readX,
	"<|start|>assistant<|channel|>commentary to=functions.read <|message|>{\"path\":\"x\"}<|call|>":                                                                              readX,
	"<|start|>assistant to=functions.read<|channel|>commentary json<|message|>{\"path\":\"x\"}":                                                                                  readX,
	"<|channel|>analysis to=functions.read code<|message|>{\"path\":\"x\"}<|call|>":                                                                                              readX,
	"<|channel|>analysis<|message|>I read.<|end|><|start|>assistant<|channel|>commentary to=functions.read <|constrain|>json<|message|>{\"path\":\"x\"}<|call|>":                 "(I read.)" + readX,
	"commentary to=functions.read json{\"path\":\"x\"}":                                                                                                                          readX,
	"assistantcommentary to=functions.read <|constrain|>json<|message|>{\"path\":\"x\"}<|call|>":                                                                                 readX,
	"to=functions.read<|channel|>commentary <|constrain|>json<|message|>{\"path\":\"x\"}":                                                                                        readX,
	"functools[{\"name\": \"read\", \"arguments\": {\"path\":\"x\"}}]":                                                                                                           readX,
	"{\"name\": \"read\", \"parameters\": {\"path\":\"x\"}}":                                                                                                                     readX,
	"{\"type\": \"function\", \"name\": \"read\", \"parameters\": {\"path\":\"x\"}}<|eot_id|>":                                                                                   readX,
	"{\"type\":\"function\",\"function\":{\"name\":\"read\",\"arguments\":{\"path\":\"x\"}}}":                                                                                    readX,
	"<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\":\"x\"}}\n</tool_call>":                                                                                           readX,
	"<tool_call>{\"name\": \"read\", \"arguments\": {\"path\":\"x\"}}</tool_call>":                                                                                               readX,
	"<tool_call><function=read><parameter=path>x</parameter></function></tool_call>":                                                                                             readX,
	"<function_calls>\n<invoke name=\"read\">\n<parameter name=\"path\">x</parameter></invoke>\n</function_calls>":                                                               readX,
	"<" + ns + "function_calls>\n<" + ns + "invoke name=\"read\">\n<" + ns + "parameter name=\"path\">x</" + ns + "parameter>\n</" + ns + "invoke>\n</" + ns + "function_calls>": readX,
}

const (
	readX    = ` → read {"path":"x"}`
	bashNone = ` → bash {}`
	ns       = "antml:"
)

// atStartOnly and lineOnly are markup without any token that nobody writes; so
// they must stand where they would.
func atStartOnly(s string) bool { return strings.HasPrefix(s, "{") }

func lineOnly(s string) bool { return !strings.HasPrefix(s, "<") && !strings.HasPrefix(s, "[") }

func thoughts(shown string, o Outcome) string {
	if o.Thoughts != "" {
		return "(" + o.Thoughts + ")" + describe(shown, o)
	}
	return describe(shown, o)
}

// Wherever a stream is cut, a call in the markup of another family is read and
// nothing of it shown.
func TestFamilies(t *testing.T) {
	for markup, want := range leaks {
		for _, before := range []string{"", " \n", "Let me look.\n\n", "Let me look. ", "I look at `x`."} {
			sameLine := before != "" && !strings.HasSuffix(before, "\n")
			if lineOnly(markup) && sameLine || atStartOnly(markup) && strings.TrimSpace(before) != "" {
				continue
			}
			text, want := before+markup, before+want
			if at := strings.Index(want, "("); at > 0 {
				want = "(I read.)" + before + strings.TrimPrefix(want[at:], "(I read.)")
			}
			for i := range len(text) + 1 {
				if i == len(before)+1 && letter(markup[0]) {
					continue // one letter is shown at once
				}
				if got := thoughts(run(text[:i], text[i:])); got != want {
					t.Fatalf("%q split at %d: %q, not %q", text, i, got, want)
				}
			}
			var bytes []string
			first := 0
			if letter(markup[0]) {
				first = len(before) + 2
				bytes = append(bytes, text[:first])
			}
			for i := first; i < len(text); i++ {
				bytes = append(bytes, text[i:i+1])
			}
			if got := thoughts(run(bytes...)); got != want {
				t.Fatalf("%q byte by byte: %q, not %q", text, got, want)
			}
		}
	}
}

// An answer that ends in the middle of a call fails once it is clear which tool
// is meant, wherever it was cut.
func TestFamiliesCutOff(t *testing.T) {
	for markup, want := range leaks {
		named := strings.Index(markup, "read") + len("read")
		for _, before := range []string{"", "Let me look.\n", "Let me look. "} {
			if lineOnly(markup) && strings.HasSuffix(before, " ") || atStartOnly(markup) && before != "" {
				continue
			}
			args := named + max(strings.Index(markup[named:], "x"), 0) // the argument has begun
			for i := args; i < len(markup); i++ {
				shown, o := run(before + markup[:i])
				got := thoughts(shown, o)
				whole := strings.Contains(got, " → read {\"path\":\"x\"}") // nothing but ends was missing
				if !whole && (!o.Broken || shown+o.Text != before) {
					t.Errorf("%q cut at %d of %q: %q, whole it is %q", before+markup[:i], i, markup, got, want)
				}
			}
		}
	}
}

// Markup that is written about is text.
func TestFamiliesAreMentioned(t *testing.T) {
	var texts []string
	for markup := range leaks {
		if strings.Contains(markup, "tool_call_end") {
			continue // DeepSeek has the same token, and that is never taken for a mention
		}
		markup = strings.ReplaceAll(markup, "\n", " ")
		texts = append(texts,
			"They write `"+markup+"` for a call.",
			"They write:\n\n```\n"+markup+"\n```\n\nand that is all.",
			"They write \""+markup+"\" for a call.",
			"> They write "+markup,
			"They write "+markup+" for a call of `read`.",
			"They write "+markup+".",
		)
		if !strings.Contains(markup, "<tool_call>") && !strings.Contains(markup, "function_calls>") { // read as ever, with text after them
			texts = append(texts, markup+" is how they write it.")
		}
		if !strings.HasPrefix(markup, "<|") && !strings.HasPrefix(markup, "[") {
			texts = append(texts, strings.ReplaceAll(markup, "read", "get_weather"))
		}
		texts = append(texts, "So:\n"+strings.ReplaceAll(markup, "read", "get_weather"), "So: "+strings.ReplaceAll(markup, "read", "get_weather"))
	}
	texts = append(texts,
		"[TOOL_CALLS]", "[TOOL_CALLS] is Mistral's token.", "The [TOOL_CALLS] token {as they call it}", "[TOOL_CALLS] [see below]", "[link](x) and [x]",
		"<|python_tag|> begins a call.", "It is <|python_tag|>.", "<|channel|> and <|message|> are tokens", "the <|channel|>analysis channel", "<|start|>",
		"commentary to the law", "commentary to=functions. is", "to=functions", "analysis to follow", "functools.partial(f)", "functools[x]",
		"{\"name\": \"read\"}", "{\"name\": \"read\", \"path\": \"x\"}", "{\"name\":\"read\",\"parameters\":[]}", "{}", "{\"type\":\"object\"}", "{ \"name\" :", "{",
		"{\"name\":\"read\",\"parameters\":{\"path\":\"x\"}}\nThat is a call.", "{\"name\":\"read\",\"parameters\":{\"path\":\"x\"},,}",
		"They write <tool_call>{\"name\": \"read\", …}</tool_call>.", "They write <tool_call>{\"name\": \"read\", ...", "<tool_call>{ \"name\" }</tool_call> and [TOOL_CALLS][{\"name\": …}]",
		"a <tool_call> b", "a <function_calls> b", "    [TOOL_CALLS][{\"name\":\"read\",\"arguments\":{}}] and so on",
	)
	for _, in := range texts {
		for i := range len(in) + 1 {
			if i%5 > 0 && !strings.ContainsAny(in[max(i-1, 0):i], "<[{(\n") {
				continue // the places that count, and some of the others
			}
			if got := thoughts(run(in[:i], in[i:])); got != in {
				t.Errorf("%q split at %d became %q", in, i, got)
				break
			}
		}
	}
}

// At the very beginning of an answer there is no sentence that the token could
// stand in: what cannot be read fails, and a tool that nobody offers is answered
// like any other that does not exist.
func TestFamiliesAtTheStart(t *testing.T) {
	for in, want := range map[string]string{
		"[TOOL_CALLS][{\"name\":\"get_weather\",\"arguments\":{}}]": " → get_weather {}",
		"[TOOL_CALLS][{\"name\":\"get_weather\",\"arguments\":":     " BROKEN",
		"[TOOL_CALLS][{oops}]":                                                                             " BROKEN",
		"<|python_tag|>print(\"x\")":                                                                       " BROKEN",
		"<|python_tag|>import os\nos.listdir()":                                                            " BROKEN",
		"<|python_tag|>brave_search.call(query=\"x\")<|eom_id|>":                                           " BROKEN",
		"<|tool_call_start|>[read(path=\"x\")]<|tool_call_end|>":                                           " BROKEN",
		"<start_function_call>call:read{path:<escape>x<escape>}<end_function_call>":                        " BROKEN",
		"<|channel|>final<|message|>It is done.<|return|>":                                                 "It is done.",
		"<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>It is done.": "(Hm.)It is done.",
		"<|channel|>analysis<|message|>Hm.":                                                                " BROKEN",
		"<|channel|>commentary<|message|>I read.<|end|><|start|>assistant<|channel|>commentary to=functions.read<|message|>{}<|call|>": "I read. → read {}",
		"<|channel|>commentary to=functions.read<|message|>not json":                                                                   " BROKEN",
		"[TOOL_CALLS][{\"name\":\"read\",\"arguments\":{\"path\":\"x\"}}]\n\nIt says hello.":                                           "It says hello." + readX,
		// A mention hides nothing that follows it.
		"A [TOOL_CALLS][{\"name\": …}] is one.\n[TOOL_CALLS]read{\"path\":\"x\"}":             "A [TOOL_CALLS][{\"name\": …}] is one.\n" + readX,
		"<tool_calls> are these:\n<|python_tag|>{\"name\":\"get_weather\",\"parameters\":{}}": "<tool_calls> are these:\n<|python_tag|>{\"name\":\"get_weather\",\"parameters\":{}}",
		// Arguments may hold whatever they like.
		"<|channel|>commentary to=functions.bash<|message|>{\"command\":\"echo '<|end|>' </tool_call>\"}<|call|>": ` → bash {"command":"echo '<|end|>' </tool_call>"}`,
		"[TOOL_CALLS]bash[ARGS]{\"command\":\"[TOOL_CALLS]}\"}":                                                   ` → bash {"command":"[TOOL_CALLS]}"}`,
	} {
		for i := range len(in) + 1 {
			if got := thoughts(run(in[:i], in[i:])); got != want {
				t.Errorf("%q split at %d: %q, not %q", in, i, got, want)
				break
			}
		}
	}
}

// One letter at the beginning of a line is no reason to wait.
func TestOneLetterIsShownAtOnce(t *testing.T) {
	for b := byte('a'); b <= 'z'; b++ {
		for _, before := range []string{"", "x\n"} {
			var s Scanner
			if got := s.Push(before + string(b)); got != before+string(b) {
				t.Errorf("%q shows %q", before+string(b), got)
			}
		}
	}
}

// Whatever surrounds it: cutting changes nothing, nothing is shown that was not
// written, and every call is of JSON objects.
func TestFamiliesCutAnywhere(t *testing.T) {
	pieces := []string{"c", "[TOOL_CALLS]", "[", "{", "}", "]", "\"name\":\"read\"", ",", "\"arguments\":{}", "\"parameters\":{\"path\":\"x\"}", "read", "[ARGS]", "<|python_tag|>", "<|channel|>", "commentary", "final", "analysis", " to=functions.read", "<|message|>", "<|call|>", "<|end|>", "<|start|>assistant", "json", "<tool_call>", "</tool_call>", "`", "```\n", "\n", " ", "word ", ". ", "\"", "> ", "é", "…"}
	for markup := range leaks {
		pieces = append(pieces, markup)
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom(pieces), 1, 12).Draw(t, "parts")
		text := strings.Join(parts, "")
		at := rapid.IntRange(0, len(text)).Draw(t, "at")
		check(t, text, at)
		shown1, o1 := run(text)
		if strings.Contains(text, "functions.") || strings.Contains(text, "functools") {
			return // one letter is shown at once
		}
		if got := thoughts(run(parts...)); got != thoughts(shown1, o1) {
			t.Fatalf("%q: %q, in pieces %q", text, thoughts(shown1, o1), got)
		}
	})
}

func check(t interface{ Fatalf(string, ...any) }, text string, at int) {
	shown1, o1 := run(text)
	shown2, o2 := run(text[:at], text[at:])
	if at > 0 && letter(text[at-1]) && strings.Contains(text[at-1:], "func") {
		return // one letter is shown at once
	}
	if thoughts(shown1, o1) != thoughts(shown2, o2) {
		t.Fatalf("%q: %q, split at %d %q", text, thoughts(shown1, o1), at, thoughts(shown2, o2))
	}
	if !strings.HasPrefix(text, shown1) || !strings.HasPrefix(text, shown2) {
		t.Fatalf("%q shows %q, split at %d %q", text, shown1, at, shown2)
	}
	if len(o1.Calls) == 0 && !o1.Broken && o1.Thoughts == "" && !strings.Contains(text, "<|") && shown1+o1.Text != text {
		t.Fatalf("%q became %q", text, shown1+o1.Text)
	}
}

func FuzzFamilies(f *testing.F) {
	for s := range leaks {
		f.Add(s, 7)
		f.Add("Text "+s+" more", 20)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		check(t, text, min(max(at, 0), len(text)))
		if r, ok := readFamily(text); ok {
			for _, c := range r.calls {
				if v, err := jsonvalue.ParseString(c.Arguments); r.fate == readable && (err != nil || !v.IsObject() || c.Name == "") {
					t.Fatalf("%q gives %+v", text, c)
				}
			}
		}
	})
}

func BenchmarkMarkdown(b *testing.B) {
	text := strings.Repeat("- [ ] a [link](https://example.com) to `code` and (an aside) [1]\n", 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var s Scanner
		s.Push(text)
	}
}

func TestALongMentionIsCheap(t *testing.T) {
	var s Scanner
	s.Push(strings.Repeat("a [TOOL_CALLS][{\"name\":\"x\"} b\n", 40_000))
	if o := s.Finish(offered); o.Broken || len(o.Text) == 0 {
		t.Error("not text")
	}
}
