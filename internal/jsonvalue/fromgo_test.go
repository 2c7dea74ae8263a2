package jsonvalue

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

type point struct {
	Y     int     `json:"y"`
	X     float64 `json:"x"`
	Extra Value   `json:"extra,omitzero"`
	note  string
}

func TestFromGo(t *testing.T) {
	var nilMap map[string]any
	var nilSlice []any
	tests := []struct {
		in   any
		want string
	}{
		{nil, `null`},
		{true, `true`},
		{"a<b", `"a<b"`},
		{1, `1`},
		{int8(-3), `-3`},
		{int64(math.MinInt64), `-9223372036854775808`},
		{uint64(math.MaxUint64), `18446744073709551615`},
		{uint32(7), `7`},
		{1e21, `1e+21`},
		{float32(0.1), `0.1`},
		{json.Number("1.50"), `1.50`},
		{json.RawMessage(`{"b":1,"a":[2]}`), `{"b":1,"a":[2]}`},
		{map[string]any{"b": 1, "a": []any{nil, map[string]any{}, []any{}}}, `{"a":[null,{},[]],"b":1}`},
		{[]any{[]any{[]any{}}, map[string]any{"x": map[string]any{}}}, `[[[]],{"x":{}}]`},
		{[]string{"x", "y"}, `["x","y"]`},
		{[]string{}, `[]`},
		{nilMap, `null`},
		{nilSlice, `null`},
		{[]Member{{"z", Int(1)}, {"a", Null()}}, `{"z":1,"a":null}`},
		{[]Value{Int(1), String("x")}, `[1,"x"]`},
		{point{Y: 1, X: 2, note: "-"}, `{"y":1,"x":2}`},
		{[]any{&point{Extra: Array(Int(3))}}, `[{"y":0,"x":0,"extra":[3]}]`},
		{map[string]int{"b": 1, "a": 2}, `{"a":2,"b":1}`},
		{time.Unix(0, 0).UTC(), `"1970-01-01T00:00:00Z"`},
		{struct{ S string }{"<\u2028>"}, `{"S":"<\u2028>"}`},
	}
	for _, tt := range tests {
		v, err := FromGo(tt.in)
		if err != nil {
			t.Errorf("FromGo(%#v): %v", tt.in, err)
		} else if v.String() != tt.want {
			t.Errorf("FromGo(%#v) = %s, want %s", tt.in, v, tt.want)
		}
	}
}

type badMarshaler struct{}

func (badMarshaler) MarshalJSON() ([]byte, error) { return []byte(`{"k":1,"k":2}`), nil }

func TestFromGoRefuses(t *testing.T) {
	loop := map[string]any{}
	loop["self"] = []any{loop}
	slice := make([]any, 1)
	slice[0] = slice
	tests := map[string]struct {
		in     any
		path   string
		reason string
	}{
		"NaN":            {[]any{1, math.NaN()}, "[1]", "NaN"},
		"infinity":       {map[string]any{"a": math.Inf(-1)}, "a", "infinite"},
		"negative zero":  {map[string]any{"a": map[string]any{"b": []any{math.Copysign(0, -1)}}}, "a.b[0]", "negative zero"},
		"float32 zero":   {float32(math.Copysign(0, -1)), "", "negative zero"},
		"absent":         {[]any{Value{}}, "[0]", "no value"},
		"absent below":   {[]Value{{}}, "", "no value"},
		"bytes":          {map[string]any{"a": []byte("x")}, "a", "bytes"},
		"bad text":       {"\xff", "", "UTF-8"},
		"bad texts":      {[]string{"a", "\xff"}, "", "index 1"},
		"bad key":        {map[string]any{"\xff": 1}, "", "UTF-8"},
		"map cycle":      {loop, "", "contains itself"},
		"slice cycle":    {slice, "", "contains itself"},
		"function":       {[]any{func() {}}, "[0]", "func"},
		"channel":        {make(chan int), "", "chan"},
		"raw":            {[]any{json.RawMessage(`{"a":[-0]}`)}, "[0].a[0]", "negative zero"},
		"raw syntax":     {json.RawMessage(`{`), "", "invalid JSON"},
		"number text":    {json.Number("x"), "", "invalid JSON"},
		"number string":  {json.Number(`"1"`), "", "not a number"},
		"lossy value":    {[]any{Array(number("1e400"))}, "[0][0]", "out of the range"},
		"struct NaN":     {point{X: math.NaN()}, "", "NaN"},
		"struct zero":    {[]any{point{X: math.Copysign(0, -1)}}, "[0].x", "negative zero"},
		"duplicate keys": {badMarshaler{}, "", "twice"},
	}
	for name, tt := range tests {
		v, err := FromGo(tt.in)
		var le *LosslessError
		switch {
		case !errors.As(err, &le):
			t.Errorf("%s: got %s, %v", name, v, err)
		case !strings.Contains(le.Reason, tt.reason):
			t.Errorf("%s: reason %q, want %q in it", name, le.Reason, tt.reason)
		case !strings.Contains(name, "cycle") && le.Path != tt.path:
			t.Errorf("%s: path %q, want %q", name, le.Path, tt.path)
		}
	}
}

