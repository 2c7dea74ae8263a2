package conformance

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed schema/v1.json
var schemaText []byte

// node is the part of JSON Schema that the published schema uses.
type node struct {
	Ref           string           `json:"$ref"`
	Type          oneOrMany        `json:"type"`
	Properties    map[string]*node `json:"properties"`
	Required      []string         `json:"required"`
	Additional    json.RawMessage  `json:"additionalProperties"`
	Unevaluated   json.RawMessage  `json:"unevaluatedProperties"`
	Items         *node            `json:"items"`
	AllOf         []*node          `json:"allOf"`
	AnyOf         []*node          `json:"anyOf"`
	OneOf         []*node          `json:"oneOf"`
	Not           *node            `json:"not"`
	Const         any              `json:"const"`
	Enum          []any            `json:"enum"`
	Minimum       *float64         `json:"minimum"`
	Maximum       *float64         `json:"maximum"`
	MinLength     *int             `json:"minLength"`
	Discriminator *struct {
		PropertyName string `json:"propertyName"`
	} `json:"discriminator"`
	Method string `json:"x-method"`
	Side   string `json:"x-side"`
}

type oneOrMany []string

// UnmarshalJSON takes a word or a list of words.
func (o *oneOrMany) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*o = oneOrMany{one}
		return nil
	}
	return json.Unmarshal(b, (*[]string)(o))
}

// schemas are the definitions, and those of each method.
type schemas struct {
	defs            map[string]*node
	params, results map[string]*node
}

// unstable are the members that the unstable schema of the same release adds to
// definitions of the stable one. They are defined by the protocol, so an agent
// may use them; what they hold is not looked at.
var unstable = map[string][]string{
	"AgentCapabilities":     {"providers"},
	"McpCapabilities":       {"acp"},
	"SessionCapabilities":   {"archive", "fork", "status", "systemPrompt", "title"},
	"AgentAuthCapabilities": {"status"},
	"SessionInfo":           {"archived"},
	"PromptResponse":        {"usage"},
}

var published = sync.OnceValues(func() (*schemas, error) {
	var doc struct {
		Defs map[string]*node `json:"$defs"`
	}
	if err := json.Unmarshal(schemaText, &doc); err != nil {
		return nil, err
	}
	s := &schemas{doc.Defs, map[string]*node{}, map[string]*node{}}
	for name, members := range unstable {
		for _, m := range members {
			doc.Defs[name].Properties[m] = &node{}
		}
	}
	for name, def := range doc.Defs {
		switch {
		case def.Method == "":
		case strings.HasSuffix(name, "Response"):
			s.results[def.Method] = def
		default:
			s.params[def.Method] = def
		}
	}
	return s, nil
})

// validate gives what is wrong with a value, and which of its members the
// protocol does not define; both name the place.
func (s *schemas) validate(n *node, raw json.RawMessage) (wrong, unknown []string) {
	if len(raw) == 0 {
		raw = []byte("{}")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return []string{err.Error()}, nil
	}
	if why := s.check(n, v, ""); why != "" {
		wrong = append(wrong, why)
	}
	return wrong, s.strangers([]*node{n}, v, "")
}

func (s *schemas) deref(n *node) *node {
	for n.Ref != "" {
		target := s.defs[strings.TrimPrefix(n.Ref, "#/$defs/")]
		if target == nil {
			return n
		}
		n = target
	}
	return n
}

// check gives the first thing that is wrong, "" when nothing is.
func (s *schemas) check(n *node, v any, at string) string {
	if n.Ref != "" {
		if why := s.check(s.deref(n), v, at); why != "" {
			return why
		}
	}
	if len(n.Type) > 0 && !slices.ContainsFunc(n.Type, func(t string) bool { return isType(v, t) }) {
		return fmt.Sprintf("%s is %s, not %s", place(at), typeOf(v), strings.Join(n.Type, " or "))
	}
	if n.Const != nil && !equalJSON(n.Const, v) {
		return fmt.Sprintf("%s is %s, not %v", place(at), short(v), n.Const)
	}
	if n.Enum != nil && !slices.ContainsFunc(n.Enum, func(e any) bool { return equalJSON(e, v) }) {
		return fmt.Sprintf("%s is %s, which is none of the known values", place(at), short(v))
	}
	if why := s.checkNumber(n, v, at); why != "" {
		return why
	}
	if text, ok := v.(string); ok && n.MinLength != nil && utf8.RuneCountInString(text) < *n.MinLength {
		return place(at) + " is too short"
	}
	if list, ok := v.([]any); ok && n.Items != nil {
		for i, e := range list {
			if why := s.check(n.Items, e, fmt.Sprintf("%s[%d]", at, i)); why != "" {
				return why
			}
		}
	}
	if object, ok := v.(map[string]any); ok {
		if why := s.checkObject(n, object, at); why != "" {
			return why
		}
	}
	return s.checkCombined(n, v, at)
}

func (s *schemas) checkNumber(n *node, v any, at string) string {
	num, ok := v.(json.Number)
	if !ok {
		return ""
	}
	f, _ := num.Float64()
	switch {
	case n.Minimum != nil && f < *n.Minimum:
		return fmt.Sprintf("%s is %s, less than %v", place(at), num, *n.Minimum)
	case n.Maximum != nil && f > *n.Maximum:
		return fmt.Sprintf("%s is %s, more than %v", place(at), num, *n.Maximum)
	}
	return ""
}

