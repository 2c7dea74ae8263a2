package transpile

import (
	"runtime"
	"strings"
	"testing"
	"time"
)

// TestExtremes feeds the compiler the longest programs that nest in ways the
// scan does not count, and checks that it neither dies nor takes long.
func TestExtremes(t *testing.T) {
	fill := func(unit string) string { return strings.Repeat(unit, (MaxSource-200)/len(unit)) }
	for name, source := range map[string]string{
		"member chain": "a" + fill(".a"), "call chain": "a" + fill("()"), "index chain": "a" + fill("[0]"),
		"optional chain": "a" + fill("?.a"), "sum": "1" + fill("+1"), "comma": "1" + fill(",1"), "short comma": "1" + strings.Repeat(",1", maxComma-10), "arrow commas": "x = () => { 1" + fill(",1") + "}", "else commas": "if (a) {} else { 1" + fill(",1") + "}", "short chain": "a" + strings.Repeat(".a", 9990), "short calls": "a" + strings.Repeat("(1)", 9900), "data": "return [" + fill("[1,2],") + "]",
		"logical": "1" + fill("||1"), "nullish": "1" + fill("??1"), "else if": "if(1){}" + fill("else if(1){}"),
		"non-null": "a" + fill("!"), "tagged": "a" + fill("``"), "labels": fill("a:"), "semicolons": fill(";"),
		"not": fill("!"), "minus": fill("- "), "arrow": fill("a=>"), "arrow breaks": fill("a=>\n"), "conditional": fill("a?b:"),
		"if": fill("if(1)"), "if breaks": fill("if(1)\n"), "for labels": fill("for(;;)\na:"), "assign": fill("a="), "assign breaks": fill("a\n="),
		"brackets": fill("["), "templates": fill("`${"), "await": fill("await "), "new": fill("new "), "power": "1" + fill("**1"),
		"type args": fill("a<"), "types": "let x:" + fill("()=>"), "keyof": "let x:" + fill("keyof "), "array types": "let x:a" + fill("[]"),
		"union": "let x:a" + fill("|a"), "conditional types": "let x:" + fill("a extends b?c:"), "generics": "let x:" + fill("A<"),
		"class extends": fill("class extends "), "decorators": fill("@a "), "as": "a" + fill(" as a"), "object": fill("{a:"),
		"yield": "function*g(){" + fill("yield "), "compare": "a" + fill("<a"), "do": fill("do "), "functions": fill("function f(){"), "regexp": fill("/["), "strings": fill("'"),
		"or types": "type A=" + fill("|"), "arrow types": "type A=" + fill("(a:"), "typeof": "type A=" + fill("typeof "), "spread": fill("..."), "in": "1" + fill(" in 1"),
		"async": fill("async "), "newline calls": "a" + fill("\n()"), "case": "switch(1){" + fill("case 1:"), "try": fill("try{"), "abstract": fill("abstract "),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, err := Compile(source, Options{})
			runtime.ReadMemStats(&after)
			t.Logf("%v, stacks %d KiB, heap +%d MiB: %.80v", time.Since(start).Round(time.Millisecond), after.StackSys>>10, (after.TotalAlloc-before.TotalAlloc)>>20, err)
			if d := time.Since(start); d > 3*time.Minute {
				t.Errorf("took %v", d)
			}
		})
	}
}
