// Package schema describes what a tool takes and gives.
//
// Three vocabularies live here. [Params] and [Spec] are what authors of typed
// tools write; they convert exactly to JSON Schema. The enforced subset
// ([AssertSupported], [Compile]) is the JSON Schema whose every keyword our own
// walker enforces, so that nothing is accepted and then ignored; its texts are
// read by models and are an interface. Everything else, such as the schemas
// MCP servers bring, goes through package foreign.
package schema

import (
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Type is the type of a [Spec] (rule R9.2).
type Type string

// The types. TypeJSON takes any JSON value and emits no type keyword. A Spec
// with OneOf has no type.
const (
	TypeString  Type = "string"
	TypeNumber  Type = "number"
	TypeInteger Type = "integer"
	TypeBoolean Type = "boolean"
	TypeNull    Type = "null"
	TypeArray   Type = "array"
	TypeObject  Type = "object"
	TypeJSON    Type = "json"
)

// Property is one named, ordered entry of [Params] or of an object Spec.
type Property struct {
	Name     string
	Required bool // the key must be present; a Default does not satisfy it (rule R9.4)
	Spec
}

// Spec describes one value. The zero Spec is not valid: give a Type or OneOf.
type Spec struct {
	Type        Type
	Title       string // annotation; "" leaves it out
	Description string // annotation; "" leaves it out

	Enum  []jsonvalue.Value // scalars of Type; nil for no restriction
	Const jsonvalue.Value   // a scalar of Type, in Enum when both are given; Undefined for none

	Default  jsonvalue.Value   // annotation, never applied (rule R9.4); Undefined for none
	Examples []jsonvalue.Value // annotation; nil for none

	// Properties of an object; nil leaves the keyword out, empty keeps it.
	Properties []Property
	// AdditionalProperties says whether an object takes undeclared keys. It
	// must be set on every object (rule R9.2); see [Open] and [Closed].
	AdditionalProperties *bool

	Items *Spec  // elements of an array; nil for any
	OneOf []Spec // at least two alternatives of which exactly one must match
}

// Params describes the arguments of a typed tool: an open object at the root
// (rule R9.3).
type Params []Property

var yes, no = true, false

// Open returns what AdditionalProperties holds for an object that takes undeclared keys.
func Open() *bool { return &yes }

// Closed returns what AdditionalProperties holds for an object that refuses undeclared keys.
func Closed() *bool { return &no }

// Required returns a property whose key must be present (rule R9.1).
func Required(name string, s Spec) Property { return Property{Name: name, Required: true, Spec: s} }

// Optional returns a property whose key may be left out.
func Optional(name string, s Spec) Property { return Property{Name: name, Spec: s} }

// String describes a string.
func String(description string) Spec { return Spec{Type: TypeString, Description: description} }

// Number describes any finite number.
func Number(description string) Spec { return Spec{Type: TypeNumber, Description: description} }

// Integer describes a number without a fractional part (rule R10.4).
func Integer(description string) Spec { return Spec{Type: TypeInteger, Description: description} }

// Boolean describes true or false.
func Boolean(description string) Spec { return Spec{Type: TypeBoolean, Description: description} }

// Null describes the JSON null, for use in [OneOf].
func Null(description string) Spec { return Spec{Type: TypeNull, Description: description} }

// JSON describes any JSON value.
func JSON(description string) Spec { return Spec{Type: TypeJSON, Description: description} }

// Enum describes a string that is one of the values.
func Enum(description string, values ...string) Spec {
	s := String(description)
	for _, v := range values {
		s.Enum = append(s.Enum, jsonvalue.String(v))
	}
	return s
}

// Array describes an array whose elements follow items.
func Array(description string, items Spec) Spec {
	return Spec{Type: TypeArray, Description: description, Items: &items}
}

// OpenObject describes an object that also takes undeclared keys.
func OpenObject(description string, props ...Property) Spec {
	return Spec{Type: TypeObject, Description: description, Properties: props, AdditionalProperties: Open()}
}

// ClosedObject describes an object that refuses undeclared keys.
func ClosedObject(description string, props ...Property) Spec {
	return Spec{Type: TypeObject, Description: description, Properties: props, AdditionalProperties: Closed()}
}

// OneOf describes a value that follows exactly one of the branches.
func OneOf(description string, branches ...Spec) Spec {
	return Spec{Description: description, OneOf: branches}
}

// WithDefault returns s annotated with a default, which is shown and never
// applied. It panics on data that is not lossless JSON: use it for literals.
func (s Spec) WithDefault(v any) Spec {
	s.Default = jsonvalue.MustFromGo(v)
	return s
}

// WithConst returns s restricted to one scalar. It panics on data that is not
// lossless JSON: use it for literals.
func (s Spec) WithConst(v any) Spec {
	s.Const = jsonvalue.MustFromGo(v)
	return s
}

// WithTitle returns s annotated with a title.
func (s Spec) WithTitle(title string) Spec {
	s.Title = title
	return s
}

// WithExamples returns s annotated with examples. It panics on data that is
// not lossless JSON: use it for literals.
func (s Spec) WithExamples(vs ...any) Spec {
	s.Examples = make([]jsonvalue.Value, len(vs))
	for i, v := range vs {
		s.Examples[i] = jsonvalue.MustFromGo(v)
	}
	return s
}
