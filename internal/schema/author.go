package schema

import (
	"fmt"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// maxAuthorDepth bounds the author vocabulary, whose specs are written by
// hand; raw schemas and values have no such limit.
const maxAuthorDepth = 10_000

// JSONSchema converts p exactly: an open object root, properties in their
// order, required only when not empty (rules R9.2 and R9.3). A *[UnsupportedError]
// names the first author error by its path, or every violation of the subset.
func (p Params) JSONSchema() (jsonvalue.Value, error) {
	v, err := p.Value()
	if err != nil {
		return jsonvalue.Value{}, err
	}
	return convertParams(v)
}

// JSONSchema converts s exactly, under the rules of [Params.JSONSchema].
func (s Spec) JSONSchema() (jsonvalue.Value, error) {
	v, err := s.Value()
	if err != nil {
		return jsonvalue.Value{}, err
	}
	return convertSpec(v)
}

// Value returns p in the JSON form of the author vocabulary, which
// [ParamsFromValue] reads back.
func (p Params) Value() (jsonvalue.Value, error) {
	return propertiesValue(p, &place{seg: "parameters"}, 0)
}

// Value returns s in the JSON form of the author vocabulary.
func (s Spec) Value() (jsonvalue.Value, error) {
	ms, err := s.members(&place{seg: "schema"}, 0)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	return jsonvalue.Object(ms...), nil
}

func propertiesValue(props []Property, path *place, depth int) (jsonvalue.Value, error) {
	ms := make([]jsonvalue.Member, len(props))
	seen := make(map[string]bool, len(props))
	for i, p := range props {
		if seen[p.Name] {
			return jsonvalue.Value{}, authorError("%s.%s is declared twice", path, p.Name)
		}
		seen[p.Name] = true
		node, err := p.members(&place{path, "." + p.Name}, depth+1)
		if err != nil {
			return jsonvalue.Value{}, err
		}
		if p.Required {
			node = append(node, jsonvalue.Member{Key: "required", Value: jsonvalue.Bool(true)})
		}
		ms[i] = jsonvalue.Member{Key: p.Name, Value: jsonvalue.Object(node...)}
	}
	return jsonvalue.Object(ms...), nil
}

func (s Spec) members(path *place, depth int) ([]jsonvalue.Member, error) {
	if depth > maxAuthorDepth {
		return nil, authorError("%s is nested deeper than %d levels", path.short(), maxAuthorDepth)
	}
	var ms []jsonvalue.Member
	add := func(key string, v jsonvalue.Value) {
		if !v.IsUndefined() {
			ms = append(ms, jsonvalue.Member{Key: key, Value: v})
		}
	}
	text := func(key, s string) {
		if s != "" {
			add(key, jsonvalue.String(s))
		}
	}
	text("type", string(s.Type))
	text("description", s.Description)
	text("title", s.Title)
	add("default", s.Default)
	if s.Examples != nil {
		add("examples", jsonvalue.Array(s.Examples...))
	}
	if s.AdditionalProperties != nil {
		add("additionalProperties", jsonvalue.Bool(*s.AdditionalProperties))
	}
	if s.Properties != nil {
		v, err := propertiesValue(s.Properties, &place{path, ".properties"}, depth)
		if err != nil {
			return nil, err
		}
		add("properties", v)
	}
	if s.Items != nil {
		items, err := s.Items.members(&place{path, ".items"}, depth+1)
		if err != nil {
			return nil, err
		}
		add("items", jsonvalue.Object(items...))
	}
	if s.Enum != nil {
		add("enum", jsonvalue.Array(s.Enum...))
	}
	add("const", s.Const)
	if s.OneOf != nil {
		branches := make([]jsonvalue.Value, len(s.OneOf))
		for i, b := range s.OneOf {
			bm, err := b.members(&place{path, fmt.Sprintf(".oneOf[%d]", i)}, depth+1)
			if err != nil {
				return nil, err
			}
			branches[i] = jsonvalue.Object(bm...)
		}
		add("oneOf", jsonvalue.Array(branches...))
	}
	return ms, nil
}

// ParamsFromValue reads the JSON form of the author vocabulary: an object of
// properties, each a value schema in which "required": true may stand. The
// error is that of [Params.JSONSchema].
func ParamsFromValue(v jsonvalue.Value) (Params, error) {
	if _, err := convertParams(v); err != nil {
		return nil, err
	}
	return Params(specProperties(v)), nil
}

// SpecFromValue reads one value schema in the JSON form of the author
// vocabulary. The error is that of [Spec.JSONSchema].
func SpecFromValue(v jsonvalue.Value) (Spec, error) {
	if _, err := convertSpec(v); err != nil {
		return Spec{}, err
	}
	return specOf(v), nil
}

// specOf reads a value schema that has passed conversion.
func specOf(v jsonvalue.Value) Spec {
	s := Spec{
		Type:        Type(v.GetString("type")),
		Title:       v.GetString("title"),
		Description: v.GetString("description"),
		Const:       v.Get("const"),
		Default:     v.Get("default"),
		Enum:        elements(v.Get("enum")),
		Examples:    elements(v.Get("examples")),
	}
	if open, ok := v.Get("additionalProperties").Bool(); ok {
		s.AdditionalProperties = Closed()
		if open {
			s.AdditionalProperties = Open()
		}
	}
	if p := v.Get("properties"); !p.IsUndefined() {
		s.Properties = specProperties(p)
	}
	if items := v.Get("items"); !items.IsUndefined() {
		it := specOf(items)
		s.Items = &it
	}
	for _, b := range v.Get("oneOf").Elements() {
		s.OneOf = append(s.OneOf, specOf(b))
	}
	return s
}

func specProperties(v jsonvalue.Value) []Property {
	props := make([]Property, 0, v.Len())
	for name, p := range v.Members() {
		required, _ := p.Get("required").Bool()
		props = append(props, Property{Name: name, Required: required, Spec: specOf(p)})
	}
	return props
}

func elements(v jsonvalue.Value) []jsonvalue.Value {
	if !v.IsArray() {
		return nil
	}
	out := make([]jsonvalue.Value, 0, v.Len())
	for _, e := range v.Elements() {
		out = append(out, e)
	}
	return out
}

func authorError(format string, args ...any) error {
	return &UnsupportedError{Violations: []string{fmt.Sprintf(format, args...)}}
}
