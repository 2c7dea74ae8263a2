package jsonvalue

import (
	"errors"
	"math"
	"strings"
	"testing"
)

func TestParseAndEncode(t *testing.T) {
	tests := []struct{ in, out, canonical string }{
		{`null`, `null`, `null`},
		{` { "b" : [ 1 , 2.50 , {} , [] ] , "a" : "x\u00e9\n" } `, `{"b":[1,2.50,{},[]],"a":"xé\n"}`, `{"b":[1,2.5,{},[]],"a":"xé\n"}`},
		{`12345678901234567890123`, `12345678901234567890123`, `1.2345678901234568e+22`},
		{`[1E2,1e21,1e-7,0.000001,123456789012345680000]`, `[1E2,1e21,1e-7,0.000001,123456789012345680000]`, `[100,1e+21,1e-7,0.000001,123456789012345680000]`},
		{`"\ud83d\ude00 \ud83d x \/"`, `"😀 \ud83d x /"`, `"😀 \ud83d x /"`},
		{`"\u2028<>&\u0000\u007f"`, `"\u2028<>&\u0000` + "\x7f\"", "\"\u2028<>&\\u0000\x7f\""},
	}
	for _, tt := range tests {
		v, err := Parse([]byte(tt.in))
		if err != nil {
			t.Errorf("Parse(%s): %v", tt.in, err)
			continue
		}
		if got := v.String(); got != tt.out {
			t.Errorf("Parse(%s).String() = %s, want %s", tt.in, got, tt.out)
		}
		if got := v.Canonical(); got != tt.canonical {
			t.Errorf("Parse(%s).Canonical() = %s, want %s", tt.in, got, tt.canonical)
		}
	}
}

func TestParseErrors(t *testing.T) {
	tests := []struct {
		in     string
		offset int
	}{
		{``, 0},
		{`{a:1}`, 1},
		{`[1,]`, 3},
		{`{'a':1}`, 1},
		{`NaN`, 0},
		{`+1`, 0},
		{`{"a":1`, 6},
		{"\"a\nb\"", 2},
		{`01`, 1},
		{`1.`, 2},
		{`1e`, 2},
		{`-`, 1},
		{`"\x"`, 1},
		{`"\u12"`, 1},
		{`nul`, 0},
		{`1 2`, 2},
		{"\ufeff1", 0},
		{"\"\xff\"", 1},
		{`{"a" 1}`, 5},
		{`{"a":1,}`, 7},
		{`[1}`, 2},
		{`"abc`, 4},
	}
	for _, tt := range tests {
		_, err := Parse([]byte(tt.in))
		var se *SyntaxError
		if !errors.As(err, &se) {
			t.Errorf("Parse(%q) = %v, want a *SyntaxError", tt.in, err)
			continue
		}
		if se.Offset != tt.offset {
			t.Errorf("Parse(%q): offset %d, want %d (%s)", tt.in, se.Offset, tt.offset, se.Msg)
		}
	}
}

func TestDuplicateKeys(t *testing.T) {
	for _, in := range []string{`{"a":1,"a":2}`, `{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"\u0061":10}`, `[{"x":{"k":1,"k":1}}]`} {
		if _, err := Parse([]byte(in)); !errors.Is(err, ErrDuplicateKey) {
			t.Errorf("Parse(%s) = %v, want ErrDuplicateKey", in, err)
		}
	}
}

func TestObjectOperations(t *testing.T) {
	v := Object(Member{"a", Int(1)}, Member{"b", Value{}}, Member{"a", Int(2)}, Member{"c", Array(Value{}, Bool(true))})
	if got := v.String(); got != `{"a":2,"c":[null,true]}` {
		t.Fatalf("Object = %s", got)
	}
	w := v.With("c", String("x")).With("d", Null())
	if w.String() != `{"a":2,"c":"x","d":null}` || w.Without("a").String() != `{"c":"x","d":null}` {
		t.Errorf("With/Without: %s, %s", w, w.Without("a"))
	}
	if v.String() != `{"a":2,"c":[null,true]}` {
		t.Errorf("the original changed: %s", v)
	}
	if !v.Get("zz").IsUndefined() || v.GetString("a") != "" || w.GetString("c") != "x" {
		t.Error("lookups")
	}
}

