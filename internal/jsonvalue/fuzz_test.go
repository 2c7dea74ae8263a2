package jsonvalue_test

import (
	"encoding/json"
	"errors"
	"testing"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// FuzzParse holds the parser against encoding/json: it accepts the same texts,
// except that it is stricter about UTF-8 and duplicate keys and has no limit of
// depth; and what it accepts survives encoding.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2.5e-3,-0,"x\u00e9\ud800",null,true,{}],"b":{}}`, `[[[]]]`, `"\ud83d\ude00"`, `1e400`, `{"a":1,"a":2}`,
		"\xff", "\ufeff1", `[1,]`, `{"\u0061":1,"a":2}`, ` 01`, "\"\u2028\"", `-`, `"\`, `{"a"`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := jsonvalue.Parse(data)
		if err != nil {
			var se *jsonvalue.SyntaxError
			if !errors.As(err, &se) || se.Offset < 0 || se.Offset > len(data) {
				t.Fatalf("error %v of %d bytes", err, len(data))
			}
			if json.Valid(data) && utf8.Valid(data) && !errors.Is(err, jsonvalue.ErrDuplicateKey) {
				t.Fatalf("%q is JSON, refused: %v", data, err)
			}
			return
		}
		out := v.JSON()
		if v.Depth() < 10_000 && (!json.Valid(data) || !json.Valid(out)) {
			t.Fatalf("%q accepted, encoded as %q", data, out)
		}
		w, err := jsonvalue.Parse(out)
		if err != nil || string(w.JSON()) != string(out) || !v.Equal(w) {
			t.Fatalf("%q becomes %q: %v", out, w.JSON(), err)
		}
		c := v.Canonical()
		if x, err := jsonvalue.Parse([]byte(c)); err != nil || x.Canonical() != c {
			t.Fatalf("canonical %q: %v", c, err)
		}
		if x := v.WellFormed(); !utf8.ValidString(x.Canonical()) || x.Len() > v.Len() {
			t.Fatalf("not well formed: %q", x.Canonical())
		}
		if jsonvalue.CheckLossless(v) == nil {
			if x, err := jsonvalue.FromGo(v); err != nil || !x.Equal(v) {
				t.Fatalf("FromGo: %v", err)
			}
		}
	})
}
