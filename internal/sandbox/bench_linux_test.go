package sandbox_test

import (
	"slices"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/sandbox"
)

// What confinement adds to bash -c true. The goal is 5 ms together with all else
// that the bash tool does.
func BenchmarkBashTrue(b *testing.B) {
	for _, m := range []sandbox.Mechanism{sandbox.None, sandbox.Landlock, sandbox.Bubblewrap} {
		b.Run(string(m), func(b *testing.B) {
			box := sandbox.New(m)
			if m != sandbox.None && box.Status().Mechanism == sandbox.None {
				b.Skipf("this machine has no %s", m)
			}
			w := newWorld(b, box)
			w.write("work/.git/HEAD", "ref: refs/heads/main\n")
			w.write("work/.git/config", "[core]\n")
			for _, mode := range []sandbox.Mode{sandbox.WorkspaceWrite, sandbox.ReadOnly} {
				b.Run(string(mode), func(b *testing.B) {
					w.policy.Mode = mode
					for b.Loop() {
						w.bash("true")
					}
				})
				// With a model's pause between them, in which the next launcher gets
				// ready: what one call waits for.
				b.Run(string(mode)+"/apart", func(b *testing.B) {
					w.policy.Mode = mode
					var took []time.Duration
					for b.Loop() {
						time.Sleep(20 * time.Millisecond)
						start := time.Now()
						w.bash("true")
						took = append(took, time.Since(start))
					}
					slices.Sort(took)
					b.ReportMetric(float64(took[len(took)/2].Microseconds())/1e3, "ms/median")
					b.ReportMetric(0, "ns/op") // most of that is the pause
				})
			}
		})
	}
}
