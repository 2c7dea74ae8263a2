package codemode

import (
	"fmt"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// LogFunc reshapes the content that the log keeps of a program's call. What it
// returns is not seen by the program, nor by the model; nil keeps the content.
type LogFunc func(exec *registry.Execution, blocks []content.Block) []content.Block

// OnDispatchLog adds a listener for the calls of programs that s sees (rule
// C4.8). It is called after the program has been told, one call at a time; a
// panic is contained and keeps the content.
func (t *Transport) OnDispatchLog(s *registry.Scope, f LogFunc) (dispose func(), err error) {
	return t.logs.Add(s, f)
}

// logged is the content of a call as the log keeps it.
func (b *bridge) logged(exec *registry.Execution, blocks []content.Block) []content.Block {
	for _, f := range b.t.logs.For(b.scope) {
		if out := b.reshape(f, exec, blocks); out != nil {
			blocks = out
		}
	}
	return blocks
}

func (b *bridge) reshape(f LogFunc, exec *registry.Execution, blocks []content.Block) (out []content.Block) {
	defer func() {
		if p := recover(); p != nil {
			out = nil
			b.t.opt.Logger.Warn("a listener of the dispatch log panicked; the content is kept", "tool", exec.Name(), "panic", fmt.Sprint(p))
		}
	}()
	return f(exec, blocks)
}
