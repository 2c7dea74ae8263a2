package codemode

import (
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/codemode/runner"
	"github.com/dsh-acp/dsh-acp/internal/codemode/sdk"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// The bindings of a program whose prompt holds only an index of the tools. They
// look at the catalogue and have no effect, so they are no calls: no policy, no
// event, no id.
const (
	searchName   = "$search"
	describeName = "$describe"
)

// lookup answers a search or describe request. A tool that bears the name wins.
func (b *bridge) lookup(name string, arg jsonvalue.Value) (reply runner.Reply, ours bool) {
	if b.sdk == nil || !b.sdk.Indexed() || name != searchName && name != describeName {
		return runner.Reply{}, false
	}
	if _, tool := b.scope.Get(name); tool {
		return runner.Reply{}, false
	}
	text, ok := arg.Str()
	if !ok {
		// Models wrap single arguments in objects.
		for _, key := range []string{"query", "name", "tool"} {
			if text, ok = arg.Get(key).Str(); ok {
				break
			}
		}
	}
	if !ok {
		return runner.Reply{Failed: true, Message: "tools." + name + ` takes one text, as in tools.` + name + `("a few words")`}, true
	}
	if name == searchName {
		var found []jsonvalue.Value
		for _, m := range b.sdk.Catalogue().Search(text, 0) {
			found = append(found, m.Value())
		}
		return runner.Reply{Value: jsonvalue.Array(found...).JSON()}, true
	}
	declaration, err := b.sdk.Catalogue().Describe(text)
	if err != nil {
		return runner.Reply{Failed: true, Message: err.Error()}, true
	}
	return runner.Reply{Value: jsonvalue.String(declaration).JSON()}, true
}

// bindings are the names that a program can call, in the order of the registry
// (rule C4.1), and the SDK of the tools among them.
func (t *Transport) bindings(s *registry.Scope) ([]string, *sdk.SDK) {
	visible := s.Visible()
	tools := make([]*registry.Tool, 0, len(visible))
	names := make([]string, 0, len(visible)+2)
	for _, tool := range visible {
		if !tool.IsTransport() {
			tools = append(tools, tool)
			names = append(names, tool.Name())
		}
	}
	known := t.views.get(tools, t.sdkOptions())
	if known.Indexed() {
		for _, name := range []string{searchName, describeName} {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names, known
}
