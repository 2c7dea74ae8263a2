package codemode_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
)

// Whatever a program calls, however its calls overlap, and however and whenever
// the run ends: every call is settled exactly once for the program, every logged
// start has exactly one end, both in the order of the numbers, numbers have no
// holes before the last start, and nothing is logged after run_code returned.
func TestEveryStartedCallSettlesOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		type step struct {
			Name string
			MS   int
			Wait bool // for all calls so far
		}
		steps := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) step {
			return step{
				Name: rapid.SampledFrom([]string{"slow", "write", "echo", "fail", "denied", "badout", "nowhere", "picture"}).Draw(t, "tool"),
				MS:   rapid.IntRange(0, 3).Draw(t, "ms"), Wait: rapid.Bool().Draw(t, "wait"),
			}
		}), 0, 12).Draw(rt, "steps")
		parallel := rapid.IntRange(1, 4).Draw(rt, "parallel")
		end := rapid.SampledFrom([]string{"wait", "return", "throw", "cancel"}).Draw(rt, "end")
		cancelAt := rapid.IntRange(0, 6).Draw(rt, "cancel after ms")

		ctx, cancel := context.WithCancelCause(context.Background())
		defer cancel(nil)
		var c *calls
		w := newWorld(t, worldOptions{parallel: parallel, engine: script(func(ctx context.Context, h runner.Host) runner.Outcome {
			c = &calls{h: h}
			if end == "cancel" {
				time.AfterFunc(time.Duration(cancelAt)*time.Millisecond, func() { cancel(errors.New("enough")) })
			}
			for i, s := range steps {
				c.submit(s.Name, map[string]any{"id": fmt.Sprint(i), "ms": s.MS, "value": i, "message": "no"})
				if s.Wait {
					c.wg.Wait()
				}
			}
			switch end {
			case "wait":
				c.wg.Wait()
			case "throw":
				return runner.Outcome{Failure: &runner.Failure{Kind: runner.KindException, Message: "thrown"}}
			case "cancel":
				<-ctx.Done()
				return runner.Outcome{Failure: &runner.Failure{Kind: runner.KindAbort, Message: "enough"}}
			}
			return ok(1)
		})})
		w.run(ctx, "")
		log := w.log()
		c.wg.Wait() // every call was settled; submit panics at a second time
		if len(c.replies) != len(steps) {
			rt.Fatalf("%d replies to %d calls", len(c.replies), len(steps))
		}
		var starts, ends int
		for _, e := range log {
			id := e.Data.GetString("subCallId")
			switch e.Type {
			case "tool/code-dispatch-start":
				starts++
				if id != fmt.Sprintf("c1:code:%d", starts) {
					rt.Fatalf("start %d is of %s", starts, id)
				}
			case "tool/code-dispatch":
				ends++
				if ends > starts || id != fmt.Sprintf("c1:code:%d", ends) {
					rt.Fatalf("end %d is of %s, after %d starts", ends, id, starts)
				}
			}
		}
		if starts != ends {
			rt.Fatalf("%d starts, %d ends: %v", starts, ends, shape(log))
		}
		if end == "wait" && starts != len(steps) {
			rt.Fatalf("%d of %d calls were started", starts, len(steps))
		}
		time.Sleep(time.Millisecond)
		if later := w.log(); len(later) != len(log) {
			rt.Fatalf("logged after the run: %v", shape(later[len(log):]))
		}
	})
}

// Sessions do not disturb each other: each gets its own calls' values and events.
func TestFiftySessionsAtOnce(t *testing.T) {
	const sessions, rounds = 50, 2
	engine := sharedRunner(runner.InProcess)
	child := sharedRunner(runner.Child)
	var wg sync.WaitGroup
	for s := range sessions {
		use := engine
		if s%10 == 0 {
			use = child
		}
		w := newWorld(t, worldOptions{engine: use, parallel: 1 + s%4})
		wg.Go(func() {
			for round := range rounds {
				program := fmt.Sprintf(`
					const out = await Promise.all([1, 2, 3].map(n => tools.echo({value: n * %d})));
					await tools.write({id: "w", ms: %d});
					console.log("session %d");
					return out.reduce((a, b) => a + b)`, s, rand.IntN(3), s)
				ctx := t.Context()
				if s%7 == 3 {
					c, cancel := context.WithTimeout(ctx, time.Duration(rand.IntN(20))*time.Millisecond)
					defer cancel()
					ctx = c
				}
				id := fmt.Sprintf("call-%d", round)
				r := w.call(ctx, id, programArgs(program))
				if ctx.Err() != nil {
					continue
				}
				if want := fmt.Sprintf("session %d\n%d", s, 6*s); r.Text() != want {
					t.Errorf("session %d: %q, want %q", s, r.Text(), want)
				}
			}
			open := map[string]bool{}
			for _, e := range w.log() {
				id := e.Data.GetString("subCallId")
				switch e.Type {
				case "tool/code-dispatch-start":
					open[id] = true
				case "tool/code-dispatch":
					if !open[id] {
						t.Errorf("%s ended without a start", id)
					}
					delete(open, id)
				}
				if e.Type != "tool/start" && !strings.HasPrefix(id, "call-") {
					t.Errorf("event of another call: %s", e.Data)
				}
			}
			if len(open) > 0 {
				t.Errorf("session %d: calls were left open: %v", s, open)
			}
		})
	}
	wg.Wait()
}
