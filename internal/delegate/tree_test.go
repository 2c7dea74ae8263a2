package delegate

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// plan is a subagent that thinks, has some of its own do their part at once, and
// thinks again.
type plan struct {
	before, after time.Duration
	children      []plan
}

func drawPlan(t *rapid.T, depth int) plan {
	p := plan{
		before: time.Duration(rapid.IntRange(0, 5).Draw(t, "before")) * time.Second,
		after:  time.Duration(rapid.IntRange(0, 5).Draw(t, "after")) * time.Second,
	}
	if depth > 0 {
		for range rapid.IntRange(0, 3).Draw(t, "children") {
			p.children = append(p.children, drawPlan(t, depth-1))
		}
	}
	return p
}

// Whatever they do and whenever it is cancelled, all of them end, no more begin
// at a time than may, and every place is given back.
func TestTreesAlwaysEnd(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.IntRange(1, 3).Draw(rt, "most")
		root := drawPlan(rt, 3)
		limit := time.Duration(rapid.IntRange(1, 60).Draw(rt, "limit")) * time.Second
		synctest.Test(t, func(t *testing.T) {
			tree := newTree(Limits{MaxRunning: most})
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			var spawn func(p plan, who, parent string, nested bool)
			family := func(p plan, who string, nested bool) {
				var wg sync.WaitGroup
				for i, c := range p.children {
					wg.Go(func() { spawn(c, fmt.Sprint(who, ".", i), who, nested) })
				}
				wg.Wait()
			}
			think := func(d time.Duration) {
				select {
				case <-time.After(d):
				case <-ctx.Done():
				}
			}
			spawn = func(p plan, who, parent string, nested bool) {
				leave, err := tree.enter(ctx, parent, nested)
				if err != nil {
					if ctx.Err() == nil {
						t.Errorf("%s: %v", who, err)
					}
					return
				}
				think(p.before)
				family(p, who, true)
				think(p.after)
				leave()
			}
			family(root, "root", false)
			tree.mu.Lock()
			defer tree.mu.Unlock()
			if tree.running != 0 || len(tree.waiting) != 0 {
				t.Errorf("%d still run, %v wait", tree.running, tree.waiting)
			}
		})
	})
}

// A place that is free is taken at once, one that is not is waited for.
func TestPlaces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tree := newTree(Limits{MaxRunning: 1})
		leave, err := tree.enter(t.Context(), "root", false)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := tree.enter(ctx, "root", false); err != context.DeadlineExceeded {
			t.Errorf("a second one begins: %v", err)
		}
		inner, err := tree.enter(t.Context(), "child", true) // the child lends its place
		if err != nil {
			t.Fatal(err)
		}
		inner()
		begun := make(chan func())
		go func() {
			leave, err := tree.enter(t.Context(), "root", false)
			if err != nil {
				t.Error(err)
			}
			begun <- leave
		}()
		synctest.Wait()
		select {
		case <-begun:
			t.Error("the child's place was given away after it had taken it back")
		default:
		}
		leave()
		(<-begun)()
		if tree.running != 0 {
			t.Error(tree.running)
		}
	})
}

// The clock stands still while anybody is asked, however often.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, clock, cancel := withBudget(t.Context(), time.Minute)
		defer cancel(nil)
		time.Sleep(50 * time.Second)
		one, two := clock.pause(), clock.pause()
		time.Sleep(time.Hour)
		one()
		one() // twice is once
		time.Sleep(time.Hour)
		two()
		time.Sleep(9 * time.Second)
		if ctx.Err() != nil {
			t.Error("the time of questions was counted")
		}
		time.Sleep(2 * time.Second)
		if context.Cause(ctx) != errTimeout {
			t.Error(context.Cause(ctx))
		}
		clock.pause()() // too late for anything
	})
	synctest.Test(t, func(t *testing.T) {
		ctx, clock, cancel := withBudget(t.Context(), 0)
		clock.pause()()
		time.Sleep(24 * time.Hour)
		if ctx.Err() != nil {
			t.Error("no bound is a bound")
		}
		cancel(nil)
	})
}
