package render

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func parse(t testing.TB, text string) jsonvalue.Value {
	t.Helper()
	v, err := jsonvalue.ParseString(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestValue(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"string as it is", `"a \"b\"\n"`, "a \"b\"\n"},
		{"null", `null`, "null"},
		{"separators and surrogates", `{"\u2028":"\u2029é","\ud83d":"\ud83d"}`, "{\n  \"\u2028\": \"\u2029é\",\n  \"\\ud83d\": \"\\ud83d\"\n}"},
		{"number as JavaScript writes it", `1E2`, "100"},
		{"large number", `1e21`, "1e+21"},
		{"empty containers inline", `[[],{}]`, "[\n  [],\n  {}\n]"},
		{"members", `{"b":1,"a":"x"}`, "{\n  \"b\": 1,\n  \"a\": \"x\"\n}"},
		{"array indices first", `{"b":1,"10":2,"9":3,"01":4,"a":5}`, "{\n  \"9\": 3,\n  \"10\": 2,\n  \"b\": 1,\n  \"01\": 4,\n  \"a\": 5\n}"},
		{"array indices in order", `{"1":1,"2":2,"a":3}`, "{\n  \"1\": 1,\n  \"2\": 2,\n  \"a\": 3\n}"},
		{"largest array index", `{"4294967295":1,"4294967294":2}`, "{\n  \"4294967294\": 2,\n  \"4294967295\": 1\n}"},
		{
			"compact from the sixth level", `[[[[[[1,2],{"b":[],"1":{"x":null}}]]]]]`,
			"[\n  [\n    [\n      [\n        [\n          [1,2],\n          {\"1\":{\"x\":null},\"b\":[]}\n        ]\n      ]\n    ]\n  ]\n]",
		},
		{
			"siblings after a compact one", `{"a":{"a":{"a":{"a":{"a":{"a":1}},"z":[2]}}}}`,
			"{\n  \"a\": {\n    \"a\": {\n      \"a\": {\n        \"a\": {\n          \"a\": {\"a\":1}\n        },\n        \"z\": [\n          2\n        ]\n      }\n    }\n  }\n}",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Value(parse(t, c.in)); got != c.want {
				t.Errorf("\n got %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestValueIsAsDeepAsMemory(t *testing.T) {
	const depth = 200_000
	in := strings.Repeat("[", depth) + strings.Repeat("]", depth)
	got := Value(parse(t, in))
	if got := strings.NewReplacer(" ", "", "\n", "").Replace(got); got != in {
		t.Errorf("%d bytes of text, want the %d brackets that went in", len(got), len(in))
	}
	if n, ok := ValueBytes(parse(t, in), 2*depth); !ok || n != 2*depth {
		t.Errorf("counted %d %v, want %d", n, ok, 2*depth)
	}
}

func TestText(t *testing.T) {
	undefined := jsonvalue.Value{}
	for _, c := range []struct {
		name   string
		logs   []string
		result jsonvalue.Value
		want   string
	}{
		{"nothing", nil, undefined, NoOutput},
		{"an empty entry and an empty string", []string{""}, jsonvalue.String(""), NoOutput},
		{"two empty entries", []string{"", ""}, undefined, "\n"},
		{"entries", []string{"a", "b"}, undefined, "a\nb"},
		{"result", nil, jsonvalue.Int(3), "3"},
		{"null is a result", nil, jsonvalue.Null(), "null"},
		{"both", []string{"a"}, jsonvalue.Bool(false), "a\nfalse"},
		{"empty result", []string{"a"}, jsonvalue.String(""), "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := Text(c.logs, c.result); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestFailure(t *testing.T) {
	if got, want := Failure("exception", "Error: no", nil), "code run failed (exception): Error: no"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	got := Failure("timeout", "compute budget exhausted (5ms busy)", []string{"one", "two"})
	want := "code run failed (timeout): compute budget exhausted (5ms busy)\nCaptured output:\none\ntwo"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestLedgerOverflow(t *testing.T) {
	lines := func(n int) []string {
		var s []string
		for i := range n {
			s = append(s, "line "+string(rune('0'+i)))
		}
		return s
	}
	for _, c := range []struct {
		name   string
		max    int
		logs   []string
		result string
		want   []string // nil: it fits
		notice string
	}{
		{"exactly at the limit", 7, nil, `"€"`, nil, ""},
		{"one over", 6, nil, `"€"`, []string{}, "(kept 0 of 0 bytes of console output; the result, 5 bytes as JSON, was dropped; print or return less, or write the rest to a file)"},
		{"result too large, entry cut", 40, []string{"12345678901234567890"}, `"abcdefghijabcdefghij"`, []string{"1234"}, "(kept 4 of 20 bytes of console output; the result, 22 bytes as JSON, was dropped; print or return less, or write the rest to a file)"},
		{"entries too many", 120, append(lines(10), "line 10", "line 11", "line 12"), ``, append(lines(9), "li"), "(kept 56 of 81 bytes of console output; print or return less, or write the rest to a file)"},
		{"one huge entry", 60, []string{strings.Repeat("\n", 1000)}, ``, []string{strings.Repeat("\n", 12)}, "(kept 12 of 1000 bytes of console output; print or return less, or write the rest to a file)"},
		{"no room for the message", 4, []string{"abc"}, ``, []string{}, "(kept 0 of 3 bytes of console output; print or return less, or write the rest to a file)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := NewLedger(c.max)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range c.logs {
				l.Log(s)
			}
			var result jsonvalue.Value
			if c.result != "" {
				result = parse(t, c.result)
			}
			err = l.Complete(result)
			var over *OverflowError
			if c.want == nil {
				if err != nil {
					t.Fatalf("unexpected %v", err)
				}
				return
			}
			if !errors.As(err, &over) {
				t.Fatalf("got %v, want an overflow", err)
			}
			if !slices.Equal(over.Logs, c.want) {
				t.Errorf("kept %q, want %q", over.Logs, c.want)
			}
			if got := over.Notice(); got != c.notice {
				t.Errorf("notice %q, want %q", got, c.notice)
			}
		})
	}
}

func TestLedgerFail(t *testing.T) {
	l, _ := NewLedger(30)
	if !l.Log("0123456789") {
		t.Fatal("14 of 30 bytes do not fit")
	}
	if err := l.Fail("0123456789abcd"); err != nil {
		t.Errorf("exactly at the limit: %v", err)
	}
	if err := l.Fail("0123456789abcde"); err == nil || err.Error() != "outer output exceeded 30 bytes" {
		t.Errorf("one over: %v", err)
	}
}

func TestLedgerRefusesTinyLimit(t *testing.T) {
	for _, n := range []int{3, 0, -1, math.MinInt} {
		if _, err := NewLedger(n); err == nil {
			t.Errorf("limit %d accepted", n)
		}
	}
}

// genText draws texts that need every kind of escape, stray bytes and lone
// surrogates included.
func genText() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{
			"a", `"`, `\`, "\n", "\b", "\x00", "\x7f", "é", "€", "😀", "\u2028", "\xed\xa0\xbd", "</script>",
		}), 0, 12).Draw(t, "parts")
		return strings.Join(parts, "")
	})
}

func genValue(depth int) *rapid.Generator[jsonvalue.Value] {
	return rapid.Custom(func(t *rapid.T) jsonvalue.Value {
		top := 5
		if depth == 0 {
			top = 3
		}
		switch rapid.IntRange(0, top).Draw(t, "kind") {
		case 0:
			return jsonvalue.Null()
		case 1:
			return jsonvalue.Bool(rapid.Bool().Draw(t, "bool"))
		case 2:
			return jsonvalue.MustFromGo(json.Number(rapid.SampledFrom([]string{"0", "-1", "1E2", "1e-7", "0.1", "123456789012"}).Draw(t, "number")))
		case 3:
			return jsonvalue.StringWTF8(genText().Draw(t, "text"))
		case 4:
			return jsonvalue.Array(rapid.SliceOfN(genValue(depth-1), 0, 4).Draw(t, "items")...)
		default:
			var members []jsonvalue.Member
			for range rapid.IntRange(0, 4).Draw(t, "members") {
				key := rapid.OneOf(genText(), rapid.StringMatching(`[0-9]{1,2}`)).Draw(t, "key")
				members = append(members, jsonvalue.Member{Key: key, Value: genValue(depth-1).Draw(t, "value")})
			}
			return jsonvalue.Object(members...)
		}
	})
}

func TestBytesAgreeWithEncoder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(7).Draw(t, "value")
		want := len(v.Canonical())
		if got, ok := ValueBytes(v, want); !ok || got != want {
			t.Fatalf("%s: counted %d %v, is %d", v, got, ok, want)
		}
		if _, ok := ValueBytes(v, want-1); ok {
			t.Fatalf("%s: fits %d bytes, is %d", v, want-1, want)
		}
	})
}

func TestTruncateKeepsLongestPrefix(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, _ := jsonvalue.StringWTF8(genText().Draw(t, "text")).Str()
		limit := rapid.IntRange(0, 40).Draw(t, "limit")
		got := TruncateString(s, limit)
		if !strings.HasPrefix(s, got) {
			t.Fatalf("%q is no prefix of %q", got, s)
		}
		if got != "" {
			if n, ok := StringBytes(got, limit); !ok {
				t.Fatalf("%q takes %d, limit %d", got, n, limit)
			}
		}
		if got == s {
			return
		}
		_, size := utf8.DecodeRuneInString(s[len(got):])
		if strings.HasPrefix(s[len(got):], "\xed\xa0\xbd") {
			size = 3
		}
		if longer := s[:len(got)+size]; limit >= 2 {
			if _, ok := StringBytes(longer, limit); ok {
				t.Fatalf("%q would fit %d, kept %q", longer, limit, got)
			}
		}
	})
}

func TestRenderedJSONParsesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := genValue(8).Draw(t, "value")
		if v.Kind() == jsonvalue.StringKind {
			return
		}
		back, err := jsonvalue.ParseString(Value(v))
		if err != nil {
			t.Fatal(err)
		}
		if !back.Equal(v) {
			t.Fatalf("%s became %s", v, back)
		}
	})
}

func TestLedgerNeverExceedsItsLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		maxBytes := rapid.IntRange(MinOutputBytes, 200).Draw(t, "max")
		l, err := NewLedger(maxBytes)
		if err != nil {
			t.Fatal(err)
		}
		logs := rapid.SliceOfN(genText(), 0, 12).Draw(t, "logs")
		for i, s := range logs {
			logs[i], _ = jsonvalue.StringWTF8(s).Str()
			l.Log(logs[i])
		}
		result := genValue(2).Draw(t, "result")
		total := len(Outcome(logs, jsonvalue.Value{}).Get("logs").Canonical()) + len(result.Canonical())
		err = l.Complete(result)
		if (err == nil) != (total <= maxBytes) {
			t.Fatalf("%d of %d bytes: %v", total, maxBytes, err)
		}
		if err == nil {
			if !slices.Equal(l.Logs(), logs) {
				t.Fatalf("kept %q of %q", l.Logs(), logs)
			}
			return
		}
		var over *OverflowError
		if !errors.As(err, &over) {
			t.Fatal(err)
		}
		size := len(Outcome(over.Logs, jsonvalue.Value{}).Get("logs").Canonical()) + len(jsonvalue.String(over.Error()).Canonical())
		if len(over.Logs) > 0 && size > maxBytes {
			t.Fatalf("failure takes %d of %d bytes", size, maxBytes)
		}
		for i, s := range over.Logs {
			if s != logs[i] && (i != len(over.Logs)-1 || !strings.HasPrefix(logs[i], s)) {
				t.Fatalf("entry %d is %q, was %q", i, s, logs[i])
			}
		}
	})
}

func BenchmarkValue(b *testing.B) {
	var items []jsonvalue.Value
	for i := range 10_000 {
		items = append(items, jsonvalue.MustFromGo(map[string]any{"id": i, "name": "an item", "tags": []string{"a", "b"}}))
	}
	v := jsonvalue.Array(items...)
	b.SetBytes(int64(len(v.Canonical())))
	b.ReportAllocs()
	for b.Loop() {
		Value(v)
	}
}
