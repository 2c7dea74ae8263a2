package sdk

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// ownType prints what a schema says by its type, literals, members and items.
func (e *emitter) ownType(k *keywords, indent int) operator {
	types, ok := typeNames(k.typ)
	if !ok {
		return e.text(unknownType)
	}
	if !k.constant.IsUndefined() {
		if !conforms(k.constant, types) {
			return e.text(unknownType)
		}
		return e.text(literal(k.constant))
	}
	if !k.enum.IsUndefined() {
		return e.literals(k, types)
	}
	if len(types) == 0 {
		types = impliedTypes(k)
	}
	if len(types) == 1 && !k.nullable {
		return e.ofType(types[0], k, indent)
	}
	u := e.startUnion()
	for _, t := range types {
		u.add(func() operator { return e.ofType(t, k, indent) })
	}
	if k.nullable {
		u.add(func() operator { return e.text("null") })
	}
	return u.operator()
}

// typeNames reads the type keyword: none, one name, or a list. Anything that
// is not a JSON Schema type makes it invalid as a whole.
func typeNames(v jsonvalue.Value) (names []string, ok bool) {
	switch v.Kind() {
	case jsonvalue.Undefined:
		return nil, true
	case jsonvalue.StringKind:
		s, _ := v.Str()
		return []string{s}, isTypeName(s)
	case jsonvalue.ArrayKind:
		for _, x := range v.Elements() {
			s, isString := x.Str()
			if !isString || !isTypeName(s) {
				return nil, false
			}
			names = append(names, s)
		}
		return names, len(names) > 0
	default:
		return nil, false
	}
}

func isTypeName(s string) bool {
	switch s {
	case "string", "number", "integer", "boolean", "null", "object", "array":
		return true
	}
	return false
}

// impliedTypes guesses the type that a schema without one is about. Strictly
// such a schema allows every other type too, which no author ever means.
func impliedTypes(k *keywords) []string {
	var types []string
	if !k.properties.IsUndefined() || !k.additional.IsUndefined() || !k.patterns.IsUndefined() {
		types = append(types, "object")
	}
	if !k.items.IsUndefined() || !k.prefix.IsUndefined() {
		types = append(types, "array")
	}
	return types
}

// ofType prints one type of the type keyword.
func (e *emitter) ofType(name string, k *keywords, indent int) operator {
	switch name {
	case "integer":
		return e.text("number")
	case "object":
		return e.object(k, indent)
	case "array":
		return e.array(k, indent)
	default:
		return e.text(name)
	}
}

// literals prints an enumeration. Members that the type excludes can never be
// sent, so they are left out; when nothing is left the schema makes no sense.
func (e *emitter) literals(k *keywords, types []string) operator {
	if k.enum.Kind() != jsonvalue.ArrayKind {
		return e.text(unknownType)
	}
	n := 0
	null := false
	add := func(literal string) {
		if n > 0 {
			e.out = append(e.out, " | "...)
		}
		e.out = append(e.out, literal...)
		n++
	}
	for _, v := range k.enum.Elements() {
		if conforms(v, types) {
			null = null || v.IsNull()
			add(literal(v))
		}
	}
	if n == 0 {
		return e.text(unknownType)
	}
	if k.nullable && !null {
		add("null")
	}
	if n == 1 {
		return primary
	}
	return union
}

// literal is the text of a JSON value as a TypeScript type; JSON of any shape
// is one. Line separators are escaped: whoever splits the prompt into lines may
// take them for line ends.
func literal(v jsonvalue.Value) string {
	return lineSeparators.Replace(v.Canonical())
}

