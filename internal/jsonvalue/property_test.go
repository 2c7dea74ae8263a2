package jsonvalue_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// genText makes strings that are hard to encode.
func genText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.String(),
		rapid.SampledFrom([]string{"", "a", "__proto__", "a.b", "\u2028", "<&>", "\x00\x1f\x7f", `"\`, "😀", "\ud7ff\ue000"}),
	)
}

func genLiteral() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,5})?([eE][+-]?[0-9]{1,3})?`),
		rapid.SampledFrom([]string{"-0", "1e400", "9007199254740993", "1E2", "0.000001", "1e21"}),
	)
}

// genJSON makes JSON texts with unique keys, spelled irregularly.
func genJSON(depth int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		// Containers come first, as rapid prefers what does.
		kind := rapid.SampledFrom([]int{6, 5, 4, 6, 5, 3, 2, 1, 0}).Draw(t, "kind")
		if depth == 0 {
			kind %= 5
		}
		space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space") }
		switch kind {
		case 0:
			return "null"
		case 1:
			return rapid.SampledFrom([]string{"true", "false"}).Draw(t, "bool")
		case 2, 3:
			return genLiteral().Draw(t, "number")
		case 4:
			return spell(t, genText().Draw(t, "text"))
		case 5:
			parts := rapid.SliceOfN(genJSON(depth-1), 0, 4).Draw(t, "elements")
			return "[" + space() + strings.Join(parts, space()+","+space()) + "]"
		default:
			keys := rapid.SliceOfNDistinct(genText(), 0, 12, func(s string) string { return s }).Draw(t, "keys")
			parts := make([]string, len(keys))
			for i, k := range keys {
				parts[i] = spell(t, k) + space() + ":" + space() + genJSON(depth-1).Draw(t, "member")
			}
			return "{" + strings.Join(parts, ","+space()) + space() + "}"
		}
	})
}

// spell quotes a string, at times with more escapes than needed.
func spell(t *rapid.T, s string) string {
	if !rapid.Bool().Draw(t, "escaped") {
		return string(jsonvalue.AppendString(nil, s))
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		if r > 0xffff {
			r -= 0x10000
			fmt.Fprintf(&b, `\u%04x\u%04X`, 0xd800+r>>10, 0xdc00+r&0x3ff)
			continue
		}
		fmt.Fprintf(&b, `\u%04X`, r)
	}
	b.WriteByte('"')
	return b.String()
}

func mustParse(t rapid.TB, text string) jsonvalue.Value {
	v, err := jsonvalue.Parse([]byte(text))
	if err != nil {
		t.Fatalf("Parse(%s): %v", text, err)
	}
	return v
}

// Encoding a parsed text and parsing that gives the same text and value, and
// the value is the one encoding/json reads.
func TestParseEncodeIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genJSON(4).Draw(t, "json")
		v := mustParse(t, text)
		out := v.JSON()
		w := mustParse(t, string(out))
		if !bytes.Equal(w.JSON(), out) || !v.Equal(w) || !w.Equal(v) {
			t.Fatalf("%s\nbecomes %s\nbecomes %s", text, out, w)
		}
		for _, got := range []any{v.Interface(), decodeStd(t, out)} {
			if want := decodeStd(t, []byte(text)); fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
				t.Fatalf("got %#v\nwant %#v", got, want)
			}
		}
		var ind bytes.Buffer
		if err := json.Indent(&ind, []byte(v.Canonical()), "", "  "); err == nil && jsonvalue.CheckJavaScript(v) == nil {
			want := strings.NewReplacer("{\n}", "{}").Replace(ind.String())
			if got := v.Indent("  "); got != want {
				t.Fatalf("Indent:\n%s\nwant:\n%s", got, want)
			}
		}
	})
}

func decodeStd(t rapid.TB, text []byte) any {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var x any
	if err := d.Decode(&x); err != nil {
		t.Fatalf("encoding/json: %v: %s", err, text)
	}
	return x
}

// Canonical is idempotent, and its numbers read back as the same doubles.
func TestCanonicalIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := mustParse(t, genJSON(3).Draw(t, "json"))
		c := v.Canonical()
		if again := mustParse(t, c).Canonical(); again != c {
			t.Fatalf("%s\nbecomes %s", c, again)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		v, err := jsonvalue.Float(f)
		if refused := math.IsNaN(f) || math.IsInf(f, 0) || f == 0 && math.Signbit(f); refused != (err != nil) {
			t.Fatalf("Float(%v): %v", f, err)
		} else if refused {
			return
		}
		if got, ok := v.Float(); !ok || got != f {
			t.Fatalf("%v becomes %v", f, got)
		}
		if lit, _ := v.Literal(); lit != v.Canonical() {
			t.Fatalf("literal %s, canonical %s", lit, v.Canonical())
		}
	})
}

