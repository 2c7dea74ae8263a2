package credentials

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func TestGuardConcealsEveryKeyThatWasFound(t *testing.T) {
	const inEnv, stored, other = "sk-in-the-environment-1", "sk-stored-for-this-one", "sk-stored-for-another-one"
	store := NewStore(filepath.Join(t.TempDir(), "credentials.json"))
	if err := os.WriteFile(store.Path(), []byte(`{"p": "`+stored+`", "q": "`+other+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	var g Guard
	src := &Source{Provider: "p", EnvName: "P_KEY", Env: func(string) string { return inEnv }, Store: store, Guard: &g}
	if key, err := src.Key(context.Background()); key != inEnv || err != nil {
		t.Fatal(key, err)
	}
	v, err := jsonvalue.ParseString(`{"a": ["` + inEnv + ` and ` + stored + `", 1, null], "b": {"c": "x` + other + `y"}, "d": "plain"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := g.Value(v).String(), `{"a":["[key] and [key]",1,null],"b":{"c":"x[key]y"},"d":"plain"}`; got != want {
		t.Errorf("%s\nnot %s", got, want)
	}
}

func TestGuardLeavesTheRest(t *testing.T) {
	var g Guard
	g.Learn("", "none", "EMPTY", "ollama") // what servers of one's own are given
	const text = "none EMPTY ollama"
	if got := g.Text(text); got != text {
		t.Errorf("%q", got)
	}
	// A longer key that begins with a shorter one goes as a whole.
	short := strings.Repeat("k", minGuarded)
	g.Learn(short)
	g.Learn(short + "-long")
	if got := g.Text(short + "-long " + short); got != "[key] [key]" {
		t.Errorf("%q", got)
	}
	var none *Guard
	none.Learn("sk-whatever-it-may-be")
	if got := none.Text(text); got != text {
		t.Errorf("%q", got)
	}
}

// However a text is cut into pieces, no piece and no two pieces together hold a
// key, and nothing else is lost.
func TestGuardedStream(t *testing.T) {
	keys := []string{"sk-sk-sk-0123456789", "abcabcabcabcabcabd"}
	rapid.Check(t, func(t *rapid.T) {
		var g Guard
		g.Learn(keys...)
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{keys[0], keys[1], "sk-", "abc", "\n", "x", "é"}), 0, 20).Draw(t, "text"), "")
		pass := g.Stream()
		var got strings.Builder
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			got.Write(pass([]byte(rest[:n]), false))
			rest = rest[n:]
		}
		got.Write(pass(nil, true))
		if want := g.Text(text); got.String() != want {
			t.Errorf("%q, not %q", got.String(), want)
		}
	})
}
