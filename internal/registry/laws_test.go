package registry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// model is the registry as the rules describe it, written the slow way: every
// question is answered from the list of what is in force.
type model struct {
	parents map[string]string
	closed  map[string]bool
	tools   []modelTool
	filters []modelFilter
}

type modelTool struct{ scope, name string }

type modelFilter struct {
	scope string
	f     registry.Restriction
}

func (m *model) has(scope, name string) bool {
	return slices.Contains(m.tools, modelTool{scope, name})
}

// visible is rule R1.5 and R3.4, literally.
func (m *model) visible(scope string) (names, origins []string) {
	if scope == "" || m.closed[scope] {
		return nil, nil
	}
	inNames, inOrigins := m.visible(m.parents[scope])
	for i, n := range inNames {
		if m.admits(scope, n) {
			names, origins = append(names, n), append(origins, inOrigins[i])
		}
	}
	for _, t := range m.tools {
		if t.scope != scope {
			continue
		}
		if i := slices.Index(names, t.name); i >= 0 {
			origins[i] = scope
		} else {
			names, origins = append(names, t.name), append(origins, scope)
		}
	}
	return names, origins
}

func (m *model) admits(scope, name string) bool {
	for _, f := range m.filters {
		if f.scope != scope {
			continue
		}
		if slices.Contains(f.f.Deny, name) || f.f.Allow != nil && !slices.Contains(f.f.Allow, name) {
			return false
		}
	}
	return true
}

func (m *model) inherited(scope, name string) bool {
	for s := m.parents[scope]; s != ""; s = m.parents[s] {
		if m.has(s, name) {
			return true
		}
	}
	return false
}

var (
	lawScopes = []string{"global", "a", "b", "child"}
	lawNames  = []string{"w", "x", "y", "z"}
)

