package runner

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/transpile"
	"github.com/dsh-acp/dsh-acp/internal/codemode/worker"
)

// modes are the two ways to run, for benchmarks.
func modes(b *testing.B, f func(b *testing.B, r *Runner)) {
	for name, mode := range map[string]Mode{"child": Child, "inprocess": InProcess} {
		b.Run(name, func(b *testing.B) {
			r := New(Options{Mode: mode})
			defer r.Close()
			f(b, r)
		})
	}
}

func mustRun(b *testing.B, r *Runner, source string, tools []string) Outcome {
	b.Helper()
	out := r.Run(context.Background(), Program{Source: source, Tools: tools}, &fakeHost{})
	if !out.OK {
		b.Fatalf("%s: %s", out.Failure.Kind, out.Failure.Message)
	}
	return out
}

// warmRuns measures runs with a worker kept ahead, as between model turns.
func warmRuns(b *testing.B, r *Runner, source string) {
	for b.Loop() {
		b.StopTimer()
		waitWarm(b, r)
		b.StartTimer()
		mustRun(b, r, source, fakeTools)
	}
}

func waitWarm(b *testing.B, r *Runner) {
	if r.o.Mode != Child {
		return
	}
	if err := r.Warm(context.Background()); err != nil {
		b.Fatal(err)
	}
	for {
		r.mu.Lock()
		ready := r.warm != nil
		r.mu.Unlock()
		if ready {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func BenchmarkReturnOneWarm(b *testing.B) {
	modes(b, func(b *testing.B, r *Runner) { warmRuns(b, r, "return 1") })
}

// BenchmarkReturnOneCold pays for a worker each time.
func BenchmarkReturnOneCold(b *testing.B) {
	for b.Loop() {
		r := New(Options{Mode: Child})
		mustRun(b, r, "return 1", nil)
		b.StopTimer()
		r.Close()
		b.StartTimer()
	}
}

func BenchmarkSpawn(b *testing.B) {
	r := New(Options{Mode: Child})
	defer r.Close()
	for b.Loop() {
		p, err := r.start(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		p.kill("")
		p.reap()
		b.StartTimer()
	}
}

// BenchmarkCalls measures one sequential call of a tool that does nothing.
func BenchmarkCalls(b *testing.B) {
	modes(b, func(b *testing.B, r *Runner) {
		const n = 10_000
		for b.Loop() {
			mustRun(b, r, "for (let i = 0; i < 10000; i++) await tools.noop({});", fakeTools)
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*n), "µs/call")
	})
}

// BenchmarkTypical is a program of forty lines with twelve calls.
func BenchmarkTypical(b *testing.B) {
	source, err := os.ReadFile(filepath.Join("..", "..", "..", "testdata", "codemode", "programs", "typical.ts"))
	if err != nil {
		b.Fatal(err)
	}
	modes(b, func(b *testing.B, r *Runner) { warmRuns(b, r, string(source)) })
}

// BenchmarkCompute are the interpreter's own figures; they belong to goja and
// are kept so that an upgrade that changes them is noticed.
func BenchmarkCompute(b *testing.B) {
	for _, c := range []struct{ name, source string }{
		{"fib27", "const fib = (n) => n < 2 ? n : fib(n - 1) + fib(n - 2); return fib(27)"},
		{"loop1e7", "let s = 0; for (let i = 0; i < 1e7; i++) s += i; return s"},
		{"sort1e5", "const a = Array.from({length: 1e5}, (_, i) => (i * 7919) % 100003); a.sort((x, y) => x - y); return a[0]"},
		{"json1MB", "const o = Array.from({length: 12000}, (_, i) => ({id: i, name: 'name ' + i, tags: ['a', 'b'], n: i / 3})); return JSON.parse(JSON.stringify(o)).length"},
		{"append10000", "let s = ''; for (let i = 0; i < 10000; i++) s += 'line ' + i + ' of the text\\n'; return s.length"},
		{"await1e5", "for (let i = 0; i < 1e5; i++) await null"},
	} {
		b.Run(c.name, func(b *testing.B) {
			r := New(Options{Mode: InProcess})
			defer r.Close()
			for b.Loop() {
				mustRun(b, r, c.source, nil)
			}
		})
	}
}

// BenchmarkValue crosses a value of a megabyte both ways.
func BenchmarkValue(b *testing.B) {
	modes(b, func(b *testing.B, r *Runner) {
		warmRuns(b, r, "const v = await tools.echo(Array.from({length: 10000}, (_, i) => ({id: i, name: 'name ' + i, text: 'x'.repeat(60)}))); return v.length")
	})
}

func BenchmarkEngine(b *testing.B) {
	for b.Loop() {
		l, err := worker.StartLocal()
		if err != nil {
			b.Fatal(err)
		}
		l.Kill("")
		<-l.Done()
	}
}

func BenchmarkTranspile(b *testing.B) {
	line := "const value: number = await tools.read({ path: `file ${i}` });\n"
	for name, source := range map[string]string{
		"tiny": "return 1", "20KB": "let i = 0;\n" + strings.Repeat("{ "+strings.TrimSpace(line)+" }\n", 300),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := transpile.Compile(source, transpile.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
