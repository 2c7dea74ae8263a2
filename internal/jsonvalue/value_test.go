package jsonvalue

import (
	"errors"
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

func TestDeep(t *testing.T) {
	const depth = 20_000
	text := strings.Repeat(`[{"a":`, depth) + "1" + strings.Repeat("}]", depth)
	v, err := ParseLossless([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if v.String() != text || v.Canonical() != text {
		t.Error("a deep value does not survive")
	}
	w, _ := Parse([]byte(text))
	if !v.Equal(w) || !v.WellFormed().Equal(v) || !v.Compact().Equal(v) {
		t.Error("deep values differ")
	}
	x, err := FromGo(v.Interface())
	if err != nil || !x.Equal(v) {
		t.Errorf("a deep snapshot differs: %v", err)
	}
	if v.Indent("  ") == "" {
		t.Error("no indented text")
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
