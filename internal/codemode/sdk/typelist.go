package sdk

import "github.com/dsh-acp/dsh-acp/internal/jsonvalue"

// typeCode is one of the types of JSON Schema.
type typeCode uint8

const (
	typeString typeCode = iota + 1
	typeNumber
	typeInteger
	typeBoolean
	typeNull
	typeObject
	typeArray
)

func typeOf(name string) typeCode {
	switch name {
	case "string":
		return typeString
	case "number":
		return typeNumber
	case "integer":
		return typeInteger
	case "boolean":
		return typeBoolean
	case "null":
		return typeNull
	case "object":
		return typeObject
	case "array":
		return typeArray
	default:
		return 0
	}
}

// typeList holds different types in order, four bits each, the first one
// lowest. As a number it costs no allocation in the most frequent of schemas.
type typeList uint32

// with adds a type unless it is there.
func (l typeList) with(t typeCode) typeList {
	shift := 0
	for x := l; x != 0; x >>= 4 {
		if x.first() == t {
			return l
		}
		shift += 4
	}
	return l | typeList(t)<<shift
}

func (l typeList) first() typeCode { return typeCode(l & 15) }

// allows reports whether a literal is of one of the types; no types, any.
func (l typeList) allows(v jsonvalue.Value) bool {
	if l == 0 {
		return true
	}
	for ; l != 0; l >>= 4 {
		var is bool
		switch l.first() {
		case typeString:
			is = v.Kind() == jsonvalue.StringKind
		case typeNumber:
			is = v.Kind() == jsonvalue.NumberKind
		case typeInteger:
			is = v.IsInteger()
		case typeBoolean:
			is = v.Kind() == jsonvalue.BoolKind
		case typeNull:
			is = v.IsNull()
		case typeObject:
			is = v.Kind() == jsonvalue.ObjectKind
		case typeArray:
			is = v.Kind() == jsonvalue.ArrayKind
		}
		if is {
			return true
		}
	}
	return false
}

// typesOf reads the type keyword: none, one name, or a list. Anything that is
// not a JSON Schema type makes it invalid as a whole.
func typesOf(v jsonvalue.Value) (l typeList, ok bool) {
	switch v.Kind() {
	case jsonvalue.Undefined:
		return 0, true
	case jsonvalue.StringKind:
		s, _ := v.Str()
		t := typeOf(s)
		return typeList(t), t != 0
	case jsonvalue.ArrayKind:
		for _, x := range v.Elements() {
			s, _ := x.Str()
			t := typeOf(s)
			if t == 0 {
				return 0, false
			}
			l = l.with(t)
		}
		return l, l != 0
	default:
		return 0, false
	}
}
