package registry

import (
	"slices"
	"strings"
)

// Restriction masks what a scope inherits. Allow keeps only the listed tools,
// Deny removes the listed ones; nil means not given, and an empty Allow hides
// everything inherited (rule R3.3).
type Restriction struct {
	Allow []string
	Deny  []string
}

// restriction is the snapshot of a [Restriction].
type restriction struct {
	hasAllow    bool
	allow, deny map[string]struct{}
}

func (f *restriction) admits(name string) bool {
	if _, no := f.deny[name]; no {
		return false
	}
	if !f.hasAllow {
		return true
	}
	_, yes := f.allow[name]
	return yes
}

// Restrict masks tools that s inherits; what is registered in s itself is not
// affected, what is inherited by scopes below is. Restrictions intersect, and
// each is lifted on its own. It fails when s is global, when f is empty, and on
// names that are not inherited (rules R3.2 to R3.5, decision 12).
func (s *Scope) Restrict(f Restriction) (lift func(), err error) {
	if s.core.parent == nil {
		return nil, errorf(CodeInvalidRestriction, "tools.restrict() requires a scoped context (agent.ctx): a context-global restriction would mask every agent — deny the tool for the intended agent instead")
	}
	if f.Allow == nil && f.Deny == nil {
		return nil, errorf(CodeInvalidRestriction, "tools.restrict({}) is a no-op: pass `allow` and/or `deny` (an empty filter is almost always a materialized-empty-config bug)")
	}
	c := &restriction{hasAllow: f.Allow != nil, allow: set(f.Allow), deny: set(f.Deny)}
	return s.attach(registration{
		insert: func(l *layer) error {
			if err := s.core.checkRestriction(f); err != nil {
				return err
			}
			l.restrictions = append(l.restrictions, c)
			return nil
		},
		remove: func(l *layer) { l.restrictions = without(l.restrictions, c) },
		change: &Change{Kind: RestrictionAdded, Scope: s},
		lifted: RestrictionLifted,
	})
}

func set(names []string) map[string]struct{} {
	m := make(map[string]struct{}, len(names))
	for _, n := range names {
		m[n] = struct{}{}
	}
	return m
}

// checkRestriction wants every name to be inherited, restricted away or not.
// The caller holds reg.mu.
func (c *core) checkRestriction(f Restriction) error {
	var unknown []string
	for _, name := range slices.Concat(f.Allow, f.Deny) {
		if name == RunCode {
			return errorf(CodeInvalidRestriction, "tools.restrict() cannot name reserved Code Mode presentation transport %q; restrict end-capability tools instead", RunCode)
		}
		if !c.parent.registered(name) && !slices.Contains(unknown, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	known := c.parent.knownNames()
	slices.SortFunc(known, compareUTF16)
	return errorf(CodeInvalidRestriction, "tools.restrict() names unknown global tool%s %s; known global tools: %s",
		plural(len(unknown)), quoteAll(unknown), listOrNone(known))
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// quote puts a name between quotation marks as it is: names are shown, not
// escaped (rule R2.6).
func quote(name string) string { return `"` + name + `"` }

func quoteAll(names []string) string {
	qs := make([]string, len(names))
	for i, n := range names {
		qs[i] = quote(n)
	}
	return strings.Join(qs, ", ")
}

func listOrNone(names []string) string {
	if len(names) == 0 {
		return "(none)"
	}
	return strings.Join(names, ", ")
}
