package worker

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"
	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func testEngine(t testing.TB) *Engine {
	t.Helper()
	l := &Local{toPeer: newQueue(), toUs: newQueue(), done: make(chan struct{})}
	e, err := NewEngine(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	e.run = &wire.Run{MaxOutput: 1 << 20, MaxFrame: 1 << 20, Pending: 16}
	return e
}

// TestInspect compares with what Node's inspect prints for the same values.
func TestInspect(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "codemode", "inspect.json"))
	if err != nil {
		t.Fatal(err)
	}
	var want map[string]string
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	e := testEngine(t)
	for source, text := range want {
		v, err := e.vm.RunString("(" + source + ")")
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if got := e.console.inspect(v); got != text {
			t.Errorf("%s:\ngot  %s\nwant %s", source, got, text)
		}
	}
}

// TestInspectRunsNothing makes sure that printing a value runs no code of the
// program, and ends.
func TestInspectRunsNothing(t *testing.T) {
	e := testEngine(t)
	for _, source := range []string{
		`({get a() { throw 1 }, [Symbol("s")]: 1, get [Symbol("t")]() { throw 2 }})`,
		`Object.create({get constructor() { throw 1 }})`,
		`Object.defineProperty(() => 1, "name", {get() { throw 1 }})`,
		`Object.assign(new Error("x"), {toString() { throw 1 }})`,
		`new (class extends Map { forEach() { throw 1 } })([[1, 2]])`,
		`Object.setPrototypeOf([1], null)`,
		`Object.setPrototypeOf(new Date(0), {toISOString() { throw 1 }})`,
		`Object.create(Map.prototype)`, `Object.create(Promise.prototype)`, `Object.create(Date.prototype)`,
		`Object.create(Uint8Array.prototype)`,
		`(() => { let a = {}; for (let i = 0; i < 1e4; i++) a = {a, b: a}; return a })()`,
		`Array.from({length: 50}, () => Array.from({length: 50}, () => Array.from({length: 50}, () => ({x: "y".repeat(50)}))))`,
	} {
		start := time.Now()
		v, err := e.vm.RunString(source)
		if err != nil {
			t.Fatal(source, err)
		}
		var text string
		if ex := e.vm.Try(func() { text = e.console.inspect(v) }); ex != nil {
			t.Errorf("%s: %v", source, ex)
		}
		if text == "" || len(text) > 32<<20 || time.Since(start) > 2*time.Minute {
			t.Errorf("%s: %d bytes in %v", source, len(text), time.Since(start))
		}
	}
}

// TestValuesRoundTrip sends JSON in and takes it out again.
func TestValuesRoundTrip(t *testing.T) {
	e := testEngine(t)
	rapid.Check(t, func(t *rapid.T) {
		v := drawValue(t, 3)
		in := v.JSON()
		built, err := e.build(in)
		if err != nil {
			t.Fatalf("%s: %v", in, err)
		}
		w := writer{e: e, limit: 1 << 20}
		if !w.value(built, 0) {
			t.Fatalf("%s: %s", in, w.describe("value"))
		}
		out, err := jsonvalue.Parse(w.out)
		if err != nil {
			t.Fatalf("%s: %v", w.out, err)
		}
		if out.Canonical() != canonicalOrder(v).Canonical() {
			t.Fatalf("%s became %s", in, w.out)
		}
	})
}

func drawValue(t *rapid.T, depth int) jsonvalue.Value {
	kinds := 4
	if depth > 0 {
		kinds = 6
	}
	switch rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		return jsonvalue.Null()
	case 1:
		return jsonvalue.Bool(rapid.Bool().Draw(t, "bool"))
	case 2:
		return jsonvalue.Int(rapid.Int64Range(-1<<53, 1<<53).Draw(t, "int"))
	case 3:
		return jsonvalue.String(rapid.String().Draw(t, "text"))
	case 4:
		var items []jsonvalue.Value
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			items = append(items, drawValue(t, depth-1))
		}
		return jsonvalue.Array(items...)
	}
	var members []jsonvalue.Member
	for range rapid.IntRange(0, 4).Draw(t, "members") {
		key := rapid.OneOf(rapid.SampledFrom([]string{"__proto__", "constructor", "length", "a b", ""}), rapid.StringMatching("[a-z]{1,3}")).Draw(t, "key")
		members = append(members, jsonvalue.Member{Key: key, Value: drawValue(t, depth-1)})
	}
	return jsonvalue.Object(members...)
}

