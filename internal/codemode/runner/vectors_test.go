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

type programVector struct {
	ID      string `json:"id"`
	Group   string `json:"group"`
	Program string `json:"program"`
	Parity  string `json:"parity"`
	Options struct {
		Runtime struct {
			ComputeMS      int   `json:"computeMs"`
			MaxWallMS      int   `json:"maxWallMs"`
			MaxOutputBytes int64 `json:"maxOutputBytes"`
		} `json:"runtime"`
	} `json:"options"`
	Expect struct {
		IsError          bool            `json:"isError"`
		Value            json.RawMessage `json:"value"`
		FailureKind      string          `json:"failureKind"`
		MessageFirstLine string          `json:"messageFirstLine"`
		CapturedOutput   []string        `json:"capturedOutput"`
	} `json:"expect"`
}

// vectorDeviations are the vectors we do not follow, with the reason.
var vectorDeviations = map[string]string{
	"code-091": "an await that nothing can resolve fails at once and says so (decisions 23)",
	"code-106": "enums are compiled (decisions 21)",
	"code-108": "parameter properties are compiled (decisions 21)",
}

// TestProgramVectors runs the vectors that need no pipeline: those whose only
// tools are the fake host's.
func TestProgramVectors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "vectors", "code-mode-programs.json"))
	if err != nil {
		t.Skip("no vectors at ../shared/vectors")
	}
	var file struct {
		Vectors []programVector `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, r *Runner) {
		for _, v := range file.Vectors {
			if v.Parity == "none" || v.Group == "schedule" || v.Group == "tools" && !runnable[v.ID] {
				continue
			}
			t.Run(v.ID, func(t *testing.T) {
				if why := vectorDeviations[v.ID]; why != "" {
					t.Skip(why)
				}
				checkVector(t, r, v)
			})
		}
	})
}

// runnable are the tool vectors the fake host can answer.
var runnable = map[string]bool{
	"code-051": true, "code-052": true, "code-053": true, "code-057": true, "code-059": true, "code-060": true,
	"code-061": true, "code-063": true,
}

func checkVector(t *testing.T, r *Runner, v programVector) {
	limits := Limits{Compute: 20 * time.Second, Wall: time.Minute}
	if n := v.Options.Runtime.ComputeMS; n > 0 {
		limits.Compute = time.Duration(n) * time.Millisecond
	}
	if n := v.Options.Runtime.MaxWallMS; n > 0 {
		limits.Wall = time.Duration(n) * time.Millisecond
	}
	limits.MaxOutputBytes = v.Options.Runtime.MaxOutputBytes
	out, _ := runSource(t, r, v.Program, limits)
	if !v.Expect.IsError {
		if out.Failure != nil {
			t.Fatalf("%s: %s", out.Failure.Kind, out.Failure.Message)
		}
		logs := jsonvalue.MustFromGo(append([]string{}, out.Logs...))
		got := jsonvalue.Object(jsonvalue.Member{Key: "logs", Value: logs})
		if !out.Value.IsUndefined() {
			got = got.With("result", out.Value)
		}
		want, err := jsonvalue.Parse(v.Expect.Value)
		if err != nil {
			t.Fatal(err)
		}
		if got.Canonical() != want.Canonical() {
			if v.Parity == "inspect-layout" {
				t.Logf("layout differs:\ngot  %s\nwant %s", got.Canonical(), want.Canonical())
				return
			}
			t.Fatalf("got  %s\nwant %s", got.Canonical(), want.Canonical())
		}
		return
	}
	if out.Failure == nil {
		t.Fatalf("ran to %s, want %s", out.Value, v.Expect.FailureKind)
	}
	if kind := string(out.Failure.Kind); kind != v.Expect.FailureKind && (v.Parity != "kind-or-exception" || kind != "exception") {
		t.Fatalf("kind %s, want %s: %s", kind, v.Expect.FailureKind, out.Failure.Message)
	}
	if v.Expect.CapturedOutput != nil && strings.Join(out.Logs, "\n") != strings.Join(v.Expect.CapturedOutput, "\n") {
		t.Errorf("output %q, want %q", out.Logs, v.Expect.CapturedOutput)
	}
	if v.Parity == "kind-only" || v.Parity == "kind-or-exception" {
		return
	}
	first, _, _ := strings.Cut(out.Failure.Message, "\n")
	if got := "code run failed (" + string(out.Failure.Kind) + "): " + first; got != v.Expect.MessageFirstLine {
		t.Errorf("message %q, want %q", got, v.Expect.MessageFirstLine)
	}
}

// TestLosslessVectors checks what may cross as a result.
func TestLosslessVectors(t *testing.T) {
	data, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "shared", "vectors", "lossless-json.json"))
	if err != nil {
		t.Skip("no vectors at ../shared/vectors")
	}
	var file struct {
		Vectors []struct {
			ID, Domain, Input string
			Expect            struct {
				Lossless bool
				Snapshot string
			}
		} `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	r := New(Options{Mode: InProcess})
	defer r.Close()
	for _, v := range file.Vectors {
		if v.Domain != "js-value" || strings.Contains(v.Input, "Buffer") {
			continue
		}
		t.Run(v.ID, func(t *testing.T) {
			// Inside an array, since a program may return undefined.
			out, _ := runSource(t, r, "return ["+v.Input+"]", Limits{})
			if out.OK != v.Expect.Lossless {
				t.Fatalf("%s: lossless %v, want %v (%+v)", v.Input, out.OK, v.Expect.Lossless, out.Failure)
			}
			if out.OK && v.Expect.Snapshot != "" && out.Value.At(0).Canonical() != v.Expect.Snapshot {
				t.Fatalf("snapshot %s, want %s", out.Value.At(0), v.Expect.Snapshot)
			}
			if !out.OK {
				t.Log(out.Failure.Message)
			}
		})
	}
}
