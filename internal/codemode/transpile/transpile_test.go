package transpile

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/go-sourcemap/sourcemap"
)

func TestErrors(t *testing.T) {
	tools := Options{Tools: []string{"read", "bash"}}
	for name, c := range map[string]struct {
		source       string
		line, column int
		message      string // a part of it
		hint         string
	}{
		"syntax":            {"const a = 1;\nconst b = ;\n", 2, 11, `Unexpected ";"`, ""},
		"crlf":              {"const a = 1;\r\nconst b = ;\r\n", 2, 11, `Unexpected ";"`, ""},
		"after wide text":   {"const s = '👍é'; const b = ;", 1, 28, `Unexpected ";"`, ""},
		"bom":               {"\uFEFFconst b = ;", 1, 11, `Unexpected ";"`, ""},
		"redeclared":        {"let a = 1;\nlet a = 2;", 2, 5, `has already been declared (The symbol "a" was originally declared here line 1)`, ""},
		"tools redeclared":  {"const tools = 1;", 1, 7, "Identifier 'tools' has already been declared", "given to the program"},
		"unclosed":          {"if (true) {\n  f(\n", 2, 5, "not closed", ""},
		"unclosed template": {"const a = `x;\nreturn a;", 2, 10, "not closed", ""},
		"import":            {"import fs from 'fs';\nreturn 1;", 1, 0, "import is not available", "remove the import and use tools: read, bash"},
		"import type":       {"return 1;\nimport type { X } from 'y';", 2, 0, "import is not available", "use tools"},
		"import meta":       {"return import.meta.url;", 1, 0, "import.meta is not available", ""},
		"export":            {"export const a = 1;", 1, 1, "export is not available here", "return the value"},
		"namespace":         {"namespace N { export const a = 1; }", 1, 0, "namespace is not allowed", "object or a class"},
		"constant":          {"const a = 1;\na = 2;", 2, 1, `"a"`, ""},
		"brace":             {"return 1;\n}\nreturn 2;", 2, 1, `Unexpected "}"`, ""},
		"jsx":               {"const el = <div>x</div>;\nreturn el;", 1, 0, "", "JSX"},
		"shell":             {"ls -la src", 1, 0, "", `tools.bash({command: "ls -la src"})`},
		"shell with prompt": {"$ git status", 1, 0, "", "shell command"},
		"shebang":           {"#!/bin/bash\nset -e\n", 0, 0, "", ""},
		"nul":               {"return 1;\x00", 1, 10, "NUL", ""},
		"too long":          {strings.Repeat("x", MaxSource+1), 0, 0, "at most 524288", "read it from a file"},
		"too deep":          {"return " + strings.Repeat("[", 1001), 1, 0, "more than 1000 levels", "loop"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(c.source, tools)
			var e *Error
			if !errors.As(err, &e) {
				if name == "shebang" {
					return // a shebang is legal and the rest may be too
				}
				t.Fatalf("compiled, or %v", err)
			}
			if c.line != 0 && e.Line != c.line || c.column != 0 && e.Column != c.column {
				t.Errorf("at %d:%d, want %d:%d (%s)", e.Line, e.Column, c.line, c.column, e.Message)
			}
			if !strings.Contains(e.Message, c.message) || !strings.Contains(e.Hint, c.hint) {
				t.Errorf("message %q, hint %q", e.Message, e.Hint)
			}
			if e.Line > 0 && e.SourceLine != SourceLine(strings.TrimPrefix(c.source, "\uFEFF"), e.Line) {
				t.Errorf("source line %q", e.SourceLine)
			}
		})
	}
}

// TestPositions compiles a program and finds marks of the model's text in the
// generated code through the map, the way goja does.
func TestPositions(t *testing.T) {
	source := "// a comment that is dropped\n\ninterface X { a: number }\n\n  const one: number = MARK1;\nenum E { A }\n\nasync function* g() {\n  yield MARK2;\n}\nfor await (const x of g()) { f<number>(x as any, MARK3); }\nreturn é + MARK4;"
	script, err := Compile(source, Options{})
	if err != nil {
		t.Fatal(err)
	}
	consumer, err := sourcemap.Parse("", script.Map)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(script.Code), "\n")
	for _, mark := range []string{"MARK1", "MARK2", "MARK3", "MARK4"} {
		line, column := find(lines, mark)
		// goja asks with a column counted from one, and takes the answer as such.
		_, _, gotLine, gotColumn, ok := consumer.Source(line, column)
		wantLine, wantColumn := find(strings.Split(source, "\n"), mark)
		if !ok || gotLine != wantLine || gotColumn != wantColumn {
			t.Errorf("%s: %d:%d, want %d:%d", mark, gotLine, gotColumn, wantLine, wantColumn)
		}
	}
}