// Data that is used twice is no cycle.
func TestFromGoShared(t *testing.T) {
	leaf := map[string]any{"a": 1}
	var x any = leaf
	for range 200 {
		x = []any{x, map[string]any{}, []any{}}
	}
	prefixed := []any{1, nil}
	prefixed[1] = prefixed[:1]
	leaf["prefix"] = prefixed
	x = []any{x, x}
	v, err := FromGo(x)
	if err != nil {
		t.Fatal(err)
	}
	if !v.At(0).Equal(v.At(1)) || v.Depth() != 204 {
		t.Errorf("depth %d", v.Depth())
	}
}

func TestUndefined(t *testing.T) {
	var v Value
	if v.JSON() != nil || v.String() != "undefined" || v.Canonical() != "undefined" || v.Indent(" ") != "undefined" {
		t.Error("an absent value is encoded")
	}
	if _, err := json.Marshal(v); err == nil {
		t.Error("an absent value is marshalled")
	}
	if CheckLossless(v) == nil || v.Decode(new(any)) == nil {
		t.Error("an absent value passes")
	}
	if !v.Equal(Value{}) || v.Equal(Null()) || Null().Equal(v) {
		t.Error("absent is absent only")
	}
	if _, err := FromGo(v); err == nil {
		t.Error("an absent value is snapshot")
	}
}

func TestMarshalling(t *testing.T) {
	var p point
	if err := json.Unmarshal([]byte(`{"y":3,"x":1.5,"extra":{"big":9007199254740993,"n":null}}`), &p); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(p)
	if err != nil || string(out) != `{"y":3,"x":1.5,"extra":{"big":9007199254740993,"n":null}}` {
		t.Errorf("%s, %v", out, err)
	}
	if json.Unmarshal([]byte(`{"extra":{"a":1,"a":2}}`), &p) == nil {
		t.Error("duplicate keys pass through encoding/json")
	}
	var back point
	if err := MustFromGo(p).Decode(&back); err != nil || !back.Extra.Equal(p.Extra) || back.Y != 3 {
		t.Errorf("Decode: %+v, %v", back, err)
	}
	var x any
	if err := Array(Int(math.MaxInt64)).Decode(&x); err != nil || x.([]any)[0] != json.Number("9223372036854775807") {
		t.Errorf("Decode into any: %v, %v", x, err)
	}
}

