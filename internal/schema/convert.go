package schema

import (
	"fmt"
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// The conversion works on the JSON form of the author vocabulary, so that typed
// specs and specs read from outside take one path. What only authors can get
// wrong is refused here, at the first error; what is wrong with the schema that
// comes out is left to the subset checker, which lists everything.

var annotationKeys = []string{"description", "title", "default", "examples"}

var authorKeys = []string{
	"type", "description", "title", "default", "examples", "additionalProperties",
	"properties", "required", "items", "enum", "const", "oneOf",
}

func convertParams(v jsonvalue.Value) (jsonvalue.Value, error) {
	if !v.IsObject() {
		return jsonvalue.Value{}, authorError("parameters must be an object of value schemas")
	}
	props, required, err := convertProperties(v, &place{seg: "parameters"}, 0)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	out := jsonvalue.Object(
		jsonvalue.Member{Key: "type", Value: jsonvalue.String("object")},
		jsonvalue.Member{Key: "properties", Value: props},
		jsonvalue.Member{Key: "required", Value: required},
	)
	return out, AssertSupported(out)
}

func convertSpec(v jsonvalue.Value) (jsonvalue.Value, error) {
	out, err := convertNode(v, &place{seg: "schema"}, false, 0)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	return out, AssertSupported(out)
}

// convertProperties gives the properties keyword, and the required keyword or
// Undefined when nothing is required (rule R9.3).
func convertProperties(v jsonvalue.Value, path *place, depth int) (props, required jsonvalue.Value, err error) {
	ms := make([]jsonvalue.Member, 0, v.Len())
	var names []jsonvalue.Value
	for name, p := range v.Members() {
		at := &place{path, "." + name}
		node, err := convertNode(p, at, true, depth+1)
		if err != nil {
			return jsonvalue.Value{}, jsonvalue.Value{}, err
		}
		ms = append(ms, jsonvalue.Member{Key: name, Value: node})
		if !p.Get("required").IsUndefined() {
			names = append(names, jsonvalue.String(name))
		}
	}
	if names != nil {
		required = jsonvalue.Array(names...)
	}
	return jsonvalue.Object(ms...), required, nil
}

func convertNode(v jsonvalue.Value, path *place, property bool, depth int) (jsonvalue.Value, error) {
	none := jsonvalue.Value{}
	if depth > maxAuthorDepth {
		return none, authorError("%s is nested deeper than %d levels", path.short(), maxAuthorDepth)
	}
	if !v.IsObject() {
		return none, authorError("%s must be a value schema object", path)
	}
	for key := range v.Members() {
		if !slices.Contains(authorKeys, key) {
			return none, authorError("%s.%s is not a keyword of value schemas", path, key)
		}
	}
	if r := v.Get("required"); !r.IsUndefined() {
		if !property {
			return none, authorError("%s.required is only supported on properties", path)
		}
		if b, _ := r.Bool(); !b {
			return none, authorError("%s.required must be true when present", path)
		}
	}
	typ, oneOf := v.Get("type"), v.Get("oneOf")
	if !typ.IsUndefined() && !oneOf.IsUndefined() {
		return none, authorError("%s cannot declare both type and oneOf", path)
	}

	var ms []jsonvalue.Member
	add := func(key string, v jsonvalue.Value) {
		if !v.IsUndefined() {
			ms = append(ms, jsonvalue.Member{Key: key, Value: v})
		}
	}
	if !oneOf.IsUndefined() {
		branches, err := convertBranches(oneOf, path, depth)
		if err != nil {
			return none, err
		}
		add("oneOf", branches)
	} else if err := addType(add, typ, path); err != nil {
		return none, err
	}
	for _, key := range annotationKeys {
		a := v.Get(key)
		if s, ok := a.Str(); ok && s == "" && key != "default" {
			continue
		}
		if key == "examples" && !a.IsUndefined() && !a.IsArray() {
			return none, authorError("%s.examples must be an array", path)
		}
		add(key, a)
	}

	closed := v.Get("additionalProperties")
	if _, ok := closed.Bool(); !ok && (typ.Equal(jsonvalue.String("object")) || !closed.IsUndefined()) {
		return none, authorError("%s.additionalProperties must be explicitly true or false", path)
	}
	add("additionalProperties", closed)
	if p := v.Get("properties"); !p.IsUndefined() {
		if !p.IsObject() {
			return none, authorError("%s.properties must be an object of value schemas", path)
		}
		props, required, err := convertProperties(p, &place{path, ".properties"}, depth)
		if err != nil {
			return none, err
		}
		add("properties", props)
		add("required", required)
	}
	if it := v.Get("items"); !it.IsUndefined() {
		items, err := convertNode(it, &place{path, ".items"}, false, depth+1)
		if err != nil {
			return none, err
		}
		add("items", items)
	}
	if e := v.Get("enum"); !e.IsUndefined() {
		if !allScalars(e) {
			return none, authorError("%s.enum must be a non-empty array of scalar values", path)
		}
		add("enum", e)
	}
	add("const", v.Get("const"))
	return jsonvalue.Object(ms...), nil
}

func addType(add func(string, jsonvalue.Value), typ jsonvalue.Value, path *place) error {
	name, _ := typ.Str()
	switch Type(name) {
	case TypeJSON: // any value: no keyword
	case TypeString, TypeNumber, TypeInteger, TypeBoolean, TypeNull, TypeArray, TypeObject:
		add("type", typ)
	default:
		return authorError("%s.type must be string/number/integer/boolean/null/array/object/json, or use oneOf", path)
	}
	return nil
}

func convertBranches(oneOf jsonvalue.Value, path *place, depth int) (jsonvalue.Value, error) {
	if !oneOf.IsArray() {
		return jsonvalue.Value{}, authorError("%s.oneOf must be an array of at least two value schemas", path)
	}
	branches := make([]jsonvalue.Value, 0, oneOf.Len())
	for i, b := range oneOf.Elements() {
		branch, err := convertNode(b, &place{path, fmt.Sprintf(".oneOf[%d]", i)}, false, depth+1)
		if err != nil {
			return jsonvalue.Value{}, err
		}
		branches = append(branches, branch)
	}
	return jsonvalue.Array(branches...), nil
}

func allScalars(v jsonvalue.Value) bool {
	if !v.IsArray() {
		return false
	}
	for _, e := range v.Elements() {
		if e.IsArray() || e.IsObject() {
			return false
		}
	}
	return true
}
