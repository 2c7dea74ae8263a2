package leak

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

type tools map[string]map[string]string

func (t tools) Has(name string) bool                { _, ok := t[name]; return ok }
func (t tools) ParameterType(tool, p string) string { return t[tool][p] }

var offered = tools{"read": {"path": "string", "limit": "number"}, "bash": {"command": "string"}}

// run gives the text shown before the end, and the outcome.
func run(pieces ...string) (string, Outcome) {
	var s Scanner
	var shown strings.Builder
	for _, p := range pieces {
		shown.WriteString(s.Push(p))
	}
	return shown.String(), s.Finish(offered)
}

func describe(shown string, o Outcome) string {
	var b strings.Builder
	b.WriteString(shown + o.Text)
	for _, c := range o.Calls {
		fmt.Fprintf(&b, " → %s %s", c.Name, c.Arguments)
	}
	if o.Broken {
		b.WriteString(" BROKEN")
	}
	return b.String()
}

const dsml = "<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"read\">\n<｜DSML｜parameter name=\"path\" string=\"true\">a b.txt</｜DSML｜parameter>\n" +
	"<｜DSML｜parameter name=\"limit\" string=\"false\">5</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>"

var spellings = map[string]string{
	"as documented":       dsml,
	"newer container":     strings.ReplaceAll(dsml, "function_calls", "tool_calls"),
	"ASCII bars":          strings.ReplaceAll(dsml, "｜", "|"),
	"doubled bars":        strings.ReplaceAll(dsml, "｜", "｜｜"),
	"blanks":              strings.ReplaceAll(dsml, "｜DSML｜", " ｜ DSML ｜ "),
	"lower case":          strings.ReplaceAll(dsml, "DSML", "dsml"),
	"no brackets":         strings.NewReplacer("<｜", "｜", "</｜", "/｜").Replace(strings.ReplaceAll(dsml, "</｜DSML｜", "｜DSML｜/")),
	"slash after":         strings.ReplaceAll(dsml, "</｜DSML｜", "<｜DSML｜/"),
	"escaped":             strings.NewReplacer("<", "&lt;", ">", "&gt;").Replace(dsml),
	"colon":               strings.ReplaceAll(dsml, "｜DSML｜", "DSML:"),
	"no container":        strings.NewReplacer("<｜DSML｜function_calls>\n", "", "\n</｜DSML｜function_calls>", "").Replace(dsml),
	"special tokens gone": strings.ReplaceAll(dsml, "｜DSML｜", ""),
	"invoke only":         strings.NewReplacer("｜DSML｜", "", "<｜DSML｜function_calls>\n", "", "</｜DSML｜function_calls>", "").Replace(dsml),
	"end missing":         strings.TrimSuffix(dsml, "\n</｜DSML｜function_calls>"),
}

const read = ` → read {"path":"a b.txt","limit":5}`

func TestSpellings(t *testing.T) {
	for name, markup := range spellings {
		if got := describe(run("Let me look.\n\n" + markup)); got != "Let me look.\n\n"+read {
			t.Errorf("%s: %q\n%s", name, got, markup)
		}
		for i := range markup {
			if i > 30 && i%13 != 0 {
				continue // the first marker is split anywhere, the rest here and there
			}
			if got := describe(run("Let me look.\n\n"+markup[:i], markup[i:])); got != "Let me look.\n\n"+read {
				t.Errorf("%s split at %d: %q", name, i, got)
			}
		}
	}
}

