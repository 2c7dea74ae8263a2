package schema

import (
	"fmt"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// The generators make small trees over few names and scalars, so that schemas
// and values meet often.

func genScalar() *rapid.Generator[jsonvalue.Value] {
	return rapid.SampledFrom([]jsonvalue.Value{
		jsonvalue.Null(), jsonvalue.Bool(true), jsonvalue.Bool(false),
		jsonvalue.Int(0), jsonvalue.Int(1), jsonvalue.MustFromGo(1.5),
		jsonvalue.String(""), jsonvalue.String("a"), jsonvalue.String("b"),
	})
}

var genNames = []string{"a", "b", "c", "a.b", ""}

func genValue(depth int) *rapid.Generator[jsonvalue.Value] {
	return rapid.Custom(func(t *rapid.T) jsonvalue.Value {
		kind := rapid.IntRange(0, 3).Draw(t, "kind")
		if depth == 0 || kind < 2 {
			return genScalar().Draw(t, "scalar")
		}
		if kind == 2 {
			return jsonvalue.Array(rapid.SliceOfN(genValue(depth-1), 0, 3).Draw(t, "elements")...)
		}
		v := jsonvalue.Object()
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(genNames), 0, 4, rapid.ID[string]).Draw(t, "keys") {
			v = v.With(name, genValue(depth-1).Draw(t, "member"))
		}
		return v
	})
}

// genSpec makes valid author specs.
func genSpec(depth int) *rapid.Generator[Spec] {
	return rapid.Custom(func(t *rapid.T) Spec {
		types := []Type{TypeString, TypeNumber, TypeInteger, TypeBoolean, TypeNull, TypeJSON}
		if depth > 0 {
			types = append([]Type{TypeObject, "", TypeArray}, types...) // rapid prefers what comes first
		}
		s := Spec{Type: rapid.SampledFrom(types).Draw(t, "type")}
		s.Description = rapid.SampledFrom([]string{"", "d"}).Draw(t, "description")
		if rapid.Bool().Draw(t, "annotated") {
			s.Title = "T"
			s.Default = genValue(1).Draw(t, "default")
			s.Examples = rapid.SliceOfN(genValue(1), 0, 2).Draw(t, "examples")
		}
		switch s.Type {
		case "":
			s.OneOf = rapid.SliceOfN(genSpec(depth-1), 2, 3).Draw(t, "oneOf")
		case TypeArray:
			if rapid.Bool().Draw(t, "typed items") {
				items := genSpec(depth-1).Draw(t, "items")
				s.Items = &items
			}
		case TypeObject:
			s.AdditionalProperties = rapid.SampledFrom([]*bool{Open(), Closed()}).Draw(t, "open")
			if rapid.Bool().Draw(t, "properties") {
				s.Properties = genProperties(depth-1).Draw(t, "properties")
			}
		case TypeString, TypeNumber, TypeInteger, TypeBoolean, TypeNull:
			plain := node{kind: kindOfType[string(s.Type)]}
			scalars := rapid.SliceOfN(genScalar(), 0, 6).Draw(t, "enum")
			for _, v := range scalars {
				if plain.check(v) == "" {
					s.Enum = append(s.Enum, v)
				}
			}
			if s.Enum != nil && rapid.Bool().Draw(t, "const") {
				s.Const = s.Enum[0]
			}
		}
		return s
	})
}

func genProperties(depth int) *rapid.Generator[[]Property] {
	return rapid.Custom(func(t *rapid.T) []Property {
		props := []Property{}
		for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom(genNames), 0, 4, rapid.ID[string]).Draw(t, "names") {
			props = append(props, Property{name, rapid.Bool().Draw(t, "required"), genSpec(depth).Draw(t, "spec")})
		}
		return props
	})
}

// deepSpec nests n levels.
func deepSpec(n int) Spec {
	s := Integer("")
	for i := range n {
		if i%2 == 0 {
			s = Array("", s)
		} else {
			s = ClosedObject("", Required("a", s))
		}
	}
	return s
}

func deepText(n int, leaf string) string {
	text := leaf
	open, closing := "", ""
	for i := n - 1; i >= 0; i-- {
		if i%2 == 0 {
			open, closing = open+"[", "]"+closing
		} else {
			open, closing = open+`{"a":`, "}"+closing
		}
	}
	return fmt.Sprint(open, text, closing)
}