// canonicalOrder is v as it is: the generator draws no key that JavaScript would
// move.
func canonicalOrder(v jsonvalue.Value) jsonvalue.Value { return v }

func TestBuildRefuses(t *testing.T) {
	e := testEngine(t)
	for _, text := range []string{
		"", " ", "nul", "[1", "[1,]", "{\"a\"}", "{\"a\":}", "{a:1}", "{\"a\":1,}", "1 2", "\"a", "\"\\x\"", "\"\\u12\"", "\"a\nb\"",
		"-0", "[-0.0]", "1e400", "9007199254740993", "123456789012345678901234567890", "--1", "1.2.3", "+1", "truefalse",
		strings.Repeat("[", maxJSONDepth+10),
	} {
		if v, err := e.build([]byte(text)); err == nil {
			t.Errorf("%.40q became %v", text, v)
		}
	}
	for text, want := range map[string]string{
		"9007199254740992": "9007199254740992", "1e-400": "0", "100000000000000000000": "100000000000000000000",
		"1E2": "100", "\"\\ud83d\\ude00\"": "😀", "\"\\ud800x\"": "\ufffdx", " [ ] ": "", strings.Repeat("[", 10000) + strings.Repeat("]", 10000): "",
	} {
		v, err := e.build([]byte(text))
		if err != nil || v.String() != want {
			t.Errorf("%.40q became %v, %v; want %q", text, v, err, want)
		}
	}
}

