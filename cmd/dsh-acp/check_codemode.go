package main

import (
	"context"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
	"github.com/dsh-acp/dsh-acp/internal/codemode/worker"
)

// noTools is the host of a program that has none.
type noTools struct{}

func (noTools) Submit(_ context.Context, _ runner.Call, settle func(runner.Reply)) {
	settle(runner.Reply{Failed: true, Message: "there are no tools here"})
}
func (noTools) Log(string) {}

// checkCodeMode runs a program in a worker, and says how workers are confined.
func (a *app) checkCodeMode(r *report) {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	out := a.codeMode.runner.Run(ctx, runner.Program{Source: "return 6 * 7", Limits: codeSettings(a.cfg).Limits}, noTools{})
	if !out.OK || out.Value.String() != "42" {
		why := "a program gave " + out.Value.String()
		if out.Failure != nil {
			why = out.Failure.Message
		}
		r.bad("Code Mode", "programs do not run: %s", why)
		return
	}
	r.ok("Code Mode", "mode %s; programs run in a process of their own", a.cfg.Tools.Mode)
	if active := worker.Confinement(); len(active) > 0 {
		r.ok("programs", "confined by %s", strings.Join(active, ", "))
	} else {
		r.note("programs", "nothing on this system confines them beyond their limits")
	}
}