func TestOtherMarkup(t *testing.T) {
	for in, want := range map[string]string{
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{\"path\":\"x\"}<｜tool▁call▁end｜><｜tool▁call▁begin｜>bash<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>": ` → read {"path":"x"} → bash {}`,
		"<|tool_calls_begin|><|tool_call_begin|>function<|tool_sep|>read\n```json\n{\"path\":\"x\"}\n```<|tool_call_end|><|tool_calls_end|>":                               ` → read {"path":"x"}`,
		"<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\":\"x\"}}\n</tool_call>":                                                                                 ` → read {"path":"x"}`,
		"<tool_call>\n<function=bash>\n<parameter=command>\nls\n-l\n</parameter>\n</function>\n</tool_call>":                                                               ` → bash {"command":"ls\n-l"}`,
		"<function=read>\n<parameter=limit>\n3\n</parameter>\n</function>\n</tool_call>":                                                                                   ` → read {"limit":3}`,
		// A value may hold other tags.
		"<｜DSML｜invoke name=\"bash\"><｜DSML｜parameter name=\"command\" string=\"true\"></parameter></invoke></｜DSML｜parameter></｜DSML｜invoke>": ` → bash {"command":"</parameter></invoke>"}`,
		// No parameters, and JSON in their place.
		"<｜DSML｜invoke name=\"bash\">\n</｜DSML｜invoke>":              ` → bash {}`,
		"<｜DSML｜invoke name=\"bash\">{\"command\":1}</｜DSML｜invoke>": ` → bash {"command":1}`,
		// An unknown tool is the model's mistake, answered like any other.
		"<｜DSML｜invoke name=\"none\"></｜DSML｜invoke>": ` → none {}`,
		// Two calls, with text after them.
		"<｜DSML｜invoke name=\"bash\"></｜DSML｜invoke>\n<｜DSML｜invoke name=\"read\"></｜DSML｜invoke> Done.": `Done. → bash {} → read {}`,
	} {
		if got := describe(run(in)); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestBrokenMarkupIsNeverShown(t *testing.T) {
	for _, in := range []string{
		"<｜DSML｜function_calls>", "</｜DSML｜function_calls>", "<｜DSML｜something>", "｜DSML｜",
		"<｜DSML｜invoke name=\"read\"><｜DSML｜parameter name=\"path\" string=\"true\">never closed",
		"<｜DSML｜invoke name=\"read\">", "<｜DSML｜invoke name=\"read\">a<｜DSML｜parameter name=\"x\">b</｜DSML｜parameter></｜DSML｜invoke>",
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{\"pa", "<｜tool▁outputs▁begin｜>made up<｜tool▁outputs▁end｜>",
		"<｜tool▁call▁begin｜>read<｜tool▁call▁end｜>", "<｜tool▁sep｜>",
		strings.TrimSuffix(dsml, "</｜DSML｜invoke>\n</｜DSML｜function_calls>"),
	} {
		shown, o := run("Hm. ", in)
		if !o.Broken || shown+o.Text != "Hm. " {
			t.Errorf("%q: %q", in, describe(shown, o))
		}
	}
}

func TestOrdinaryTextPasses(t *testing.T) {
	for _, in := range []string{
		"a < b && c | d", "| a | b |\n|---|---|\n", "x <- y", "List<String>", "<div>\n<invoke>", "&lt;b&gt; &amp;", "ends with <", "ends with |", "ends with ｜",
		"“quotes” — and … dashes", "in 日本 ｜ 中国", "<tool_calls> is a tag", "the <function_calls> tag",
		// Quotations of the markup itself.
		"The token is `<｜DSML｜invoke name=\"x\">` and so on.", "```\n" + dsml + "\n```\nThat is how it looks.", "~~~xml\n" + dsml + "\n~~~\n",
		// What cannot be read as a call of an offered tool is text.
		"<tool_call>\nnot json\n</tool_call>", "<invoke name=\"other\"></invoke>", "<function=read>", "<function_calls>\nsome prose",
		"<tool_call>\n{\"name\": \"unknown\", \"arguments\": {}}\n</tool_call>",
	} {
		if got := describe(run(in)); got != in {
			t.Errorf("%q became %q", in, got)
		}
		var pieces []string
		for _, r := range in {
			pieces = append(pieces, string(r))
		}
		if got := describe(run(pieces...)); got != in {
			t.Errorf("rune by rune: %q became %q", in, got)
		}
	}
	// One stray backtick hides nothing.
	if got := describe(run("don`t\n" + dsml)); got != "don`t\n"+read {
		t.Errorf("%q", got)
	}
}

// What is shown does not depend on how the text is cut, and with the rest it is
// never more than the text.
func TestCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"<", "｜", "|", "DSML", "/", "invoke name=\"read\">", "</｜DSML｜invoke>", "`", "```\n", "\n", "text ", "tool▁calls▁begin", "&lt;", "tool_call>", dsml})).Draw(t, "parts")
		text := strings.Join(parts, "")
		shown1, o1 := run(text)
		shown2, o2 := run(parts...)
		if describe(shown1, o1) != describe(shown2, o2) || shown1 != shown2 && shown1+o1.Text != shown2+o2.Text {
			t.Fatalf("%q: %q, in pieces %q", text, describe(shown1, o1), describe(shown2, o2))
		}
		if !strings.HasPrefix(text, shown1) {
			t.Fatalf("%q shows %q", text, shown1)
		}
	})
}

