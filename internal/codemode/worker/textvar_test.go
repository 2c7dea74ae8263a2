package worker

import (
	"reflect"
	"strings"
	"testing"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
)

// TestGrowTexts runs programs with and without the rewriting: they must not be
// able to tell. grown says whether a variable is expected to be a buffer.
func TestGrowTexts(t *testing.T) {
	for name, c := range map[string]struct {
		grown  bool
		source string
	}{
		"loop":              {true, `let s = ""; for (let i = 0; i < 5; i++) s += "line " + i + "\n"; return s;`},
		"template":          {true, "let s = `a${1}`; for (const x of [1, null, undefined, {}, [2, 3], true, 4n]) s += x; return s;"},
		"value used":        {true, `let s = "", log = []; for (const x of "abc") log.push(s += x); return [s, log];`},
		"reads":             {true, `let s = "x"; for (const x of "abc") { if (s.length > 2) s += "!"; s += x; } return [s, s.length, s[0], s.at(-1), {s}, [...s], ` + "`${s}`" + `, s === "xab!c", s + 1, s?.length];`},
		"assigned":          {true, `let s = ""; const all = []; for (let i = 0; i < 9; i++) { s += i; if (s.length > 3) { all.push(s); s = ""; } } return [s, all];`},
		"assigned self":     {true, `let s = ""; for (let i = 0; i < 3; i++) { s = s + i; s += "-"; } return s;`},
		"assigned number":   {true, `let s = ""; for (let i = 0; i < 3; i++) { s += "a"; s = 5; s += 1; } return [s, s.length === undefined];`},
		"assigned object":   {true, `let s = ""; for (let i = 0; i < 1; i++) { s = {toString: () => "o"}; s += "p"; } return s;`},
		"closure":           {true, `let s = ""; const add = (x) => { s += x; }; for (let i = 0; i < 3; i++) add(i); return s;`},
		"forEach":           {true, `let s = ""; [1, 2, 3].forEach((x) => s += x); return s;`},
		"reentrant":         {true, `let s = ""; const f = (n) => { s += "<"; if (n) s += g(n); s += ">"; return "r" + n; }; function g(n) { return f(n - 1); } f(3); return s;`},
		"to string appends": {true, `let s = ""; const o = {toString() { s += "lost"; return "kept"; }}; for (let i = 0; i < 2; i++) s += o; return s;`},
		"throwing":          {true, `let s = ""; const f = () => { s += "kept"; throw 1; }; for (let i = 0; i < 2; i++) try { s += f(); } catch {} return s;`},
		"symbol":            {true, `let s = "a"; for (let i = 0; i < 1; i++) try { s += Symbol("x"); } catch (e) { s += e.name; } return s;`},
		"unicode":           {true, `let s = "é"; for (const x of ["a", "\ud83d", "\ude00", "世界"]) s += x; return [s, s.length, s.charCodeAt(2)];`},
		"late unicode":      {true, `let s = ""; for (const x of ["a", "b", "é", "c"]) s += x; return [s, s.length];`},
		"await":             {true, `let s = ""; for (let i = 0; i < 3; i++) s += await Promise.resolve(i); return s;`},
		"per iteration":     {true, `const all = []; for (let i = 0; i < 3; i++) { let s = ""; for (let j = 0; j <= i; j++) s += j; all.push(() => s); } return all.map((f) => f());`},
		"temporal dead":     {true, `try { (() => { for (;;) { s += "x"; } })(); } catch (e) { return e.name; } let s = ""; return s;`},
		"out of scope":      {true, `{ let qq = ""; for (let i = 0; i < 2; i++) qq += i; } try { return qq; } catch (e) { return e.name; }`},
		"strict property":   {true, `let s = ""; for (let i = 0; i < 2; i++) s += i; try { s.x = 1; return "no"; } catch (e) { return e.name; }`},
		"concurrent":        {false, `let s = ""; const f = async (x) => { for (let i = 0; i < 3; i++) s += await new Promise((r) => setTimeout(() => r(x + i), i)); }; await Promise.all([f("a"), f("b")]); return s;`},
		"self in right":     {false, `let s = "a"; for (let i = 0; i < 3; i++) s += (s += "x"); return s;`},
		"set in closure":    {false, `let s = ""; const reset = () => { s = "r"; return "!"; }; for (let i = 0; i < 3; i++) s += reset(); return s;`},
		"number":            {false, `let n = 0; for (let i = 0; i < 10; i++) n += i; return n;`},
		"two bindings":      {false, `let s = ""; for (let i = 0; i < 2; i++) s += i; { let s = 3; s += 1; } return s;`},
		"parameter":         {false, `let s = ""; for (let i = 0; i < 2; i++) s += i; return ((s) => s)(s);`},
		"typeof":            {false, `let s = ""; for (let i = 0; i < 2; i++) s += i; return typeof s;`},
		"destructured":      {false, `let s = ""; for (let i = 0; i < 2; i++) s += i; [s] = ["d"]; return s;`},
		"for head":          {false, `for (let s = ""; ; s += "x") if (s.length > 3) return s;`},
		"eval":              {false, `let s = ""; for (let i = 0; i < 2; i++) s += i; return eval("s");`},
		"no loop":           {false, `let s = "a"; s += "b"; return s;`},
		"global name":       {false, `const f = () => { let name2 = "", performance = ""; for (let i = 0; i < 2; i++) performance += i; return performance; }; return f() + typeof performance.now;`},
		"length target":     {false, `let s = ""; for (let i = 0; i < 2; i++) s += i; try { s.length = 0; return s; } catch (e) { return e.name; }`},
		"increment":         {false, `let s = "1"; for (let i = 0; i < 2; i++) s += i; s++; return s;`},
	} {
		t.Run(name, func(t *testing.T) {
			plain, _ := runPlain(t, c.source, false)
			grown, used := runPlain(t, c.source, true)
			if plain != grown {
				t.Errorf("rewritten %s, as written %s", grown, plain)
			}
			if used != c.grown {
				t.Errorf("a buffer was used: %v, want %v", used, c.grown)
			}
		})
	}
}

// runPlain runs a JavaScript body and returns its result as JSON, and whether
// the rewriting had something to do.
func runPlain(t *testing.T, body string, grow bool) (string, bool) {
	t.Helper()
	used := false
	l := &Local{toPeer: newQueue(), toUs: newQueue(), done: make(chan struct{})}
	e, err := NewEngine(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.run = &wire.Run{MaxOutput: 1 << 20}
	tree, err := goja.Parse("program.js", "(async function () {'use strict';\n"+body+"\n})")
	if err != nil {
		t.Fatal(err)
	}
	if grow {
		growTexts(tree, func(name string) bool { return e.vm.GlobalObject().Get(name) != nil })
		walkFor(tree, &used)
	}
	program, err := goja.CompileAST(tree, true)
	if err != nil {
		t.Fatal(err)
	}
	e.run.Compute = 0
	e.tools = newToolset(e, nil)
	promise, failure := e.call(program)
	for failure == nil && promise.State() == goja.PromiseStatePending {
		failure = e.step()
	}
	if failure == nil {
		failure = e.settle(promise)
	}
	return strings.TrimSpace(string(failure.Value) + " " + failure.Message), used
}

func walkFor(tree *ast.Program, used *bool) {
	walk(reflect.ValueOf(tree.Body), func(n any) {
		if c, ok := n.(*ast.CallExpression); ok {
			if id, ok := c.Callee.(*ast.Identifier); ok && id.Name == textMake {
				*used = true
			}
		}
	})
}
