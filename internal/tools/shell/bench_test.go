package shell

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// BenchmarkCall measures a call of bash through the whole pipeline beside the
// same command started by itself, and what the call takes more (goal: under 5 ms).
func BenchmarkCall(b *testing.B) {
	reg, err := registry.New(registry.Options{})
	if err != nil {
		b.Fatal(err)
	}
	sup := proc.NewSupervisor()
	defer func() { _ = sup.Close(context.Background()) }()
	if _, err := Register(reg.Global(), Options{Supervisor: sup, SpillDir: filepath.Join(b.TempDir(), "spill")}); err != nil {
		b.Fatal(err)
	}
	pipe, err := pipeline.New(reg, pipeline.Options{})
	if err != nil {
		b.Fatal(err)
	}
	a := &agent{scope: reg.Global(), cwd: b.TempDir(), session: "s"}
	args := jsonvalue.MustFromGo(map[string]any{"command": "true", "description": "Do nothing"})
	var call, bare time.Duration
	n := 0
	for b.Loop() { // in turn, so that both meet the same machine
		begin := time.Now()
		if r := pipe.Execute(b.Context(), pipeline.Call{ID: "c", Name: "bash", Arguments: args, Agent: a}); r.IsError() {
			b.Fatal(r.Text())
		}
		mid := time.Now()
		if err := exec.Command("bash", "-c", "true").Run(); err != nil {
			b.Fatal(err)
		}
		call, bare, n = call+mid.Sub(begin), bare+time.Since(mid), n+1
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(n) / 1000 }
	b.ReportMetric(ms(call), "ms/call")
	b.ReportMetric(ms(bare), "ms/bare")
	b.ReportMetric(ms(call-bare), "ms/overhead")
}
