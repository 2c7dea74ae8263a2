package sdk

import "github.com/dsh-acp/dsh-acp/internal/jsonvalue"

// keywords are the members of one schema object that shape its type.
type keywords struct {
	description string // "" when there is none

	own bool // any of the keywords that ownType prints

	typ, enum, constant                        jsonvalue.Value
	properties, required, additional, patterns jsonvalue.Value
	items, prefix, additionalItems             jsonvalue.Value
	minItems, maxItems                         jsonvalue.Value
	nullable                                   bool

	ref                 string
	oneOf, anyOf, allOf jsonvalue.Value
}

// readKeywords picks the keywords in one pass; a schema that is no object has
// none. Everything else, annotations and keywords that only narrow values, does
// not change a type.
func readKeywords(s jsonvalue.Value) keywords {
	var k keywords
	for i := range s.Len() { // MemberAt is inlined, an iterator here is not
		m := s.MemberAt(i)
		v := m.Value
		switch m.Key {
		case "description":
			k.description, _ = v.Str()
		case "type":
			k.typ, k.own = v, true
		case "enum":
			k.enum, k.own = v, true
		case "const":
			k.constant, k.own = v, true
		case "properties":
			k.properties, k.own = v, true
		case "additionalProperties":
			k.additional, k.own = v, true
		case "patternProperties":
			k.patterns, k.own = v, true
		case "items":
			k.items, k.own = v, true
		case "prefixItems":
			k.prefix, k.own = v, true
		case "required":
			k.required = v
		case "additionalItems":
			k.additionalItems = v
		case "minItems":
			k.minItems = v
		case "maxItems":
			k.maxItems = v
		case "nullable":
			k.nullable, _ = v.Bool()
		case "oneOf":
			k.oneOf = v
		case "anyOf":
			k.anyOf = v
		case "allOf":
			k.allOf = v
		case "$ref", "$dynamicRef", "$recursiveRef":
			if ref, ok := v.Str(); ok && ref != "" {
				k.ref = ref
			} else {
				k.ref = invalidRef
			}
		}
	}
	return k
}

// parts counts the independent statements a schema makes about its type.
func (k *keywords) parts() int {
	n := 0
	for _, has := range [...]bool{
		k.ref != "", k.own,
		!k.oneOf.IsUndefined(), !k.anyOf.IsUndefined(), !k.allOf.IsUndefined(),
	} {
		if has {
			n++
		}
	}
	return n
}