func TestKeepingBackIsBounded(t *testing.T) {
	var s Scanner
	s.Push("<｜DSML｜function_calls>")
	big := strings.Repeat("x", 1<<20)
	for range 20 {
		s.Push(big)
	}
	if o := s.Finish(offered); !o.Broken || o.Text != "" || s.markup.Len() > maxMarkup {
		t.Error("not bounded")
	}
}

func FuzzScanner(f *testing.F) {
	for _, s := range spellings {
		f.Add(s, 7)
	}
	f.Fuzz(func(t *testing.T, text string, at int) {
		at = min(max(at, 0), len(text))
		a, b := describe(run(text)), describe(run(text[:at], text[at:]))
		if a != b {
			t.Fatalf("%q: %q, split at %d %q", text, a, at, b)
		}
	})
}

func BenchmarkPlainText(b *testing.B) {
	text := strings.Repeat("Some words of an answer, with a < b and | bars |.\n", 20)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		var s Scanner
		s.Push(text)
	}
}

// Other families' spellings are read too; one that is meant for a tool that is
// offered and cannot be read fails, and is not shown.
func TestMarkupForAToolIsNeverShown(t *testing.T) {
	const args = `{"path":"x"}`
	for in, want := range map[string]string{
		"<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>x</arg_value>\n<arg_key>limit</arg_key>\n<arg_value>3</arg_value>\n</tool_call>": ` → read {"path":"x","limit":3}`,
		"<function=read>" + args + "</function>": " → read " + args,
		"<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>" + args + "<|tool_call_end|><|tool_calls_section_end|>": " → read " + args,

		"<antml:function_calls>\n<antml:invoke name=\"read\">\n<antml:parameter name=\"path\">x</antml:parameter>\n</antml:invoke>\n</antml:function_calls>": " → read " + args,
		"<function_calls>\n<antml:invoke name=\"read\">\n<antml:parameter name=\"path\">x</antml:parameter>\n</antml:invoke>\n</function_calls>":             " → read " + args,
		"<minimax:tool_call>\n<invoke name=\"read\">\n<parameter name=\"path\">x</parameter>\n</invoke>\n</minimax:tool_call>":                               " → read " + args,
		"<antml:invoke name=\"read\">\n<antml:parameter name=\"pa":                                                                                           " BROKEN",

		"<tool_call>\n{\"name\":\"read\",\"arguments\":" + args + "}":              " BROKEN",
		"<tool_call>\n{\"name\":\"read\",\"arguments\":" + args + "\n</tool_call>": " BROKEN",
		"<tool_call>read\n<arg_key>path</arg_key>\n<arg_val":                       " BROKEN",
		"<function=read>\n<parameter=path>\nx":                                     " BROKEN",
		"<invoke name=\"read\">\n<parameter name=\"path\">x":                       " BROKEN",
		"<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0":          " BROKEN",
	} {
		if got := describe(run(in)); got != want {
			t.Errorf("%q: %q, not %q", in, got, want)
		}
		for i := range in {
			if got := describe(run(in[:i], in[i:])); got != want {
				t.Errorf("%q split at %d: %q, not %q", in, i, got, want)
			}
		}
	}
}