// No operation changes a value it starts from.
func TestValuesNeverChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(genJSON(3).Draw(t, "json"))
		v, err := jsonvalue.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		before := v.String()
		for i := range text {
			text[i] = 'x' // the caller's buffer is the caller's
		}
		for range rapid.IntRange(1, 8).Draw(t, "operations") {
			key := genText().Draw(t, "key")
			if v.Len() > 0 && v.IsObject() && rapid.Bool().Draw(t, "present") {
				key = v.MemberAt(0).Key
			}
			x := jsonvalue.String("new")
			switch rapid.IntRange(0, 6).Draw(t, "operation") {
			case 0:
				w := v.With(key, x)
				if !w.Get(key).Equal(x) {
					t.Fatalf("With: %s", w)
				}
				w.With(key, jsonvalue.Null()).With(key+"2", x)
			case 1:
				if w := v.Without(key); !w.Get(key).IsUndefined() {
					t.Fatalf("Without: %s", w)
				}
			case 2:
				w := v.Append(x, jsonvalue.Value{})
				w.Append(x)
				if !v.IsArray() && w.Len() != 2 || v.IsArray() && w.Len() != v.Len()+2 {
					t.Fatalf("Append: %s", w)
				}
			case 3:
				slices.Reverse(v.JSON())
			case 4:
				if m, ok := v.Interface().(map[string]any); ok {
					clear(m)
				}
			case 5:
				if w := v.Compact(); !w.Equal(v) || w.String() != before {
					t.Fatalf("Compact: %s", w)
				}
			case 6:
				if w := v.WellFormed(); w.WellFormed().String() != w.String() {
					t.Fatalf("WellFormed: %s", w)
				}
			}
		}
		if v.String() != before {
			t.Fatalf("%s\nbecame %s", before, v)
		}
	})
}

// A snapshot of Go data does not see later changes, and equals what
// encoding/json would write.
func TestSnapshotsAreIndependent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := genJSON(4).Draw(t, "json")
		x := mustParse(t, text).Interface()
		v, err := jsonvalue.FromGo(x)
		if jsonvalue.CheckLossless(mustParse(t, text)) != nil {
			if err == nil {
				t.Fatalf("FromGo accepted %s", text)
			}
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		want := mustParse(t, text)
		if !v.Equal(want) {
			t.Fatalf("snapshot %s of %s", v, text)
		}
		spoil(x)
		if !v.Equal(want) {
			t.Fatalf("the snapshot changed to %s", v)
		}
	})
}

// spoil overwrites everything reachable.
func spoil(x any) {
	switch x := x.(type) {
	case []any:
		for i := range x {
			spoil(x[i])
			x[i] = "spoilt"
		}
	case map[string]any:
		for k := range x {
			spoil(x[k])
			x[k] = "spoilt"
		}
		x["spoilt"] = true
	}
}

// Equal ignores the order of keys and the spelling of numbers, nothing else.
func TestEqual(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := mustParse(t, genJSON(3).Draw(t, "a"))
		b := mustParse(t, genJSON(3).Draw(t, "b"))
		if a.Equal(b) != b.Equal(a) {
			t.Fatalf("not symmetric: %s and %s", a, b)
		}
		if !a.Equal(shuffled(a)) {
			t.Fatalf("%s differs from itself in another order", a)
		}
		if a.String() == b.String() && !a.Equal(b) {
			t.Fatalf("same text, not equal: %s", a)
		}
	})
}

func shuffled(v jsonvalue.Value) jsonvalue.Value {
	switch {
	case v.IsArray():
		var vs []jsonvalue.Value
		for _, e := range v.Elements() {
			vs = append(vs, shuffled(e))
		}
		return jsonvalue.Array(vs...)
	case v.IsObject():
		var ms []jsonvalue.Member
		for k, e := range v.Members() {
			ms = append(ms, jsonvalue.Member{Key: k, Value: shuffled(e)})
		}
		slices.Reverse(ms)
		return jsonvalue.Object(ms...)
	}
	return v
}