// What a value is built from, and what is built from it, share nothing that
// can change.
func TestNoAliasing(t *testing.T) {
	vs := []Value{Int(1), Int(2)}
	v := Array(vs...)
	vs[0] = Null()
	ms := []Member{{"a", Int(1)}, {"gone", Value{}}, {"also", Value{}}}
	o := Object(ms...)
	ms[0] = Member{"x", Null()}
	x, y := o.With("x", Int(1)), o.With("y", Int(2))
	if got := Array(v, o, x, y).String(); got != `[[1,2],{"a":1},{"a":1,"x":1},{"a":1,"y":2}]` {
		t.Errorf("got %s", got)
	}
	p, err := Parse([]byte(`[{"a":1},{"b":2},{"c":3}]`))
	if err != nil {
		t.Fatal(err)
	}
	p.At(0).With("x", Null())
	p.At(0).With("a", Null())
	p.Append(Null())
	p.At(0).Without("a")
	if p.String() != `[{"a":1},{"b":2},{"c":3}]` {
		t.Errorf("got %s", p)
	}
}

func TestCheckLossless(t *testing.T) {
	bad := map[string]string{`-0`: "", `{"a":[0,-0.0]}`: "a[1]", `1e400`: "", `-1e-400`: "", `[-1e400]`: "[0]"}
	for in, path := range bad {
		_, err := ParseLossless([]byte(in))
		var le *LosslessError
		if !errors.As(err, &le) || le.Path != path {
			t.Errorf("ParseLossless(%s) = %v, want a LosslessError at %q", in, err, path)
		}
	}
	for _, in := range []string{`0`, `1e-400`, `9007199254740993`, `1.7976931348623157e308`} {
		if _, err := ParseLossless([]byte(in)); err != nil {
			t.Errorf("ParseLossless(%s): %v", in, err)
		}
	}
	v, _ := Parse([]byte(`[9007199254740993]`))
	if CheckJavaScript(v) == nil {
		t.Error("an inexact integer may not reach JavaScript")
	}
	for _, in := range []string{`9007199254740992`, `1e20`, `0.1`, `1e300`, `123456789012345680000`} {
		v, _ := Parse([]byte(in))
		if err := CheckJavaScript(v); err != nil {
			t.Errorf("CheckJavaScript(%s): %v", in, err)
		}
	}
}

func TestAccessors(t *testing.T) {
	values := map[Kind]Value{
		Undefined: {}, NullKind: Null(), BoolKind: Bool(true), NumberKind: Int(7), StringKind: String("s"),
		ArrayKind: Array(Int(1), Int(2)), ObjectKind: Object(Member{"k", Int(3)}, Member{"l", Null()}),
	}
	names := map[Kind]string{Undefined: "undefined", NullKind: "null", BoolKind: "boolean", NumberKind: "number", StringKind: "string", ArrayKind: "array", ObjectKind: "object"}
	for kind, v := range values {
		if v.Kind() != kind || kind.String() != names[kind] {
			t.Errorf("%v has kind %v", v, v.Kind())
		}
		b, isBool := v.Bool()
		s, isString := v.Str()
		lit, isNumber := v.Literal()
		f, hasFloat := v.Float()
		i, hasInt := v.Int64()
		if isBool != (kind == BoolKind) || b != isBool ||
			isString != (kind == StringKind) || isString && s != "s" ||
			isNumber != (kind == NumberKind) || isNumber && lit != "7" ||
			hasFloat != isNumber || hasFloat && f != 7 || hasInt != isNumber || hasInt && i != 7 ||
			v.IsInteger() != isNumber || v.IsLosslessNumber() != isNumber {
			t.Errorf("%v: wrong scalar", kind)
		}
		if v.IsUndefined() != (kind == Undefined) || v.IsZero() != v.IsUndefined() || v.IsNull() != (kind == NullKind) ||
			v.IsArray() != (kind == ArrayKind) || v.IsObject() != (kind == ObjectKind) {
			t.Errorf("%v: wrong predicate", kind)
		}
		wantLen := 0
		if v.IsArray() || v.IsObject() {
			wantLen = 2
		}
		if v.Len() != wantLen || !v.At(-1).IsUndefined() || !v.At(2).IsUndefined() || v.At(0).IsUndefined() != (wantLen == 0) {
			t.Errorf("%v: wrong elements", kind)
		}
		elements, members := 0, 0
		for at, e := range v.Elements() {
			elements += at + int(e.Kind())
			break
		}
		for key, m := range v.Members() {
			members += len(key) + int(m.Kind())
			break
		}
		if (elements > 0) != v.IsArray() || (members > 0) != v.IsObject() {
			t.Errorf("%v: wrong iteration", kind)
		}
		wantKey, wantAt := "", -1
		if v.IsObject() {
			wantKey, wantAt = "l", 1
		}
		if v.MemberAt(1).Key != wantKey || v.KeyAt(1) != wantKey || v.MemberAt(2).Key != "" || v.KeyAt(-1) != "" ||
			v.IndexOf("l") != wantAt || v.IndexOfNear("l", 1) != wantAt || v.IndexOfNear("l", 0) != wantAt || v.IndexOfNear("l", 9) != wantAt || v.IndexOf("x") != -1 {
			t.Errorf("%v: wrong members", kind)
		}
		if _, ok := v.Lookup("k"); ok != v.IsObject() {
			t.Errorf("%v: wrong lookup", kind)
		}
		if got := v.With("n", Null()).Len(); got != 1 && !v.IsObject() {
			t.Errorf("%v: With on no object gives %d members", kind, got)
		}
		if got := v.Without("zz"); !got.IsObject() {
			t.Errorf("%v: Without gives %v", kind, got.Kind())
		}
		if !v.Compact().Equal(v) || v.GoString() == "" {
			t.Errorf("%v: wrong copy", kind)
		}
	}
}

