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
	types, ok := typesOf(k.typ)
	if !ok {
		return e.text(unknownType)
	}
	if !k.constant.IsUndefined() {
		if !types.allows(k.constant) {
			return e.text(unknownType)
		}
		return e.literal(k.constant)
	}
	if !k.enum.IsUndefined() {
		return e.literals(k, types)
	}
	if types == 0 {
		types = impliedTypes(k)
	}
	if typeList(types.first()) == types && !k.nullable {
		return e.ofType(types.first(), k, indent)
	}
	var room [4]span
	u := unionBuilder{e: e, branches: room[:0]}
	for ; types != 0; types >>= 4 {
		u.next()
		u.done(e.ofType(types.first(), k, indent))
	}
	if k.nullable {
		u.next()
		u.done(e.text("null"))
	}
	return u.operator()
}

// impliedTypes guesses the type that a schema without one is about. Strictly
// such a schema allows every other type too, which no author ever means.
func impliedTypes(k *keywords) (l typeList) {
	if !k.properties.IsUndefined() || !k.additional.IsUndefined() || !k.patterns.IsUndefined() {
		l = l.with(typeObject)
	}
	if !k.items.IsUndefined() || !k.prefix.IsUndefined() {
		l = l.with(typeArray)
	}
	return l
}

// ofType prints one type of the type keyword.
func (e *emitter) ofType(t typeCode, k *keywords, indent int) operator {
	switch t {
	case typeString:
		return e.text("string")
	case typeNumber, typeInteger:
		return e.text("number")
	case typeBoolean:
		return e.text("boolean")
	case typeNull:
		return e.text("null")
	case typeObject:
		return e.object(k, indent)
	case typeArray:
		return e.array(k, indent)
	default:
		return e.text(anyJSON)
	}
}

// literals prints an enumeration. Members that the type excludes can never be
// sent, so they are left out; when nothing is left the schema makes no sense.
func (e *emitter) literals(k *keywords, types typeList) operator {
	if k.enum.Kind() != jsonvalue.ArrayKind {
		return e.text(unknownType)
	}
	n := 0
	null := false
	separate := func() {
		if n++; n > 1 {
			e.out = append(e.out, " | "...)
		}
	}
	for _, v := range k.enum.Elements() {
		if types.allows(v) {
			null = null || v.IsNull()
			separate()
			e.literal(v)
		}
	}
	if n == 0 {
		return e.text(unknownType)
	}
	if k.nullable && !null {
		separate()
		e.text("null")
	}
	if n == 1 {
		return primary
	}
	return union
}

// literal prints a JSON value as a TypeScript type; JSON of any shape is one.
// Line separators are escaped: whoever splits the prompt into lines may take
// them for line ends.
func (e *emitter) literal(v jsonvalue.Value) operator {
	if v.Kind() == jsonvalue.StringKind {
		e.out = v.AppendJSON(e.out)
		return primary
	}
	return e.text(lineSeparators.Replace(v.Canonical()))
}

var lineSeparators = strings.NewReplacer("\u2028", `\u2028`, "\u2029", `\u2029`)

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
	k := readKeywords(s)
	e.out = appendDoc(e.out, k.description, indent)
	e.out = appendIndent(e.out, indent)
	e.out = appendKey(e.out, name)
	if optional {
		e.out = append(e.out, '?')
	}
	e.out = append(e.out, ": "...)
	e.read(s, &k, indent)
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
	u := unionBuilder{e: e}
	for _, s := range r.schemas {
		u.next()
		u.done(e.node(s, indent))
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
