package prepare

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// The bounds of a schema on the wire.
const (
	maxSchemaNodes = 5_000
	maxSchemaDepth = 64
)

// Schema adapts a tool's JSON Schema to what every server takes: an object with
// "properties" at the root, no union there, no boolean schemas, and references
// replaced by what they stand for. It may end up accepting more than the
// original, never less; whoever runs the tool validates against the original.
// An error says in words why it cannot be adapted.
func Schema(v jsonvalue.Value) (jsonvalue.Value, error) {
	switch b, isBool := v.Bool(); {
	case v.IsUndefined(), v.IsNull(), isBool && b:
		v = jsonvalue.Object()
	case isBool:
		return jsonvalue.Value{}, errors.New("it is \"false\", which no arguments satisfy")
	case !v.IsObject():
		return jsonvalue.Value{}, fmt.Errorf("it must be an object, not %s", v.Kind())
	}
	a := &adapter{root: v}
	out, err := a.schema(v, 0)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	return rootObject(out)
}

// adapter walks one schema.
type adapter struct {
	root  jsonvalue.Value
	open  []string // the references being followed
	nodes int
}

// dropped are keywords that mean nothing once references are gone.
var dropped = []string{"$schema", "$id", "$anchor", "$defs", "definitions", "$comment", "$dynamicAnchor", "$vocabulary", "id"}

func (a *adapter) schema(v jsonvalue.Value, depth int) (jsonvalue.Value, error) {
	if a.nodes++; a.nodes > maxSchemaNodes {
		return jsonvalue.Value{}, errors.New("it is too large once its references are followed")
	}
	if depth > maxSchemaDepth {
		return jsonvalue.Value{}, fmt.Errorf("it is nested more than %d deep", maxSchemaDepth)
	}
	if b, ok := v.Bool(); ok {
		if b {
			return jsonvalue.Object(), nil
		}
		return jsonvalue.Object(jsonvalue.Member{Key: "not", Value: jsonvalue.Object()}), nil
	}
	if !v.IsObject() {
		return jsonvalue.Value{}, fmt.Errorf("a schema inside it is of type %s", v.Kind())
	}
	if ref, ok := v.Lookup("$ref"); ok {
		return a.ref(v, ref, depth)
	}
	ms := make([]jsonvalue.Member, 0, v.Len())
	for key, x := range v.Members() {
		if slices.Contains(dropped, key) && !(key == "id" && x.IsObject()) {
			continue
		}
		y, err := a.keyword(key, x, depth)
		if err != nil {
			return jsonvalue.Value{}, err
		}
		ms = append(ms, jsonvalue.Member{Key: key, Value: y})
	}
	return jsonvalue.Object(ms...), nil
}

func (a *adapter) keyword(key string, x jsonvalue.Value, depth int) (jsonvalue.Value, error) {
	switch key {
	case "properties", "patternProperties", "dependentSchemas":
		if !x.IsObject() {
			return jsonvalue.Value{}, fmt.Errorf("%q must be an object", key)
		}
		ms := make([]jsonvalue.Member, 0, x.Len())
		for name, s := range x.Members() {
			y, err := a.schema(s, depth+1)
			if err != nil {
				return jsonvalue.Value{}, err
			}
			ms = append(ms, jsonvalue.Member{Key: name, Value: y})
		}
		return jsonvalue.Object(ms...), nil
	case "anyOf", "oneOf", "allOf", "prefixItems":
		if !x.IsArray() {
			return jsonvalue.Value{}, fmt.Errorf("%q must be an array", key)
		}
		return a.list(x, depth)
	case "items":
		if x.IsArray() {
			return a.list(x, depth)
		}
		return a.schema(x, depth+1)
	case "additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems":
		if _, ok := x.Bool(); ok {
			return x, nil // the one place where servers know booleans
		}
		return a.schema(x, depth+1)
	case "not", "if", "then", "else", "contains", "propertyNames":
		return a.schema(x, depth+1)
	}
	return x, nil
}

func (a *adapter) list(x jsonvalue.Value, depth int) (jsonvalue.Value, error) {
	vs := make([]jsonvalue.Value, 0, x.Len())
	for _, s := range x.Elements() {
		y, err := a.schema(s, depth+1)
		if err != nil {
			return jsonvalue.Value{}, err
		}
		vs = append(vs, y)
	}
	return jsonvalue.Array(vs...), nil
}

// ref puts what a reference stands for in its place. A schema that contains
// itself is cut at the second time: anything is accepted there.
func (a *adapter) ref(v, ref jsonvalue.Value, depth int) (jsonvalue.Value, error) {
	name, ok := ref.Str()
	if !ok {
		return jsonvalue.Value{}, errors.New("a \"$ref\" inside it is no text")
	}
	beside := v.Without("$ref")
	if slices.Contains(a.open, name) {
		return a.schema(beside.Without("$defs").Without("definitions"), depth+1)
	}
	target, err := a.resolve(name)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	a.open = append(a.open, name)
	out, err := a.schema(target, depth+1)
	a.open = a.open[:len(a.open)-1]
	if err != nil {
		return jsonvalue.Value{}, err
	}
	more, err := a.schema(beside, depth+1)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	for key, x := range more.Members() {
		out = out.With(key, x)
	}
	return out, nil
}

