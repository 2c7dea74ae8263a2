package registry

import (
	"context"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// RunCode is the name of the Code Mode transport: the one tool that runs
// programs. It is reserved in every mode (rule R2.5, decision 3).
const RunCode = "run_code"

// Transport is what Code Mode plugs into the registry: the tool that runs
// programs, and the text that tells the model what they can call (rules R4.2, R4.3).
type Transport interface {
	// Language is what programs are written in: "typescript" or "python".
	Language() string
	// Definition is the tool run_code. Its name is checked.
	Definition() Definition
	// SDK is the text of the tools:sdk section for the tools that a scope can
	// see, sorted by name. It must depend on nothing else, for it is cached
	// while the tools stay the same (rule R4.8).
	SDK(tools []*Tool) (string, error)
}

// languages have an SDK renderer in the reference; the order is that of its text.
var languages = []string{"typescript", "python"}

type transportEntry struct {
	tool    *Tool
	runtime Transport
}

// transport is the one in effect, the last that was set; zero when there is
// none. The caller holds r.mu.
func (r *Registry) transport() transportEntry {
	if len(r.transports) == 0 {
		return transportEntry{}
	}
	return *r.transports[len(r.transports)-1]
}

// SetTransport plugs in Code Mode for all scopes. A second transport replaces
// the first until it is disposed of (rule R4.3).
func (r *Registry) SetTransport(t Transport) (dispose func(), err error) {
	if l := t.Language(); !slices.Contains(languages, l) {
		return nil, errorf(CodeNoRuntime, "dsh-tools: no SDK renderer registered for runtime language %s (known: %s)", quote(l), quoteAll(languages))
	}
	def := t.Definition()
	if def.Name != RunCode {
		return nil, errorf(CodeInvalidTool, "the Code Mode transport must be named %q, not %q", RunCode, def.Name)
	}
	tool, err := newTool(def, r)
	if err != nil {
		return nil, err
	}
	e := &transportEntry{tool, t}
	r.mu.Lock()
	r.transports = append(r.transports, e)
	r.version++
	r.mu.Unlock()
	take := func() {
		r.mu.Lock()
		r.transports = without(r.transports, e)
		r.version++
		r.mu.Unlock()
	}
	if err := r.announce(Change{Kind: TransportSet, Scope: r.Global(), Name: RunCode}); err != nil {
		take()
		return nil, err
	}
	return r.Global().keep(func() {
		take()
		r.announceContained(Change{Kind: TransportLifted, Scope: r.Global(), Name: RunCode})
	})
}

// noRuntime is the error of a mode that has nothing to run programs with (rule R4.3).
func noRuntime(m Mode) error {
	return errorf(CodeNoRuntime, "dsh-tools: mode %q requires a code runtime — load a ctx.codeRuntime implementation (e.g. @deepseek-ai/dsh-code-runtime-worker-thread) or set tools mode to \"native\"", string(m))
}

// missingTransport is run_code while no runtime is there: calling it says what
// to do (rule R4.3).
func missingTransport(m Mode) *Tool {
	err := noRuntime(m)
	return &Tool{
		def: Definition{
			Name:        RunCode,
			Description: strings.TrimSpace(err.Error()),
			Output: Output{
				Render: func(_, _ jsonvalue.Value) ([]content.Block, error) { return nil, err },
			},
			Execute: func(context.Context, jsonvalue.Value, Run) (jsonvalue.Value, error) {
				return jsonvalue.Value{}, err
			},
		},
		parameters: jsonvalue.Object(jsonvalue.Member{Key: "type", Value: jsonvalue.String("object")}),
		missing:    true,
	}
}
