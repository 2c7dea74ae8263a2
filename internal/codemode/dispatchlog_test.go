package codemode_test

import (
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// A listener of the dispatch log changes what the log keeps, and nothing that
// the program or the model sees; it is one scope's, and may fail.
func TestTheLogOfACallCanBeReshaped(t *testing.T) {
	w := newWorld(t, worldOptions{engine: sharedRunner(runner.InProcess)})
	broken, err := w.t.OnDispatchLog(w.scope, func(*registry.Execution, []content.Block) []content.Block { panic("out of order") })
	if err != nil {
		t.Fatal(err)
	}
	defer broken()
	dispose, err := w.t.OnDispatchLog(w.scope, func(exec *registry.Execution, blocks []content.Block) []content.Block {
		if exec.Name() != "echo" || content.JoinText(blocks) == "keep" {
			return nil
		}
		return []content.Block{content.Text("short for " + exec.CallID())}
	})
	if err != nil {
		t.Fatal(err)
	}
	other := w.reg.Global().Child("another agent")
	defer other.Close()
	if _, err := w.t.OnDispatchLog(other, func(*registry.Execution, []content.Block) []content.Block {
		return []content.Block{content.Text("not mine")}
	}); err != nil {
		t.Fatal(err)
	}
	logged := func() string {
		var out []string
		for _, e := range w.log() {
			if e.Type == "tool/code-dispatch" {
				out = append(out, e.Data.Get("content").At(0).GetString("text"))
			}
		}
		return strings.Join(out, ", ")
	}
	r := w.run(t.Context(), `return [await tools.echo({value: "long"}), await tools.echo({value: "keep"})]`)
	if r.IsError() || r.Value().Get("result").String() != `["long","keep"]` {
		t.Error(r.Text())
	}
	if got := logged(); got != "short for c1:code:1, keep" {
		t.Error(got)
	}
	dispose()
	w.run(t.Context(), `return await tools.echo({value: "long"})`)
	if got := logged(); got != "short for c1:code:1, keep, long" {
		t.Error(got)
	}
}
