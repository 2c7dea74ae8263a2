package sdk

import (
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// The two types that stand for "no more is known". anyJSON is a schema that
// allows every JSON value, or one whose detail was left out; unknownType is a
// schema that could not be understood.
const (
	anyJSON     = "JsonValue"
	unknownType = "unknown"
	openRecord  = "Record<string, " + anyJSON + ">"
	openSuffix  = " & " + openRecord
)

// maxDepth bounds the nesting of a printed type. Indentation makes the text of
// a deep schema grow with the square of its depth, and nobody reads level 49.
const maxDepth = 48

// TypeScript returns the TypeScript type of a JSON Schema (C3.4), its members
// indented for a line at the given level of two spaces. It never fails: a node
// it cannot express becomes unknown or JsonValue, and only that node does.
//
// Beyond the harness's own subset it understands what MCP servers send: local
// references with recursion, type lists, anyOf and allOf, tuples of both drafts,
// boolean schemas, schemas in additionalProperties, and schemas without a type.
// Keywords that only narrow a value (format, minimum, pattern, …) are ignored.
func TypeScript(schema jsonvalue.Value, indent int) string {
	var e emitter
	e.schema(schema, max(indent, 0))
	return string(e.out)
}

// operator is the outermost operator of a printed type, in binding order.
type operator uint8

const (
	primary operator = iota
	intersection
	union
)

// emitter prints schema documents one after the other into out, with whatever
// its user puts between them.
type emitter struct {
	out   []byte
	depth int
	refs  resolver
}

// schema prints the type of a whole document, within which references resolve.
func (e *emitter) schema(document jsonvalue.Value, indent int) {
	e.refs = resolver{root: document}
	e.node(document, indent)
}

// node prints one schema and reports its outermost operator.
func (e *emitter) node(s jsonvalue.Value, indent int) operator {
	k := readKeywords(s)
	return e.read(s, &k, indent)
}

// read is node for a schema whose keywords have been read.
func (e *emitter) read(s jsonvalue.Value, k *keywords, indent int) operator {
	if len(e.refs.active) > 0 {
		e.refs.nodes++
	}
	switch s.Kind() {
	case jsonvalue.BoolKind:
		if ok, _ := s.Bool(); ok {
			return e.text(anyJSON)
		}
		return e.text("never")
	case jsonvalue.ObjectKind:
	default:
		return e.text(unknownType)
	}
	if e.depth >= maxDepth {
		return e.text(anyJSON)
	}
	e.depth++
	op := e.typeOf(k, indent)
	e.depth--
	return op
}

// typeOf prints an object schema by the one statement it makes, or by all.
func (e *emitter) typeOf(k *keywords, indent int) operator {
	parts := k.parts()
	switch {
	case parts == 0:
		return e.text(anyJSON)
	case parts > 1:
		return e.all(k, indent)
	case k.ref != "":
		return e.reference(k.ref, indent)
	case k.own:
		return e.ownType(k, indent)
	case !k.oneOf.IsUndefined():
		return e.oneOf(k.oneOf, indent)
	case !k.anyOf.IsUndefined():
		return e.anyOf(k.anyOf, indent)
	default:
		return e.all(k, indent)
	}
}

// text prints a type that binds tightest.
func (e *emitter) text(s string) operator {
	e.out = append(e.out, s...)
	return primary
}

// reference prints the target of a $ref. A reference that is already being
// printed, directly or through others, is where a recursive type stops.
func (e *emitter) reference(ref string, indent int) operator {
	target, ok := e.refs.resolve(ref)
	if !ok {
		return e.text(unknownType)
	}
	if !e.refs.enter(ref, len(e.out)) {
		return e.text(anyJSON)
	}
	op := e.node(target, indent)
	e.refs.leave(len(e.out))
	return op
}

// oneOf prints the harness's own union: branches as written. Fewer than two
// are outside the subset and print as unknown.
func (e *emitter) oneOf(branches jsonvalue.Value, indent int) operator {
	if branches.Kind() != jsonvalue.ArrayKind || branches.Len() < 2 {
		return e.text(unknownType)
	}
	for i, b := range branches.Elements() {
		if i > 0 {
			e.out = append(e.out, " | "...)
		}
		e.node(b, indent)
	}
	return union
}

// anyOf prints the union that generators write: branches with the same text
// are printed once, and a single one is printed as itself.
func (e *emitter) anyOf(branches jsonvalue.Value, indent int) operator {
	if branches.Kind() != jsonvalue.ArrayKind || branches.Len() == 0 {
		return e.text(unknownType)
	}
	var room [4]span
	u := unionBuilder{e: e, branches: room[:0]}
	for _, b := range branches.Elements() {
		u.next()
		u.done(e.node(b, indent))
	}
	return u.operator()
}

// all prints a schema of which several parts hold at once: its own keywords, a
// reference, allOf, and the unions. Parts that say nothing are dropped; the
// others are joined by &.
func (e *emitter) all(k *keywords, indent int) operator {
	begin := len(e.out)
	var texts []string
	var ops []operator
	open := false      // some part was a bare open record
	dropped := anyJSON // what to print when no part says anything
	take := func(op operator, from int) {
		t := string(e.out[from:])
		e.out = e.out[:from]
		switch {
		case t == anyJSON:
		case t == unknownType:
			dropped = unknownType
		case t == openRecord:
			open = true
		case slices.Contains(texts, t):
		default:
			// One open record at the end serves all parts.
			if op == intersection && len(t) > len(openSuffix) && t[len(t)-len(openSuffix):] == openSuffix {
				t, op, open = t[:len(t)-len(openSuffix)], primary, true
				if slices.Contains(texts, t) {
					return
				}
			}
			texts, ops = append(texts, t), append(ops, op)
		}
	}
	if k.ref != "" {
		op := e.reference(k.ref, indent)
		if string(e.out[begin:]) == unknownType {
			// What the reference hides may well contradict the rest.
			return op
		}
		take(op, begin)
	}
	if k.own {
		take(e.ownType(k, indent), begin)
	}
	if k.allOf.Kind() == jsonvalue.ArrayKind {
		for _, b := range k.allOf.Elements() {
			take(e.node(b, indent), begin)
		}
	} else if !k.allOf.IsUndefined() {
		dropped = unknownType
	}
	if !k.anyOf.IsUndefined() && informative(k.anyOf) {
		take(e.anyOf(k.anyOf, indent), begin)
	}
	if !k.oneOf.IsUndefined() && informative(k.oneOf) {
		take(e.anyOf(k.oneOf, indent), begin)
	}
	if open {
		texts, ops = append(texts, openRecord), append(ops, primary)
	}
	switch len(texts) {
	case 0:
		return e.text(dropped)
	case 1:
		e.out = append(e.out, texts[0]...)
		return ops[0]
	}
	for i, t := range texts {
		if i > 0 {
			e.out = append(e.out, " & "...)
		}
		if ops[i] == union {
			t = "(" + t + ")"
		}
		e.out = append(e.out, t...)
	}
	return intersection
}

// informative reports whether every branch of a union beside other keywords
// says something about types. Branches such as {"required": ["a"]}, which ask
// for one of several members, say nothing TypeScript would print, and a union
// with a branch that allows everything allows everything.
func informative(branches jsonvalue.Value) bool {
	if branches.Kind() != jsonvalue.ArrayKind {
		return false
	}
	for _, b := range branches.Elements() {
		if b.Kind() != jsonvalue.ObjectKind {
			return false
		}
		k := readKeywords(b)
		if k.parts() == 0 {
			return false
		}
	}
	return true
}