// find is the 1-based line and column, in UTF-16 units, of a text.
func find(lines []string, text string) (line, column int) {
	for i, l := range lines {
		if j := strings.Index(l, text); j >= 0 {
			return i + 1, utf16Len(l[:j]) + 1
		}
	}
	return 0, 0
}

func TestForms(t *testing.T) {
	for name, c := range map[string]struct{ source, contains string }{
		"body":              {"return 1", "return 1"},
		"function":          {"async function main() { return 1 }", "$main"},
		"arrow":             {"async () => { return 1 };", "$main"},
		"arrow with type":   {"async (): Promise<number> => { return 1; }\n", "$main"},
		"commented arrow":   {"// first\n/* second */ (async () => 1)() // last", "$main"},
		"called":            {"(async () => { return 1 })();", "$main"},
		"export default":    {"const a = 1;\nexport default async function () { return a }", "$$export$$"},
		"export and helper": {"export function f() { return 1 }\nexport default f();", "$$export$$"},
		"declaration used":  {"async function main() { return 1 }\nreturn await main();", "return await main()"},
		"async statement":   {"async function a() {}\nasync function b() {}\nreturn 1", "function b"},
		"export in text":    {"const s = 'export default 1';\nreturn s", "return s"},
		"export in block":   {"const o = { export: 1 };\nreturn o.export", "o.export"},
	} {
		t.Run(name, func(t *testing.T) {
			script, err := Compile(c.source, Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(script.Code), c.contains) {
				t.Errorf("script:\n%s", script.Code)
			}
			if c.contains[0] != '$' && strings.Contains(string(script.Code), "$main") {
				t.Errorf("taken for a function:\n%s", script.Code)
			}
		})
	}
}

// TestScanAccepts checks that ordinary long programs are not refused.
func TestScanAccepts(t *testing.T) {
	for name, source := range map[string]string{
		"many lines without semicolons": strings.Repeat("x = y ? 1 : 2\n", 5000),
		"awaits without semicolons":     strings.Repeat("await f(a => a.b)\n", 5000),
		"a long table":                  "return [\n" + strings.Repeat("  [1, -2, 'x', { a: !b, c: d => d }],\n", 3000) + "]",
		"a long object":                 "return {\n" + strings.Repeat("  key: f(1) || 2,\n", 5000) + "}",
		"a long argument":               "f({ " + strings.Repeat("key: 1, ", 5000) + "})",
		"a long switch":                 "switch (a) {\n" + strings.Repeat("  case 1: x = 1; break;\n", 3000) + "}",
		"brackets in text":              "return '" + strings.Repeat("[", 3000) + "' + `" + strings.Repeat("{", 3000) + "` // " + strings.Repeat("(", 3000),
		"brackets in regex":             "return " + strings.Repeat("/[(]/.test(x) && ", 900) + "1",
		"long sum":                      "return 'a'" + strings.Repeat("\n  + 'line'", 5000),
		"imports in text":               strings.Repeat("f('import x from y');\n", 100),
		"else if chain":                 "if (a) {}" + strings.Repeat(" else if (b) { c(); }", 300),
	} {
		if _, err := prescan(source); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestVLQ(t *testing.T) {
	for _, v := range []int{0, 1, -1, 15, 16, -16, 1023, -1024, 1 << 20, -(1 << 20)} {
		b := appendVLQ(nil, v)
		if got, n := readVLQ(append(b, 'A')); got != v || n != len(b) {
			t.Errorf("%d became %d in %d of %d digits", v, got, n, len(b))
		}
	}
	for _, bad := range []string{"", "!", "g", "gggggggggggg"} {
		if _, n := readVLQ([]byte(bad)); n != 0 {
			t.Errorf("%q reads as a number", bad)
		}
	}
	if got := shiftMap([]byte(`{"mappings": "?"}`)); got != nil {
		t.Errorf("a broken map becomes %s", got)
	}
}

// FuzzCompile feeds the compiler anything within the scan's limits.
func FuzzCompile(f *testing.F) {
	for _, s := range []string{
		"return 1", "export default () => 1", "enum A {B}", "for await (const x of y) {}", "`${`${1}`}`", "a/b/[/]/g", "@d class X {}",
		"using x = y", "/[\\p{L}--[a]]/v", "async () => {}", "import('x')", "\uFEFF}", "a\n(b)\n[c]\n`d`", "<T,>(x: T) => x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, source string) {
		script, err := Compile(source, Options{Tools: []string{"bash"}})
		if err != nil {
			var e *Error
			if !errors.As(err, &e) || e.Message == "" || e.Line < 0 || e.Column < 0 {
				t.Fatalf("error %#v", err)
			}
			return
		}
		if script.Map != nil && !json.Valid(script.Map) {
			t.Fatalf("map %s", script.Map)
		}
	})
}