func (s *schemas) checkObject(n *node, object map[string]any, at string) string {
	for _, name := range n.Required {
		if _, ok := object[name]; !ok {
			return place(join(at, name)) + " is missing"
		}
	}
	for name, value := range object {
		if p := n.Properties[name]; p != nil {
			if why := s.check(p, value, join(at, name)); why != "" {
				return why
			}
			continue
		}
		switch string(n.Additional) {
		case "", "true":
		case "false":
			return place(join(at, name)) + " is not allowed"
		default:
			var sub node
			if json.Unmarshal(n.Additional, &sub) == nil {
				if why := s.check(&sub, value, join(at, name)); why != "" {
					return why
				}
			}
		}
	}
	return ""
}

func (s *schemas) checkCombined(n *node, v any, at string) string {
	for _, sub := range n.AllOf {
		if why := s.check(sub, v, at); why != "" {
			return why
		}
	}
	if n.Not != nil && s.check(n.Not, v, at) == "" {
		return place(at) + " has a form that is excluded"
	}
	for _, alternatives := range [][]*node{n.AnyOf, n.OneOf} {
		if len(alternatives) == 0 {
			continue
		}
		first, matches := "", 0
		for _, sub := range s.candidates(n, alternatives, v) {
			if why := s.check(sub, v, at); why == "" {
				matches++
			} else if first == "" {
				first = why
			}
		}
		switch {
		case matches == 0 && first == "":
			return place(at) + " has no known form: " + short(v)
		case matches == 0:
			return first
		}
	}
	return ""
}

// candidates are the alternatives that a value's tag chooses; without a tag,
// all of them.
func (s *schemas) candidates(n *node, alternatives []*node, v any) []*node {
	object, ok := v.(map[string]any)
	if !ok {
		return alternatives
	}
	for _, tag := range []string{"sessionUpdate", "type", "outcome", "mode"} {
		value, ok := object[tag].(string)
		if !ok {
			continue
		}
		var chosen, open []*node
		tagged := false
		for _, a := range alternatives {
			p := s.property(a, tag)
			switch {
			case p == nil || p.Const == nil:
				open = append(open, a)
			case p.Const == value:
				chosen, tagged = append(chosen, a), true
			default:
				tagged = true
			}
		}
		if tagged {
			return append(chosen, open...)
		}
	}
	return alternatives
}

func (s *schemas) property(n *node, name string) *node {
	n = s.deref(n)
	if p := n.Properties[name]; p != nil {
		return p
	}
	for _, sub := range n.AllOf {
		if p := s.property(sub, name); p != nil {
			return p
		}
	}
	return nil
}

// strangers gives the members of v that none of its definitions names. Below
// members without a definition nothing is looked at.
func (s *schemas) strangers(defs []*node, v any, at string) (found []string) {
	switch v := v.(type) {
	case map[string]any:
		known, open := map[string][]*node{}, false
		for _, n := range defs {
			s.members(n, v, known, &open)
		}
		if open || len(known) == 0 {
			return nil
		}
		for name, value := range v {
			switch ns, ok := known[name]; {
			case name == "_meta":
			case !ok:
				found = append(found, join(at, name))
			default:
				found = append(found, s.strangers(ns, value, join(at, name))...)
			}
		}
	case []any:
		var items []*node
		for _, n := range defs {
			s.items(n, &items)
		}
		for i, e := range v {
			found = append(found, s.strangers(items, e, fmt.Sprintf("%s[%d]", at, i))...)
		}
	}
	slices.Sort(found)
	return found
}

// members collects what the definitions that fit v say about its members.
func (s *schemas) members(n *node, v map[string]any, known map[string][]*node, open *bool) {
	n = s.deref(n)
	for name, p := range n.Properties {
		known[name] = append(known[name], p)
	}
	if len(n.Additional) > 0 && string(n.Additional) != "false" {
		*open = true
	}
	for _, sub := range n.AllOf {
		s.members(sub, v, known, open)
	}
	for _, alternatives := range [][]*node{n.AnyOf, n.OneOf} {
		for _, sub := range s.candidates(n, alternatives, v) {
			if s.check(sub, v, "") == "" {
				s.members(sub, v, known, open)
			}
		}
	}
}

func (s *schemas) items(n *node, out *[]*node) {
	n = s.deref(n)
	if n.Items != nil {
		*out = append(*out, n.Items)
	}
	for _, list := range [][]*node{n.AllOf, n.AnyOf, n.OneOf} {
		for _, sub := range list {
			s.items(sub, out)
		}
	}
}

func isType(v any, t string) bool {
	switch t {
	case "integer":
		n, ok := v.(json.Number)
		if !ok {
			return false
		}
		f, err := n.Float64()
		return err == nil && f == math.Trunc(f)
	case "number":
		_, ok := v.(json.Number)
		return ok
	}
	return typeOf(v) == t
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		return "number"
	case []any:
		return "array"
	}
	return "object"
}

func equalJSON(want, got any) bool {
	if n, ok := got.(json.Number); ok {
		f, _ := n.Float64()
		got = f
	}
	return reflect.DeepEqual(want, got)
}

func join(at, name string) string {
	if at == "" {
		return name
	}
	return at + "." + name
}

func place(at string) string {
	if at == "" {
		return "the value"
	}
	return at
}

func short(v any) string {
	b, _ := json.Marshal(v) // what was decoded can be encoded
	if len(b) > 120 {
		return string(b[:120]) + "…"
	}
	return string(b)
}