// No sequence of registrations, restrictions and disposals makes a restricted
// tool reachable: what can be listed, found and called is always exactly what
// the rules say.
func TestLawVisibility(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		reg, err := registry.New(registry.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		pipe, err := pipeline.New(reg, pipeline.Options{})
		if err != nil {
			rt.Fatal(err)
		}
		a := reg.Global().Child("a")
		scopes := map[string]*registry.Scope{"global": reg.Global(), "a": a, "b": reg.Global().Child("b"), "child": a.Child("child")}
		m := &model{parents: map[string]string{"a": "global", "b": "global", "child": "a"}, closed: map[string]bool{}}
		type undo struct {
			f    func()
			drop func()
		}
		var undos []undo
		failing := false // a change listener that refuses everything
		reg.OnChange(func(registry.Change) error {
			if failing {
				return errors.New("refused")
			}
			return nil
		})

		subset := func(label string) []string {
			switch rapid.IntRange(0, 2).Draw(rt, label+" kind") {
			case 0:
				return nil
			case 1:
				return []string{}
			}
			return rapid.SliceOfNDistinct(rapid.SampledFrom(lawNames), 1, 3, rapid.ID).Draw(rt, label)
		}
		rt.Repeat(map[string]func(*rapid.T){
			"register": func(rt *rapid.T) {
				s, n := rapid.SampledFrom(lawScopes).Draw(rt, "scope"), rapid.SampledFrom(lawNames).Draw(rt, "name")
				failing = rapid.IntRange(0, 5).Draw(rt, "refuse") == 0
				d, err := scopes[s].Register(textTool(n, n+"@"+s))
				wantErr := m.closed[s] || m.has(s, n) || failing
				failing = false
				if (err != nil) != wantErr {
					rt.Fatalf("register %s in %s: %v", n, s, err)
				}
				if err == nil {
					e := modelTool{s, n}
					m.tools = append(m.tools, e)
					undos = append(undos, undo{d, func() { m.tools = slices.DeleteFunc(m.tools, func(x modelTool) bool { return x == e }) }})
				}
			},
			"restrict": func(rt *rapid.T) {
				s := rapid.SampledFrom(lawScopes).Draw(rt, "scope")
				f := registry.Restriction{Allow: subset("allow"), Deny: subset("deny")}
				failing = rapid.IntRange(0, 5).Draw(rt, "refuse") == 0
				d, err := scopes[s].Restrict(f)
				wantErr := s == "global" || f.Allow == nil && f.Deny == nil || m.closed[s] || failing
				failing = false
				for _, n := range slices.Concat(f.Allow, f.Deny) {
					wantErr = wantErr || !m.inherited(s, n)
				}
				if (err != nil) != wantErr {
					rt.Fatalf("restrict %s with %v: %v", s, f, err)
				}
				if err == nil {
					e := modelFilter{s, registry.Restriction{Allow: slices.Clone(f.Allow), Deny: slices.Clone(f.Deny)}}
					m.filters = append(m.filters, e)
					undos = append(undos, undo{d, func() {
						m.filters = slices.DeleteFunc(m.filters, func(x modelFilter) bool {
							return x.scope == e.scope && slices.Equal(x.f.Allow, e.f.Allow) && slices.Equal(x.f.Deny, e.f.Deny)
						})
					}})
					// Filters are snapshots: changing what was passed in changes nothing.
					for i := range f.Allow {
						f.Allow[i] = "changed"
					}
					for i := range f.Deny {
						f.Deny[i] = "changed"
					}
					for _, x := range m.filters[:len(m.filters)-1] {
						if x.scope == e.scope && slices.Equal(x.f.Allow, e.f.Allow) && slices.Equal(x.f.Deny, e.f.Deny) {
							// The same filter twice: keep the model simple and lift one.
							d()
							m.filters = m.filters[:len(m.filters)-1]
							undos = undos[:len(undos)-1]
							break
						}
					}
				}
			},
			"dispose": func(rt *rapid.T) {
				if len(undos) == 0 {
					rt.Skip("nothing to dispose of")
				}
				i := rapid.IntRange(0, len(undos)-1).Draw(rt, "which")
				undos[i].f()
				undos[i].f()
				undos[i].drop()
				undos = slices.Delete(undos, i, i+1)
			},
			"close": func(rt *rapid.T) {
				if rapid.IntRange(0, 4).Draw(rt, "rarely") > 0 {
					rt.Skip("not now")
				}
				s := rapid.SampledFrom(lawScopes[1:]).Draw(rt, "scope")
				scopes[s].Close()
				for _, c := range lawScopes {
					if c == s || s == "a" && c == "child" {
						m.closed[c] = true
						m.tools = slices.DeleteFunc(m.tools, func(x modelTool) bool { return x.scope == c })
						m.filters = slices.DeleteFunc(m.filters, func(x modelFilter) bool { return x.scope == c })
					}
				}
			},
			"": func(rt *rapid.T) {
				for _, s := range lawScopes {
					checkScope(rt, m, s, scopes[s], pipe)
				}
			},
		})
	})
}

func checkScope(rt *rapid.T, m *model, name string, s *registry.Scope, pipe *pipeline.Pipeline) {
	names, origins := m.visible(name)
	var got []string
	for _, sc := range s.Schemas() {
		got = append(got, sc.Name)
	}
	if !slices.Equal(got, names) {
		rt.Fatalf("schemas of %s: %v, want %v", name, got, names)
	}
	for i, t := range s.Visible() {
		if t.Name() != names[i] || t.Origin() != origins[i] {
			rt.Fatalf("visible to %s: %s of %s in place %d, want %s of %s", name, t.Name(), t.Origin(), i, names[i], origins[i])
		}
	}
	for _, n := range lawNames {
		call := pipeline.Call{ID: "1", Name: n}
		if !s.IsGlobal() {
			call.Agent = agent{s}
		}
		want := fmt.Sprintf("Error: unknown tool %q", n)
		at := slices.Index(names, n)
		if at >= 0 {
			want = n + "@" + origins[at]
		}
		if _, ok := s.Get(n); ok != (at >= 0) {
			rt.Fatalf("%s gets %s: %v", name, n, ok)
		}
		if got := pipe.Execute(context.Background(), call).Text(); got != want {
			rt.Fatalf("%s calls %s: %q, want %q", name, n, got, want)
		}
	}
}