var lineSeparators = strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`)

// conforms reports whether a literal is of one of the types; no types, any.
func conforms(v jsonvalue.Value, types []string) bool {
	if len(types) == 0 {
		return true
	}
	return slices.ContainsFunc(types, func(t string) bool {
		switch v.Kind() {
		case jsonvalue.NullKind:
			return t == "null"
		case jsonvalue.BoolKind:
			return t == "boolean"
		case jsonvalue.StringKind:
			return t == "string"
		case jsonvalue.ArrayKind:
			return t == "array"
		case jsonvalue.ObjectKind:
			return t == "object"
		case jsonvalue.NumberKind:
			return t == "number" || t == "integer" && v.IsInteger()
		default:
			return false
		}
	})
}

// object prints members one a line. Objects are open unless they say
// otherwise: the intersection tells that other members may be there.
func (e *emitter) object(k *keywords, indent int) operator {
	others := e.restOf(k)
	members := k.properties
	switch members.Kind() {
	case jsonvalue.ObjectKind, jsonvalue.Undefined, jsonvalue.NullKind:
	case jsonvalue.ArrayKind:
		// Some languages write an empty map as an empty list.
		if members.Len() > 0 {
			return e.text(unknownType)
		}
	default:
		return e.text(unknownType)
	}
	required := newNameSet(k.required)
	extra := undeclared(k.required, members, others.closed)
	if members.Len() == 0 && len(extra) == 0 {
		return e.record(others, indent)
	}
	e.out = append(e.out, "{\n"...)
	if members.Kind() == jsonvalue.ObjectKind {
		for name, s := range members.Members() {
			e.out = appendDoc(e.out, s.GetString("description"), indent+1)
			e.member(name, !required.has(name), s, indent+1)
		}
	}
	for _, name := range extra {
		e.member(name, false, jsonvalue.Bool(true), indent+1)
	}
	e.out = appendIndent(e.out, indent)
	e.out = append(e.out, '}')
	if others.closed {
		return primary
	}
	e.out = append(e.out, openSuffix...)
	return intersection
}

// member prints one line of an object.
func (e *emitter) member(name string, optional bool, s jsonvalue.Value, indent int) {
	e.out = appendIndent(e.out, indent)
	e.out = appendKey(e.out, name)
	if optional {
		e.out = append(e.out, '?')
	}
	e.out = append(e.out, ": "...)
	e.node(s, indent)
	e.out = append(e.out, ";\n"...)
}

// rest is what an object says about members it does not list.
type rest struct {
	closed  bool
	schemas []jsonvalue.Value // the schemas such members have; none, any JSON
}

// restOf reads additionalProperties and patternProperties.
func (e *emitter) restOf(k *keywords) rest {
	var r rest
	patterns := k.patterns.Kind() == jsonvalue.ObjectKind && k.patterns.Len() > 0
	if patterns {
		for _, s := range k.patterns.Members() {
			r.schemas = append(r.schemas, s)
		}
	}
	switch k.additional.Kind() {
	case jsonvalue.BoolKind:
		allowed, _ := k.additional.Bool()
		r.closed = !allowed && !patterns
		if allowed {
			r.schemas = nil
		}
	case jsonvalue.ObjectKind:
		r.schemas = append(r.schemas, k.additional)
	default:
		r.schemas = nil // absent: open, and the patterns describe only some
	}
	return r
}

// record prints an object without listed members. With listed ones the value
// types of the others are not printed: TypeScript would apply them to the
// listed members as well.
func (e *emitter) record(r rest, indent int) operator {
	switch {
	case r.closed:
		return e.text("Record<string, never>")
	case len(r.schemas) == 0:
		return e.text(openRecord)
	}
	e.out = append(e.out, "Record<string, "...)
	u := e.startUnion()
	for _, s := range r.schemas {
		u.add(func() operator { return e.node(s, indent) })
	}
	e.out = append(e.out, '>')
	return primary
}

// array prints a list or, when positions have their own schemas, a tuple.
func (e *emitter) array(k *keywords, indent int) operator {
	positions, others := k.prefix, k.items
	if k.items.Kind() == jsonvalue.ArrayKind { // before draft 2020-12
		positions, others = k.items, k.additionalItems
	}
	if positions.Kind() == jsonvalue.ArrayKind && positions.Len() > 0 {
		return e.tuple(k, positions, others, indent)
	}
	e.list(others, indent)
	return primary
}

// list prints T[]. The item is parenthesized whenever a union or intersection
// sign appears anywhere in its text, even in a literal (C3.4).
func (e *emitter) list(item jsonvalue.Value, indent int) {
	start := len(e.out)
	switch item.Kind() {
	case jsonvalue.Undefined:
		e.text(anyJSON)
	default:
		e.node(item, indent)
	}
	e.parenthesize(start)
	e.out = append(e.out, "[]"...)
}

// parenthesize puts the text from start on in parentheses if it may need them.
func (e *emitter) parenthesize(start int) {
	if bytes.ContainsAny(e.out[start:], "|&") {
		e.out = append(e.out, 0, ')')
		copy(e.out[start+1:len(e.out)-1], e.out[start:])
		e.out[start] = '('
	}
}

// tuple prints positions, those that may be missing marked, and then what may
// follow them.
func (e *emitter) tuple(k *keywords, positions, others jsonvalue.Value, indent int) operator {
	atLeast := bound(k.minItems, 0)
	atMost := bound(k.maxItems, math.MaxInt)
	e.out = append(e.out, '[')
	for i, s := range positions.Elements() {
		if i >= atMost {
			break
		}
		if i > 0 {
			e.out = append(e.out, ", "...)
		}
		start := len(e.out)
		e.node(s, indent)
		if i >= atLeast {
			e.parenthesize(start)
			e.out = append(e.out, '?')
		}
	}
	none, isBool := others.Bool()
	if atMost > positions.Len() && (!isBool || none) {
		e.out = append(e.out, ", ..."...)
		e.list(others, indent)
	}
	e.out = append(e.out, ']')
	return primary
}

// bound reads minItems or maxItems.
func bound(v jsonvalue.Value, otherwise int) int {
	f, ok := v.Float()
	if !ok || f < 0 {
		return otherwise
	}
	if f >= math.MaxInt32 {
		return math.MaxInt
	}
	return int(f)
}

// nameSet answers whether a member is required; short lists need no map.
type nameSet struct {
	list jsonvalue.Value
	long map[string]bool
}

func newNameSet(v jsonvalue.Value) nameSet {
	if v.Kind() != jsonvalue.ArrayKind {
		return nameSet{}
	}
	n := nameSet{list: v}
	if v.Len() > 16 {
		n.long = make(map[string]bool, v.Len())
		for _, x := range v.Elements() {
			if s, ok := x.Str(); ok {
				n.long[s] = true
			}
		}
	}
	return n
}

func (n nameSet) has(name string) bool {
	if n.long != nil {
		return n.long[name]
	}
	if n.list.Kind() != jsonvalue.ArrayKind {
		return false
	}
	for _, x := range n.list.Elements() {
		if s, ok := x.Str(); ok && s == name {
			return true
		}
	}
	return false
}

// undeclared lists required members that have no schema of their own. A closed
// object that requires one can never be satisfied; it prints without.
func undeclared(required, members jsonvalue.Value, closed bool) []string {
	if required.Kind() != jsonvalue.ArrayKind || closed {
		return nil
	}
	var names []string
	for _, x := range required.Elements() {
		name, ok := x.Str()
		if !ok {
			continue
		}
		if _, declared := members.Lookup(name); !declared && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
