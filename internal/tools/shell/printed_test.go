package shell

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// What is kept of the output is its end, however it came, in whole characters, and
// what is missing is counted.
func TestPrintedKeepsTheEnd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p printed
		var all strings.Builder
		for range rapid.IntRange(0, 8).Draw(t, "chunks") {
			unit := rapid.SampledFrom([]string{"a", "é", "😀", "line\n"}).Draw(t, "unit")
			chunk := strings.Repeat(unit, rapid.SampledFrom([]int{0, 1, 7, 1000, 5000, 20000}).Draw(t, "times"))
			all.WriteString(chunk)
			p.write([]byte(chunk))
		}
		text := p.text()
		if !utf8.ValidString(text) {
			t.Fatal("broken characters")
		}
		if all.Len() <= printedBytes {
			if text != all.String() {
				t.Fatalf("%d bytes became %d", all.Len(), len(text))
			}
			return
		}
		notice, end, ok := strings.Cut(text, " ...]\n")
		if !ok || !strings.HasPrefix(notice, "[... ") || !strings.HasSuffix(all.String(), end) || len(end) > printedBytes || len(end) < printedBytes-3 {
			t.Fatalf("%.60q, %d bytes of %d", notice, len(end), all.Len())
		}
	})
}

// keeper is an agent that has a log.
type keeper struct {
	*agent
	logged []string
}

func (k *keeper) Record(eventType string, data jsonvalue.Value) error {
	k.logged = append(k.logged, eventType+" "+data.String())
	return nil
}

func TestACancelledCommandLogsWhatItPrinted(t *testing.T) {
	for _, tt := range []struct{ name, command, want string }{
		{"something", "echo one; echo two >&2; touch started; sleep 100", `tool/printed {"callId":"c","output":"one\ntwo\n"}`},
		{"nothing", "touch started; sleep 100", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := setup(t, Options{})
			k := &keeper{agent: f.agent}
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for {
					if _, err := os.Stat(filepath.Join(f.agent.cwd, "started")); err == nil {
						time.Sleep(100 * time.Millisecond) // for what is on its way through the pipe
						cancel()
						return
					}
					time.Sleep(5 * time.Millisecond)
				}
			}()
			args := jsonvalue.MustFromGo(map[string]any{"command": tt.command, "description": "x"})
			exec, err := f.reg.Begin(registry.ExecutionSpec{CallID: "c", Name: "bash", Arguments: args, Agent: k})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.tool.Execute(ctx, args, &fakeRun{exec: exec}); err == nil || err.Error() != "command aborted" {
				t.Fatalf("%v", err)
			}
			if got := strings.Join(k.logged, "\n"); got != tt.want && got != strings.Replace(tt.want, "one\\ntwo\\n", "two\\none\\n", 1) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