func TestNumbers(t *testing.T) {
	tests := []struct {
		lit       string
		i         int64
		isInt64   bool
		isInteger bool
	}{
		{"0", 0, true, true},
		{"-0", 0, true, true},
		{"-12", -12, true, true},
		{"1.0", 1, true, true},
		{"1e2", 100, true, true},
		{"120e-1", 12, true, true},
		{"12e-1", 0, false, false},
		{"1.5", 0, false, false},
		{"9223372036854775807", math.MaxInt64, true, true},
		{"9223372036854775808", 0, false, true},
		{"-9223372036854775808", math.MinInt64, true, true},
		{"922337203685477580.7e1", math.MaxInt64, true, true},
		{"1e20", 0, false, true},
		{"1e400", 0, false, false},
		{"1e-400", 0, false, false},
		{"0e400", 0, true, true},
		{"1e99999999999999999999", 0, false, false},
	}
	for _, tt := range tests {
		v := number(tt.lit)
		if p, err := Parse([]byte(tt.lit)); err != nil || p.flag != v.flag {
			t.Errorf("%s: parsed flags %v, constructed %v (%v)", tt.lit, p.flag, v.flag, err)
		}
		if i, ok := v.Int64(); i != tt.i || ok != tt.isInt64 {
			t.Errorf("%s: Int64 = %d, %v", tt.lit, i, ok)
		}
		if got := v.IsInteger(); got != tt.isInteger {
			t.Errorf("%s: IsInteger = %v", tt.lit, got)
		}
	}
	for _, pair := range [][2]string{{"1", "1.0"}, {"100", "1E2"}, {"0", "-0.00e7"}, {"0.5", "5e-1"}, {"-12e3", "-12000"}} {
		if !number(pair[0]).Equal(number(pair[1])) {
			t.Errorf("%s differs from %s", pair[0], pair[1])
		}
	}
	for _, pair := range [][2]string{{"1", "-1"}, {"9007199254740993", "9007199254740992"}, {"0.1", "0.10000000000000001"}} {
		if number(pair[0]).Equal(number(pair[1])) {
			t.Errorf("%s equals %s", pair[0], pair[1])
		}
	}
}

func TestStrings(t *testing.T) {
	const lone = "a\xed\xa0\x80b" // WTF-8 of U+D800
	if s := String(lone); s.String() != "\"a\uFFFDb\"" {
		t.Errorf("String = %s", s)
	}
	v := StringWTF8(lone + "\xff")
	if v.String() != "\"a\\ud800b\uFFFD\"" {
		t.Errorf("StringWTF8 = %s", v)
	}
	if w := Object(Member{lone, v}).WellFormed(); w.String() != "{\"a\uFFFDb\":\"a\uFFFDb\uFFFD\"}" {
		t.Errorf("WellFormed = %s", w)
	}
	if p := StringWTF8("\xed\xa0\xbd\xed\xb8\x80"); p.String() != `"😀"` {
		t.Errorf("a pair of surrogates = %s", p)
	}
	if h := StringWTF8("\xed\xa0\x80\xed\xa0\x80\xff"); h.String() != "\"\\ud800\\ud800\uFFFD\"" {
		t.Errorf("two high surrogates = %s", h)
	}
	parsed, err := Parse([]byte(`{"\ud800":1}`))
	if err != nil || parsed.MemberAt(0).Key != "\xed\xa0\x80" || parsed.String() != `{"\ud800":1}` {
		t.Errorf("%s, %v", parsed, err)
	}
	if got := string(AppendString(nil, "\xff\u2029<")); got != "\"\uFFFD\\u2029<\"" {
		t.Errorf("AppendString = %s", got)
	}
}

func TestIndent(t *testing.T) {
	v, err := Parse([]byte(`{"a":[1,{"b":[]},{}],"c":9007199254740993,"d":1E2}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = "{\n  \"a\": [\n    1,\n    {\n      \"b\": []\n    },\n    {}\n  ],\n  \"c\": 9007199254740993,\n  \"d\": 100\n}"
	if got := v.Indent("  "); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	deep, err := Parse([]byte(strings.Repeat("[", 5000) + strings.Repeat("]", 5000)))
	if err != nil {
		t.Fatal(err)
	}
	got := deep.Indent("  ")
	if back, err := Parse([]byte(got)); err != nil || !back.Equal(deep) {
		t.Errorf("a deep value: %v", err)
	}
	if len(got) > 5_000_000 {
		t.Errorf("%d bytes for a value of 10,000", len(got))
	}
}
