// Package repeat notices a model that makes the same call again and again, and
// tells it. It never stops a call.
package repeat

import (
	"context"
	"fmt"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// steps are the numbers of equal calls in a row at which the model is told.
var steps = map[int]bool{3: true, 5: true, 8: true}

// Guard counts the equal calls of each agent. It is safe for concurrent use.
type Guard struct {
	mu   sync.Mutex
	runs map[string]run
}

// run is how often an agent's last call was made in a row.
type run struct {
	name, args string
	length     int
}

// Install counts the calls that a scope sees. It counts failed and refused ones
// too, since those are what a stuck model repeats; a program's own calls are the
// program's business.
func (g *Guard) Install(scope *registry.Scope, pipe *pipeline.Pipeline) (dispose func(), err error) {
	return pipe.OnPostExecute(scope, func(ctx context.Context, exec *registry.Execution, _ *registry.Result, next pipeline.PostNext) (pipeline.PostDecision, error) {
		d, err := next(ctx)
		if err != nil || exec.Nested() {
			return d, err
		}
		if n := g.count(exec); steps[n] {
			d = d.WithContexts(advice(exec.Name(), n))
		}
		return d, nil
	})
}

// Reset begins to count afresh: somebody spoke to the agent, so that what it
// does next is an answer to that.
func (g *Guard) Reset(agent string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.runs, agent)
}

// count adds a call and returns how often it was made in a row.
func (g *Guard) count(exec *registry.Execution) int {
	agent := ""
	if a := exec.Agent(); a != nil {
		agent = a.AgentID()
	}
	r := run{name: exec.Name(), args: exec.Arguments().Canonical(), length: 1}
	g.mu.Lock()
	defer g.mu.Unlock()
	if last := g.runs[agent]; last.name == r.name && last.args == r.args {
		r.length += last.length
	}
	if g.runs == nil {
		g.runs = map[string]run{}
	}
	g.runs[agent] = r
	return r.length
}

func advice(name string, n int) registry.Context {
	return registry.Context{
		Content: []content.Block{content.Text(fmt.Sprintf("<system-reminder>\n"+
			"You have called the tool %q with the same arguments %d times in a row. If the result did not change, another such call will not change it either: use what you have, try something else, or tell the user what is in the way.\n"+
			"</system-reminder>", name, n))},
		Source: jsonvalue.Object(
			jsonvalue.Member{Key: "kind", Value: jsonvalue.String("plugin")},
			jsonvalue.Member{Key: "plugin", Value: jsonvalue.String("repeat-guard")},
		),
		Meta: jsonvalue.Object(
			jsonvalue.Member{Key: "kind", Value: jsonvalue.String("repeated-call")},
			jsonvalue.Member{Key: "tool", Value: jsonvalue.String(name)},
			jsonvalue.Member{Key: "count", Value: jsonvalue.Int(int64(n))},
		),
	}
}
