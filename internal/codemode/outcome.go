package codemode

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/codemode/render"
	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
)

// The error of a failed run (C6.3).
const (
	CodeRunFailed    = "CODE_RUN_FAILED"
	codeRunErrorName = "CodeRunFailedError"
)

// result is the canonical value of a run, {logs, result?}, or its failure. lost
// are the calls that its end cut short and that were to change something.
func result(out runner.Outcome, lost []runner.Unawaited) (jsonvalue.Value, error) {
	if f := out.Failure; f != nil {
		return jsonvalue.Value{}, pipeline.NewError(codeRunErrorName, CodeRunFailed, render.Failure(string(f.Kind), f.Message, out.Logs))
	}
	logs, open := out.Logs, lost
	if out.Value.IsUndefined() && len(out.Unawaited) > 0 {
		open = out.Unawaited
	}
	if len(open) > 0 {
		logs = append(slices.Clip(logs), unawaitedNote(open))
	}
	return render.Outcome(logs, out.Value), nil
}

// unawaitedNote explains a program that ended while calls of it were under way:
// most often somebody forgot to await a call, or their own function. One that
// returned a value is told only of calls that were to change something: the
// others may have lost a race, and code-066 keeps them out of the log.
func unawaitedNote(open []runner.Unawaited) string {
	const shown = 3
	var names []string
	for _, u := range open[:min(len(open), shown)] {
		name := "tools[" + jsonvalue.String(u.Name).String() + "]"
		if u.Line > 0 {
			name += fmt.Sprintf(" in line %d", u.Line)
		}
		names = append(names, name)
	}
	if n := len(open) - shown; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return "[the program ended while calls were under way that nothing awaited, and they were aborted: " +
		strings.Join(names, ", ") + "; await every call, and every function of your own that makes calls]"
}

// WithReport returns a context in which a run of run_code leaves its outcome in
// the given place, for callers that need more than the text of its result.
func WithReport(ctx context.Context, into *runner.Outcome) context.Context {
	return context.WithValue(ctx, reportKey{}, into)
}

type reportKey struct{}

func report(ctx context.Context, out runner.Outcome) {
	if into, ok := ctx.Value(reportKey{}).(*runner.Outcome); ok {
		*into = out
	}
}