// TestBuildIsNotFooled builds values in a VM whose prototypes the program has
// turned against it.
func TestBuildIsNotFooled(t *testing.T) {
	e := testEngine(t)
	if _, err := e.vm.RunString(`
		Object.defineProperty(Object.prototype, "a", {set(v) { throw "caught a value" }, configurable: true});
		Object.prototype.toJSON = () => "fake"; Array.prototype.push = () => 0;
		Object.defineProperty(Array.prototype, "0", {set(v) { throw "caught an element" }, configurable: true});`); err != nil {
		t.Fatal(err)
	}
	v, err := e.build([]byte(`{"a":[1,{"a":2}],"__proto__":{"x":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	w := writer{e: e, limit: 1 << 20}
	if !w.value(v, 0) || string(w.out) != `{"a":[1,{"a":2}],"__proto__":{"x":1}}` {
		t.Errorf("%s %s", w.out, w.describe("value"))
	}
}

func TestLosslessReasons(t *testing.T) {
	e := testEngine(t)
	for source, want := range map[string]string{
		`({rows: [1, {when: new Date(0)}]})`: "x at .rows[1].when is a Date; use x.toISOString()",
		`({p: Promise.resolve(1)})`:          "x at .p is a Promise; await it",
		`[new Map()]`:                        "x at [0] is a Map; use Object.fromEntries(x) or [...x]",
		`({"a b": [() => 1]})`:               `x at ["a b"][0] is a function`,
		`[1n]`:                               "x at [0] is a BigInt; convert it with Number(x) or String(x)",
		`new (class Point { x = 1 })()`:      "x is an instance of Point, not a plain object",
		`[,1]`:                               "x is an array with holes",
		`undefined`:                          "x is undefined",
	} {
		v, err := e.vm.RunString("(" + source + ")")
		if err != nil {
			t.Fatal(err)
		}
		w := writer{e: e, limit: 1 << 20}
		w.value(v, 0)
		if got := w.describe("x"); got != want {
			t.Errorf("%s: %q, want %q", source, got, want)
		}
	}
	v, _ := e.vm.RunString(`Array(1000).fill("text")`)
	w := writer{e: e, limit: 100}
	if w.value(v, 0) || !w.tooLong {
		t.Error("a value above the limit was written")
	}
}

// TestGlobals runs checks of the globals in the VM; each must be true.
func TestGlobals(t *testing.T) {
	e := testEngine(t)
	for _, check := range []string{
		`(1234567.891).toLocaleString() === "1,234,567.891"`,
		`(0.5).toLocaleString("en-US", {style: "percent"}) === "50%"`,
		`(1234.5).toLocaleString("en-US", {style: "currency", currency: "USD"}) === "$1,234.50"`,
		`(-3).toLocaleString("en-US", {minimumFractionDigits: 2}) === "-3.00"`,
		`new Intl.NumberFormat("en-US", {notation: "compact"}).format(12345) === "12K"`,
		`new Intl.NumberFormat("en-US", {maximumSignificantDigits: 3}).format(123456) === "123,000"`,
		`(2.345).toLocaleString("en-US", {maximumFractionDigits: 2}) === "2.345".slice(0, 3) + "5"`,
		`(() => { try { (1).toLocaleString("de-DE"); return false } catch (e) { return e instanceof RangeError } })()`,
		`new Date(0).toLocaleString("en-US", {timeZone: "UTC"}) === "1/1/1970, 12:00:00 AM"`,
		`new Date(0).toLocaleDateString("en-US", {timeZone: "UTC", dateStyle: "long"}) === "January 1, 1970"`,
		`new Date(0).toLocaleTimeString("en-US", {timeZone: "UTC", hour: "2-digit", minute: "2-digit", hour12: false}) === "00:00"`,
		`new Date(0).toLocaleDateString("en-US", {timeZone: "UTC", weekday: "short", month: "short", day: "numeric"}) === "Thu, Jan 1"`,
		`["a10", "a9", "b1"].sort(new Intl.Collator("en", {numeric: true}).compare).join() === "a9,a10,b1"`,
		`"a".localeCompare("B", "en", {sensitivity: "base"}) < 0 && "A".localeCompare("a", undefined, {sensitivity: "base"}) === 0`,
		`new Intl.PluralRules("en", {type: "ordinal"}).select(22) === "two"`,
		`new Intl.ListFormat("en").format(["a", "b", "c"]) === "a, b, and c"`,
		`new Intl.RelativeTimeFormat("en").format(-2, "days") === "2 days ago"`,
		`new URL("http://user@example.com:8080/a/b?x=1#h").origin === "http://example.com:8080"`,
		`new URL("../c", "https://example.com/a/b").href === "https://example.com/c"`,
		`URL.canParse("nope") === false && URL.canParse("http://x/") === true && URL.parse("nope") === null`,
		`(() => { const u = new URL("http://x/?a=1"); u.searchParams.append("b", "2 3"); return u.search === "?a=1&b=2+3" })()`,
		`[...new URLSearchParams("a=1&a=2").getAll("a")].join() === "1,2"`,
		`structuredClone(new Map([[1, {a: new Date(5)}]])).get(1).a.getTime() === 5`,
		`(() => { const a = {}; a.a = a; const b = structuredClone(a); return b.a === b && b !== a })()`,
		`(() => { try { structuredClone(() => 1); return false } catch (e) { return e.name === "DataCloneError" } })()`,
		`/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(crypto.randomUUID())`,
		`crypto.getRandomValues(new Uint8Array(64)).some((x) => x !== 0)`,
		`new TextDecoder().decode(new TextEncoder().encode("é€😀")) === "é€😀"`,
		`(() => { const d = new TextDecoder(), b = new TextEncoder().encode("a€b"); return d.decode(b.subarray(0, 2), {stream: true}) + d.decode(b.subarray(2)) === "a€b" })()`,
		`(() => { try { new TextDecoder("utf-8", {fatal: true}).decode(new Uint8Array([255])); return false } catch (e) { return e instanceof TypeError } })()`,
		`atob(btoa("\x00\xff")) === "\x00\xff" && (() => { try { btoa("€"); return false } catch (e) { return e.name === "InvalidCharacterError" } })()`,
		`[1, 2, 3, 4].values().filter((x) => x % 2).map((x) => x * 10).toArray().join() === "10,30"`,
		`[1, 2, 3].values().drop(1).take(1).toArray().join() === "2" && Iterator.from([1]).some((x) => x === 1)`,
		`(() => { let closed = false; const it = {[Symbol.iterator]() { return this }, next: () => ({value: 1, done: false}), return() { closed = true; return {} }}; Iterator.from(it).take(1).toArray(); return closed })()`,
		`[[1, 2], [3]].values().flatMap((x) => x).reduce((a, b) => a + b) === 6`,
		`Object.groupBy("abca", (c) => c).a.length === 2 && Map.groupBy([1, 2], (x) => x % 2).get(1)[0] === 1`,
		`RegExp.escape("a.b") !== "a.b" && new RegExp("^" + RegExp.escape("1.5(x)") + "$").test("1.5(x)")`,
		`new RegExp("\\p{Lu}\\p{Ll}+", "u").test("Émile") && !new RegExp("^\\P{L}$", "u").test("a") && new RegExp("[\\p{L}\\d]+", "v").test("é1")`,
		`new RegExp("[\\w--[a-c]]", "v").exec("abcd")[0] === "d"`,
		`(() => { const r = new RegExp("x", "g"); return r instanceof RegExp && r.constructor === RegExp && /y/ instanceof RegExp && r.flags === "g" })()`,
		`(() => { class R extends RegExp { foo() { return 1 } } return new R("a").foo() === 1 && new R("a").test("a") })()`,
		`"a\ud800".toWellFormed() === "a\ufffd" && "😀".isWellFormed()`,
		`(() => { const c = new AbortController(); let n = 0; c.signal.addEventListener("abort", () => n++, {once: true}); c.abort("why"); c.abort(); return n === 1 && c.signal.reason === "why" })()`,
		`AbortSignal.abort().aborted && AbortSignal.any([AbortSignal.abort(7)]).reason === 7`,
		`new DOMException("m", "AbortError").code === 20 && new DOMException() instanceof Error`,
		`new ToolCallError("t", "m").toolName === "t" && String(new ToolCallError("t", "m")) === "ToolCallError: m"`,
		`Object.keys(globalThis).length === 0`,
		`typeof fetch === "undefined" && typeof process === "undefined" && typeof Buffer === "undefined"`,
		`new WeakRef({a: 1}).deref().a === 1 && Math.sumPrecise([1e20, 0.1, -1e20]) === 0.1`,
		`(() => { try { require("fs"); return false } catch (e) { return /not available/.test(e.message) } })()`,
		`Error.isError(new TypeError("x")) && !Error.isError({message: "x"})`,
		`/a(?<z>b)/.exec("ab").groups.z === "b"`,
		`(() => { const m = new RegExp("a(?<z>b)|(c)", "d").exec("xab"); return m.indices[0].join() === "1,3" && m.indices.groups.z.join() === "2,3" && m.indices[2] === undefined })()`,
		`(() => { const m = new RegExp("(?<=é)(b+)", "dg").exec("😀ébb"); return m.indices[1].join() === "3,5" })()`,
	} {
		v, err := e.vm.RunString(check)
		if err != nil {
			t.Errorf("%s: %v", check, err)
		} else if !v.ToBoolean() {
			t.Errorf("not true: %s", check)
		}
	}
}

// TestParse compares JSON.parse with the engine's own.
func TestParse(t *testing.T) {
	e, plain := testEngine(t), goja.New()
	for _, text := range []string{
		`1`, `-0`, `0.1e1`, `-1e-400`, `9007199254740993`, `123456789012345678901234567890`, `"a\u00e9\ud83d\ude00"`,
		`{"a":1,"b":{"c":[1,2,{}]},"a":2}`, `{"2":1,"1":2,"a":3}`, `{"__proto__":{"x":1},"constructor":1}`, ` [ 1 , "x" ] `, `[]`, `{}`, `null`,
		``, ` `, `01`, `1.`, `.5`, `+1`, `--1`, `1e`, `[1,]`, `{"a":1,}`, `{a:1}`, `'a'`, `"a`, `nul`, `1 2`, `"\x"`, `[1`, "\"a\nb\"", `undefined`, `NaN`,
		`"` + "\ufffd" + `"`,
	} {
		source := "((t) => { try { const v = JSON.parse(t); return JSON.stringify(v) + Object.is(v, -0) } catch (e) { return e.name } })(" + strconv.Quote(text) + ")"
		want, err := plain.RunString(source)
		if err != nil {
			t.Fatal(source, err)
		}
		if got, err := e.vm.RunString(source); err != nil || got.String() != want.String() {
			t.Errorf("%s: %v %v, want %v", text, got, err, want)
		}
	}
	for _, source := range []string{
		`JSON.parse("[1,2]", (k, v) => Array.isArray(v) ? v : v * 2 || v).join() === "2,4"`,
		`JSON.parse({toString: () => "7"}) === 7 && JSON.parse(null) === null`,
		`JSON.parse("[".repeat(10000) + "]".repeat(10000)).length === 1`,
		`(() => { try { JSON.parse("[".repeat(5e6)); return false } catch (e) { return e instanceof SyntaxError } })()`,
		`JSON.parse("1e400") === Infinity && JSON.parse('"\\ud800"').charCodeAt(0) === 0xd800`, // the engine's own is wrong here
		`JSON.parse.name === "parse" && JSON.parse("{}").toString === Object.prototype.toString`,
	} {
		if v, err := e.vm.RunString(source); err != nil || !v.ToBoolean() {
			t.Errorf("%s: %v %v", source, v, err)
		}
	}
}

func TestTimersOrder(t *testing.T) {
	e := testEngine(t)
	var got []string
	_ = e.vm.Set("note", func(s string) { got = append(got, s) })
	if _, err := e.vm.RunString(`
		setTimeout(note, 1500, "late"); setTimeout(note, 1, "b"); setTimeout(note, 1, "c"); setTimeout(note, 0, "d");
		const gone = setTimeout(note, 1, "never"); clearTimeout(gone); clearTimeout(999); clearTimeout(undefined);
		let n = 0; const i = setInterval(() => { note("i" + ++n); if (n === 2) clearInterval(i) }, 2);
		queueMicrotask(() => note("a"));`); err != nil {
		t.Fatal(err)
	}
	for {
		due, ok := e.timers.next()
		if !ok {
			break
		}
		time.Sleep(time.Until(due))
		if err := e.timers.fire(e.vm); err != nil {
			t.Fatal(err)
		}
	}
	if text := strings.Join(got, " "); text != "a b c d i1 i2 late" {
		t.Errorf("order %q", text)
	}
}

// TestPreludeLeavesNoTrace makes sure a VM's globals cannot be enumerated into
// surprises and that no host function is reachable by name.
func TestPreludeLeavesNoTrace(t *testing.T) {
	e := testEngine(t)
	v, err := e.vm.RunString(`Object.getOwnPropertyNames(globalThis).filter((n) => n.startsWith("$") || n === "host").sort().join()`)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.String(); got != "" {
		t.Errorf("the program can see %s", got)
	}
	if v, err := e.vm.RunString(`Object.keys(console).join()`); err != nil || v.String() != "log,info,warn,error,debug" {
		t.Errorf("the console is seen to have %v, %v", v, err)
	}
}

func BenchmarkBuild(b *testing.B) {
	e := testEngine(b)
	var parts []string
	for range 12000 {
		parts = append(parts, `{"id":12345,"name":"some name","tags":["a","b"],"ratio":0.25}`)
	}
	text := []byte("[" + strings.Join(parts, ",") + "]")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, err := e.build(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkWrite(b *testing.B) {
	e := testEngine(b)
	v, err := e.vm.RunString(`Array.from({length: 12000}, (_, i) => ({id: i, name: "some name", tags: ["a", "b"], ratio: i / 4}))`)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		w := writer{e: e, limit: 1 << 30}
		if !w.value(v, 0) {
			b.Fatal(w.lossy)
		}
		b.SetBytes(int64(len(w.out)))
	}
}
