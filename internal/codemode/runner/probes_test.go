package runner

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

type probe struct {
	Accept      []json.RawMessage `json:"accept"`
	AcceptError *struct {
		Stage string `json:"stage"`
		Line  int    `json:"line"`
		Name  string `json:"name"`
	} `json:"acceptError"`
}

// deviations are the probes whose expectation we do not share, with the reason.
var deviations = map[string]string{
	"tools--rejection":         "a failed call rejects with a ToolCallError (C4.4); the probe's own host called it ToolError",
	"run--unhandled-rejection": "a rejection that nothing handles fails the run (C6.3): the program cannot have meant it",
}

// TestProbes runs the feature probes. They judge the JSON.stringify form of what
// a program returns; a value that is not lossless JSON is therefore returned
// once more through it.
func TestProbes(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "..", "shared", "codemode-probes")
	files, _ := filepath.Glob(filepath.Join(dir, "*.ts"))
	if len(files) == 0 {
		t.Skip("no probes at ../shared/codemode-probes")
	}
	each(t, func(t *testing.T, r *Runner) {
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".ts")
			t.Run(name, func(t *testing.T) {
				if why := deviations[name]; why != "" {
					t.Skip(why)
				}
				source, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				data, err := os.ReadFile(strings.TrimSuffix(file, ".ts") + ".json")
				if err != nil {
					t.Fatal(err)
				}
				var p probe
				if err := json.Unmarshal(data, &p); err != nil {
					t.Fatal(err)
				}
				checkProbe(t, r, string(source), p)
			})
		}
	})
}

func checkProbe(t *testing.T, r *Runner, source string, p probe) {
	limits := Limits{Wall: time.Minute}
	out, _ := runSource(t, r, source, limits)
	if out.Failure != nil && out.Failure.Kind == KindInvalidOutput {
		out, _ = runSource(t, r, "return JSON.stringify(await (async () => { "+source+"\n})()) ?? 'null'", limits)
		if text, ok := out.Value.Str(); ok && out.OK {
			v, err := jsonvalue.Parse([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			out.Value = v
		}
	}
	if f := out.Failure; f != nil {
		want := p.AcceptError
		if want == nil {
			t.Fatalf("%s: %s", f.Kind, f.Message)
		}
		if want.Line != 0 && f.Line != want.Line || !strings.Contains(f.Message, want.Name) {
			t.Fatalf("line %d (want %d): %s", f.Line, want.Line, f.Message)
		}
		return
	}
	got := out.Value
	if got.IsUndefined() {
		got = jsonvalue.Null()
	}
	for _, a := range p.Accept {
		want, err := jsonvalue.Parse(a)
		if err != nil {
			t.Fatal(err)
		}
		if want.Canonical() == got.Canonical() {
			return
		}
	}
	if len(p.Accept) == 0 {
		t.Fatalf("ran, but has to fail: %s", got)
	}
	t.Fatalf("got %s, want %s", got, p.Accept)
}
