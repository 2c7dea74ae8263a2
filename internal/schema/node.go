package schema

import (
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// nodeKind is what a compiled schema node checks first.
type nodeKind uint8

const (
	anyNode nodeKind = iota
	stringNode
	numberNode
	integerNode
	booleanNode
	nullNode
	objectNode
	arrayNode
	unionNode
)

var kindOfType = map[string]nodeKind{
	"string": stringNode, "number": numberNode, "integer": integerNode, "boolean": booleanNode,
	"null": nullNode, "object": objectNode, "array": arrayNode,
}

// node is one compiled node of the subset. Trees are built once and never
// change, so one may serve any number of validations at a time.
type node struct {
	kind  nodeKind
	older bool // the 2026-07-11 vocabulary, whose text for numbers differs

	props    []prop
	byName   map[string]struct{} // set when closed and many properties
	required []string
	closed   bool
	items    *node
	branches []*node

	enum      []jsonvalue.Value
	texts     []string            // the members of a string's enum…
	textSet   map[string]struct{} // …also as a set, when they are many
	enumFail  string
	constant  jsonvalue.Value
	constFail string
}

type prop struct {
	name string
	node *node
}

const manyNames = 12 // from here on a map beats a scan

// finish prepares lookups once every part of n is known.
func (n *node) finish() {
	if n.closed && len(n.props) >= manyNames {
		n.byName = make(map[string]struct{}, len(n.props))
		for _, p := range n.props {
			n.byName[p.name] = struct{}{}
		}
	}
	if n.enum != nil {
		// Indent with no indentation is compact, in JavaScript's number format.
		n.enumFail = " must be one of " + jsonvalue.Array(n.enum...).Indent("")
		n.indexTexts()
	}
	if !n.constant.IsUndefined() {
		n.constFail = " must be " + n.constant.Indent("")
	}
}

func (n *node) indexTexts() {
	for _, e := range n.enum {
		s, ok := e.Str()
		if !ok { // the older vocabulary mixes types
			n.texts = nil
			return
		}
		n.texts = append(n.texts, s)
	}
	if len(n.texts) >= manyNames {
		n.textSet = make(map[string]struct{}, len(n.texts))
		for _, s := range n.texts {
			n.textSet[s] = struct{}{}
		}
	}
}

func (n *node) declares(key string) bool {
	if n.byName != nil {
		_, ok := n.byName[key]
		return ok
	}
	for i := range n.props {
		if n.props[i].name == key {
			return true
		}
	}
	return false
}

// entersValue reports whether more than v itself must be looked at once v has
// passed check.
func (n *node) entersValue() bool {
	switch n.kind {
	case objectNode:
		return len(n.props) > 0 || n.closed
	case arrayNode:
		return n.items != nil && n.items.kind != anyNode
	case unionNode:
		return true
	}
	return false
}

// check looks at v alone, not at its children or a union's branches. It
// returns "" or what to write after the quoted path (rule R10.3).
func (n *node) check(v jsonvalue.Value) string {
	switch n.kind {
	case stringNode:
		if v.Kind() != jsonvalue.StringKind {
			return " must be a string"
		}
	case numberNode:
		switch {
		case v.IsLosslessNumber():
		case n.older:
			return " must be a finite number"
		case v.Kind() == jsonvalue.NumberKind:
			return " must be a finite JSON number"
		default:
			return " must be a number"
		}
	case integerNode:
		if !v.IsInteger() || !v.IsLosslessNumber() {
			return " must be an integer"
		}
	case booleanNode:
		if v.Kind() != jsonvalue.BoolKind {
			return " must be a boolean"
		}
	case nullNode:
		if !v.IsNull() {
			return " must be null"
		}
	case objectNode:
		if !v.IsObject() {
			return " must be an object"
		}
	case arrayNode:
		if !v.IsArray() {
			return " must be an array"
		}
	}
	if n.enum != nil && !n.member(v) {
		return n.enumFail
	}
	if n.constFail != "" && !n.constant.Equal(v) {
		return n.constFail
	}
	return ""
}

func (n *node) member(v jsonvalue.Value) bool {
	if n.texts != nil {
		s, ok := v.Str()
		if n.textSet != nil {
			_, in := n.textSet[s]
			return ok && in
		}
		return ok && slices.Contains(n.texts, s)
	}
	return slices.ContainsFunc(n.enum, v.Equal)
}
