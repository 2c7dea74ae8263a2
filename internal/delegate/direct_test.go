package delegate_test

import (
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// somebody calls tools and is no session.
type somebody struct{ scope *registry.Scope }

func (somebody) AgentID() string          { return "somebody" }
func (s somebody) Scope() *registry.Scope { return s.scope }

func pipelineCall(args jsonvalue.Value, w *world) pipeline.Call {
	return pipeline.Call{ID: "c", Name: "subagent", Arguments: args, Agent: somebody{w.reg.Global()}}
}
