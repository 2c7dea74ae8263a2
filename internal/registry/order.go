package registry

import (
	"slices"
)

// UnlistedTools stands in a tool order for every tool that is not listed (rule R4.4).
const UnlistedTools = "<unlisted-tools>"

// checkToolOrder is the check of the configuration at load (rule R4.4).
func checkToolOrder(order []string) error {
	if order == nil {
		return nil
	}
	seen := make(map[string]bool, len(order))
	for _, name := range order {
		if seen[name] {
			return errorf(CodeInvalidPrompt, "toolOrder lists %s more than once", quote(name))
		}
		seen[name] = true
	}
	if !seen[UnlistedTools] {
		return errorf(CodeInvalidPrompt, "toolOrder must contain the %s rest entry (where unlisted tools are inserted)", quote(UnlistedTools))
	}
	return nil
}

// wireTools are the schemas of a prompt, before listeners: what the mode
// presents, in the configured order (rules R4.2 to R4.4).
func (v *view) wireTools(order []string) ([]ToolSchema, error) {
	v.wireOnce.Do(func() { v.wire, v.wireErr = v.computeWire(order) })
	return v.wire, v.wireErr
}

func (v *view) computeWire(order []string) ([]ToolSchema, error) {
	if v.mode != ModeNative && v.transport == nil {
		return nil, noRuntime(v.mode)
	}
	var tools []ToolSchema
	var known []string
	if v.mode != ModeCode {
		tools = slices.Clone(v.schemas[:len(v.tools)])
		known = slices.Clone(v.known)
	}
	if v.transport != nil {
		tools = append(tools, v.transport.Schema())
		known = append(known, RunCode)
	}
	for _, t := range tools {
		if t.Name == UnlistedTools {
			return nil, errorf(CodeInvalidPrompt, "tool provider returned reserved tool name %s (reserved for toolOrder's rest entry)", quote(UnlistedTools))
		}
	}
	slices.SortFunc(tools, func(a, b ToolSchema) int { return compareUTF16(a.Name, b.Name) })
	if order == nil {
		return tools, nil
	}
	return orderTools(tools, known, order)
}

func orderTools(sorted []ToolSchema, known, order []string) ([]ToolSchema, error) {
	isKnown := set(known)
	var unknown []string
	for _, name := range order {
		if _, ok := isKnown[name]; !ok && name != UnlistedTools {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) > 0 {
		slices.SortFunc(known, compareUTF16)
		return nil, errorf(CodeInvalidPrompt, "toolOrder lists unregistered tool%s %s; known tools: %s",
			plural(len(unknown)), quoteAll(unknown), listOrNone(known))
	}
	byName := make(map[string]ToolSchema, len(sorted))
	for _, t := range sorted {
		byName[t.Name] = t
	}
	listed := set(order)
	out := make([]ToolSchema, 0, len(sorted))
	for _, name := range order {
		if name != UnlistedTools {
			if t, ok := byName[name]; ok { // a known tool may be restricted away
				out = append(out, t)
			}
			continue
		}
		for _, t := range sorted {
			if _, ok := listed[t.Name]; !ok {
				out = append(out, t)
			}
		}
	}
	return out, nil
}
