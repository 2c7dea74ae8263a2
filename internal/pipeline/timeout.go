package pipeline

import (
	"context"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// maxTimeout is the longest budget that is enforced (rule R8.1).
const maxTimeout = 2147483647 * time.Millisecond

type budgetSpent struct{}

func (*budgetSpent) Error() string { return "the tool's time budget is spent" }

// TimeoutWrapper is the wrapper that enforces the tools' own time budgets. A
// pipeline has one outermost unless [Options.NoTimeouts] says otherwise; tools
// without a budget pass through (rule R8.1).
func (p *Pipeline) TimeoutWrapper() ExecFunc {
	return func(ctx context.Context, exec *registry.Execution, next ExecNext) (*Result, error) {
		tool, _ := p.scopeOf(exec.Agent()).Resolve(exec.Name(), exec.Nested())
		if tool == nil || tool.Timeout() <= 0 {
			return next(ctx)
		}
		return withTimeout(ctx, tool.Timeout(), next)
	}
}

// withTimeout delegates under a deadline. Only if its own timer fired does it
// replace what came back; it never goes away before the body does (rule R8.1).
func withTimeout(ctx context.Context, budget time.Duration, next ExecNext) (*Result, error) {
	spent := &budgetSpent{} // its identity tells this timer from any other
	limited, cancel := context.WithTimeoutCause(ctx, min(budget, maxTimeout), spent)
	defer cancel()
	r, err := next(limited)
	if err == nil && context.Cause(limited) == error(spent) {
		ms := jsonvalue.FormatNumber(float64(budget) / float64(time.Millisecond))
		return failed(NewError("ToolTimeoutError", CodeToolTimeout, "tool call timed out after "+ms+"ms")), nil
	}
	return r, err
}