// resolve finds a JSON pointer, or an anchor-like id, inside the root.
func (a *adapter) resolve(ref string) (jsonvalue.Value, error) {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok || rest != "" && rest[0] != '/' {
		return jsonvalue.Value{}, fmt.Errorf("its reference %q leads outside of it", ref)
	}
	v := a.root
	if rest == "" {
		return v, nil
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~", "%25", "%", "%24", "$", "%20", " ")
	for _, token := range strings.Split(rest[1:], "/") {
		token = unescape.Replace(token)
		next := v.Get(token)
		if v.IsArray() {
			i := 0
			if _, err := fmt.Sscanf(token, "%d", &i); err == nil && i >= 0 && i < v.Len() {
				next = v.At(i)
			}
		}
		if next.IsUndefined() {
			return jsonvalue.Value{}, fmt.Errorf("its reference %q leads nowhere", ref)
		}
		v = next
	}
	return v, nil
}

// rootObject makes the root of a schema without references an object with
// properties.
func rootObject(v jsonvalue.Value) (jsonvalue.Value, error) {
	m := merged{required: []string{}}
	if err := m.all(v); err != nil {
		return jsonvalue.Value{}, err
	}
	var out []jsonvalue.Member
	out = append(out, jsonvalue.Member{Key: "type", Value: jsonvalue.String("object")})
	props := make([]jsonvalue.Member, 0, len(m.order))
	for _, name := range m.order {
		props = append(props, jsonvalue.Member{Key: name, Value: oneOf(m.props[name])})
	}
	for key, x := range v.Members() {
		switch key {
		case "type", "properties", "required", "anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else", "dependentSchemas", "dependentRequired", "dependencies", "patternProperties", "propertyNames", "unevaluatedProperties", "minProperties", "maxProperties", "default", "examples", "nullable":
		case "additionalProperties":
			if m.union {
				continue // a branch's own properties would be refused
			}
			out = append(out, jsonvalue.Member{Key: key, Value: x})
		default:
			out = append(out, jsonvalue.Member{Key: key, Value: x})
		}
	}
	out = append(out, jsonvalue.Member{Key: "properties", Value: jsonvalue.Object(props...)})
	if len(m.required) > 0 {
		names := make([]jsonvalue.Value, len(m.required))
		for i, n := range m.required {
			names[i] = jsonvalue.String(n)
		}
		out = append(out, jsonvalue.Member{Key: "required", Value: jsonvalue.Array(names...)})
	}
	return jsonvalue.Object(out...), nil
}

// merged gathers the properties of a root and of its unions.
type merged struct {
	order    []string
	props    map[string][]jsonvalue.Value
	required []string
	union    bool
}

func (m *merged) add(name string, s jsonvalue.Value) {
	if m.props == nil {
		m.props = map[string][]jsonvalue.Value{}
	}
	if _, known := m.props[name]; !known {
		m.order = append(m.order, name)
	}
	if !slices.ContainsFunc(m.props[name], s.Equal) {
		m.props[name] = append(m.props[name], s)
	}
}

func (m *merged) require(name string) {
	if !slices.Contains(m.required, name) {
		m.required = append(m.required, name)
	}
}

// all takes what the schema and every part of its allOf ask for, and of its
// unions what each branch allows and all of them require.
func (m *merged) all(v jsonvalue.Value) error {
	if !allowsObject(v) {
		return errors.New("its root must be of type object")
	}
	for name, s := range v.Get("properties").Members() {
		m.add(name, s)
	}
	for _, r := range v.Get("required").Elements() {
		if s, ok := r.Str(); ok {
			m.require(s)
		}
	}
	for _, part := range v.Get("allOf").Elements() {
		m.union = true
		if err := m.all(part); err != nil {
			return err
		}
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		branches := v.Get(key)
		if branches.Len() == 0 {
			continue
		}
		m.union = true
		var common []string
		fits := 0
		for _, b := range branches.Elements() {
			branch := merged{required: []string{}}
			if err := branch.all(b); err != nil {
				continue // no arguments of a call fit here
			}
			for _, name := range branch.order {
				for _, s := range branch.props[name] {
					m.add(name, s)
				}
			}
			if fits == 0 {
				common = branch.required
			} else {
				common = slices.DeleteFunc(slices.Clone(common), func(n string) bool { return !slices.Contains(branch.required, n) })
			}
			fits++
		}
		if fits == 0 {
			return errors.New("no branch of its union is of type object")
		}
		for _, n := range common {
			m.require(n)
		}
	}
	return nil
}

// allowsObject reports whether the type of a schema, if it has one, admits
// objects.
func allowsObject(v jsonvalue.Value) bool {
	t, ok := v.Lookup("type")
	if !ok {
		return true
	}
	if s, ok := t.Str(); ok {
		return s == "object"
	}
	for _, x := range t.Elements() {
		if s, _ := x.Str(); s == "object" {
			return true
		}
	}
	return false
}

// oneOf joins the schemas that a property has in several branches.
func oneOf(list []jsonvalue.Value) jsonvalue.Value {
	if len(list) == 1 {
		return list[0]
	}
	return jsonvalue.Object(jsonvalue.Member{Key: "anyOf", Value: jsonvalue.Array(list...)})
}
