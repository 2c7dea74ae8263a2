package jsonvalue

import (
	"runtime/debug"
	"strings"
	"testing"
)

// walkAll puts a text through every walker and reports what went wrong.
func walkAll(t *testing.T, text string) {
	t.Helper()
	v, err := ParseLossless([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if string(v.JSON()) != text {
		t.Error("the text does not survive")
	}
	if c := v.Canonical(); c != text {
		t.Error("the canonical text differs")
	}
	if err := CheckJavaScript(v); err != nil {
		t.Error(err)
	}
	w := v.Compact()
	if !v.Equal(w) || !w.WellFormed().Equal(v) || v.Depth() != w.Depth() {
		t.Error("copies differ")
	}
	x, err := FromGo(v.Interface())
	if err != nil || !x.Equal(v) {
		t.Errorf("a snapshot differs: %v", err)
	}
	back, err := ParseString(v.Indent(""))
	if err != nil || !back.Equal(v) {
		t.Errorf("the shown text differs: %v", err)
	}
}

// Nesting costs heap, not stack: with a stack that a recursion of a few
// thousand levels would overflow, which kills the process, half a million
// levels pass through every walker.
func TestDepthNeedsNoStack(t *testing.T) {
	defer debug.SetMaxStack(debug.SetMaxStack(512 << 10))
	depth := 250_000
	if testing.Short() {
		depth = 20_000
	}
	walkAll(t, strings.Repeat(`[{"a":`, depth)+"1"+strings.Repeat("}]", depth))
	if _, err := Parse([]byte(strings.Repeat(`{"a":[`, depth))); err == nil {
		t.Error("an unclosed text is accepted")
	}
}

// A text of 64 MiB is like any other.
func TestLargeTexts(t *testing.T) {
	if testing.Short() {
		t.Skip("texts of 64 MiB")
	}
	const size = 64 << 20
	line := `{"path":"internal/file.go","text":"` + strings.Repeat("é", 2000) + `","line":12}`
	for name, text := range map[string]string{
		"records": "[" + strings.Repeat(line+",", size/len(line)) + "0]",
		"string":  `"` + strings.Repeat("abcdefg ", size/8) + `"`,
	} {
		t.Run(name, func(t *testing.T) { walkAll(t, text) })
	}
}
