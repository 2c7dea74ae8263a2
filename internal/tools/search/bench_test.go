package search

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/proc"
)

// The tree of the benchmarks: a small one, so that all benchmarks stay short.
// The goals are about DSH_BENCH_SEARCH_FILES=20000 DSH_BENCH_SEARCH_MB=500.
func benchSize() (files, bytes int) {
	number := func(name string, fallback int) int {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil && n > 0 {
			return n
		}
		return fallback
	}
	return number("DSH_BENCH_SEARCH_FILES", 1000), number("DSH_BENCH_SEARCH_MB", 20) << 20
}

// benchTree makes the tree; one file in fifty has the rare word.
func benchTree(b *testing.B) string {
	b.Helper()
	files, size := benchSize()
	dir := b.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	words := []string{"func", "return", "error", "value", "if", "x", "context", "string", "über", "config", "handler", "==", "{", "}", "0x1f"}
	for i := range files {
		sub := filepath.Join(dir, fmt.Sprintf("p%02d/q%d", i%40, i/40%25))
		if err := os.MkdirAll(sub, 0o755); err != nil {
			b.Fatal(err)
		}
		text := make([]byte, 0, size/files+100)
		for len(text) < size/files {
			for range 8 + random.IntN(6) {
				text = append(append(text, words[random.IntN(len(words))]...), ' ')
			}
			text = append(text, '\n')
		}
		if i%50 == 0 {
			text = append(text, "a rareNeedle here\n"...)
		}
		if err := os.WriteFile(filepath.Join(sub, fmt.Sprintf("f%d.%s", i, []string{"go", "txt", "md"}[i%3])), text, 0o644); err != nil {
			b.Fatal(err)
		}
	}
	return dir
}

// peak watches how far the heap grows over what there was.
func peak(b *testing.B, run func()) {
	runtime.GC()
	var before runtime.MemStats
	runtime.ReadMemStats(&before)
	stop, most := make(chan struct{}), make(chan uint64)
	go func() {
		top := uint64(0)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			top = max(top, m.HeapInuse+m.StackInuse-min(before.HeapInuse+before.StackInuse, m.HeapInuse+m.StackInuse))
			select {
			case <-stop:
				most <- top
				return
			case <-time.After(5 * time.Millisecond):
			}
		}
	}()
	run()
	close(stop)
	b.ReportMetric(float64(<-most)/(1<<20), "peak-MiB")
}

// BenchmarkSearch runs each search with ripgrep alone, then ours without it,
// then ours with it, over the same files.
func BenchmarkSearch(b *testing.B) {
	dir := benchTree(b)
	procs := supervisor(b)
	rg := os.Getenv("DSH_TEST_RG")
	if rg == "" {
		rg = lookPath("rg")
	}
	alone := func(b *testing.B, a ...string) {
		if rg == "" {
			b.Skip("ripgrep is not installed")
		}
		for b.Loop() {
			out, err := procs.Run(context.Background(), proc.Command{Spec: proc.Spec{Args: append([]string{rg, "--no-config"}, a...), Dir: dir}}, proc.RunOptions{Limit: 1 << 20})
			if err != nil || out.Code > 1 {
				b.Fatal(err, out.Stderr.Text)
			}
		}
	}
	ours := func(b *testing.B, o Options, tool string, a args) {
		f := setupIn(b, dir, o)
		f.ok(tool, a)
		b.ResetTimer()
		peak(b, func() {
			for b.Loop() {
				f.ok(tool, a)
			}
		})
	}
	for _, test := range []struct{ name, pattern string }{
		{"rare", "rareNeedle"}, {"class", `rare[A-Z]\w+ here`}, {"classes", `[a-z]+[0-9]{3}[a-z]`}, {"fold", `(?i)RARENEEDLE`}, {"words", `\b(config|handler) 0x1f$`},
	} {
		b.Run("grep/"+test.name+"/rg", func(b *testing.B) { alone(b, "--line-number", "-e", test.pattern, "./") })
		b.Run("grep/"+test.name+"/own", func(b *testing.B) { ours(b, Options{NoRipgrep: true}, "grep", args{"pattern": test.pattern}) })
		b.Run("grep/"+test.name+"/own+rg", func(b *testing.B) {
			if rg == "" {
				b.Skip("ripgrep is not installed")
			}
			ours(b, Options{Supervisor: procs, Ripgrep: rg}, "grep", args{"pattern": test.pattern})
		})
	}
	b.Run("glob/rg", func(b *testing.B) { alone(b, "--files", "--sortr=modified", "--glob", "**/*.go") })
	b.Run("glob/own", func(b *testing.B) { ours(b, Options{}, "glob", args{"pattern": "**/*.go"}) })
}