// Objects of many members are looked up by binary search.
func TestManyMembers(t *testing.T) {
	var ms []Member
	for i := range 1000 {
		ms = append(ms, Member{FormatNumber(float64((i * 7919) % 1000)), Int(int64(i))})
	}
	v := Object(append(ms, ms[3])...)
	if v.Len() != 1000 {
		t.Fatalf("%d members", v.Len())
	}
	w, err := Parse(v.JSON())
	if err != nil || !w.Equal(v) {
		t.Fatal(err)
	}
	for i, m := range ms {
		for _, o := range []Value{v, w, w.With("new", Null()), w.Without("new")} {
			if o.IndexOf(m.Key) != i || !o.Get(m.Key).Equal(m.Value) {
				t.Fatalf("member %s is at %d, want %d", m.Key, o.IndexOf(m.Key), i)
			}
		}
	}
	if v.IndexOf("x") != -1 {
		t.Error("a key that is not there is found")
	}
}

func TestFormatNumber(t *testing.T) {
	for want, f := range map[string]float64{
		"0": math.Copysign(0, -1), "NaN": math.NaN(), "Infinity": math.Inf(1), "-Infinity": math.Inf(-1),
		"1e+21": 1e21, "100000000000000000000": 1e20, "0.000001": 1e-6, "1e-7": 1e-7, "-1.5e-10": -1.5e-10,
		"5e-324": 5e-324, "1.7976931348623157e+308": math.MaxFloat64, "123.456": 123.456, "1e+100": 1e100,
	} {
		if got := FormatNumber(f); got != want {
			t.Errorf("FormatNumber(%v) = %s, want %s", f, got, want)
		}
	}
}

func TestErrorTexts(t *testing.T) {
	for want, in := range map[string]string{
		`invalid JSON at byte 4: the string that starts at byte 0 is not closed`:                                 `"abc`,
		`invalid JSON at byte 0: the object has the key "a" twice; give each key once`:                           `{"a":1,"a":2}`,
		`invalid JSON at byte 3: unexpected ']' where a value must start`:                                        `[1,]`,
		`invalid JSON at byte 2: the array that starts at byte 0 is not closed`:                                  `[1`,
		`invalid JSON at byte 1: the text is not valid UTF-8`:                                                    "\"\xff\"",
		`not lossless JSON at a[1]: negative zero does not survive JSON`:                                         `{"a":[1,-0]}`,
		`not lossless JSON: the number 1111111111111111111111111111111111111... is out of the range of a double`: strings.Repeat("1", 400),
	} {
		if _, err := ParseLossless([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", in, err)
		}
	}
	if (&LosslessError{}).Code() != "NOT_LOSSLESS" {
		t.Error("the code changed")
	}
}
