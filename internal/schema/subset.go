package schema

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// AssertSupported refuses a schema that says anything our walker does not
// enforce. The *[UnsupportedError] lists every violation, in walk order: the
// node's own, then its children's (rules R10.1 and R10.2). A schema with only
// annotations takes any JSON value.
func AssertSupported(schema jsonvalue.Value) error {
	_, err := compileSubset(schema, false)
	return err
}

// AssertObject is [AssertSupported] for structured output, which must be
// rooted in an object.
func AssertObject(schema jsonvalue.Value) error {
	_, err := compileObject(schema)
	return err
}

// AssertSupportedOutput is [AssertObject] in the vocabulary of 2026-07-11: no
// oneOf, a type on every node, enum and const of any scalar, and that
// edition's error name and prefix.
func AssertSupportedOutput(schema jsonvalue.Value) error {
	_, err := compileSubset(schema, true)
	return err
}

// Compile checks schema as [AssertSupported] does and returns its validator.
func Compile(schema jsonvalue.Value) (*Validator, error) {
	n, err := compileSubset(schema, false)
	if err != nil {
		return nil, err
	}
	return &Validator{root: n}, nil
}

// CompileObject checks schema as [AssertObject] does and returns its validator.
func CompileObject(schema jsonvalue.Value) (*Validator, error) {
	n, err := compileObject(schema)
	if err != nil {
		return nil, err
	}
	return &Validator{root: n}, nil
}

// CompileOutput checks schema as [AssertSupportedOutput] does and returns its
// validator, with that edition's texts.
func CompileOutput(schema jsonvalue.Value) (*Validator, error) {
	n, err := compileSubset(schema, true)
	if err != nil {
		return nil, err
	}
	return &Validator{root: n}, nil
}

const notObjectRoot = `schema.type must be "object" (structured output is object-rooted)`

func compileObject(schema jsonvalue.Value) (*node, error) {
	n, err := compileSubset(schema, false)
	if err == nil && n.kind != objectNode {
		return nil, &UnsupportedError{Violations: []string{notObjectRoot}}
	}
	return n, err
}

// compiler walks a schema with a stack of its own: depth is not limited.
type compiler struct {
	older      bool
	violations list
	todo       []pending // visited last to first
}

type pending struct {
	schema jsonvalue.Value
	at     *place
	into   *node
}

func compileSubset(schema jsonvalue.Value, older bool) (*node, error) {
	c := compiler{older: older}
	root := &node{older: older}
	c.todo = append(c.todo, pending{schema, &place{seg: "schema"}, root})
	for len(c.todo) > 0 {
		p := c.todo[len(c.todo)-1]
		c.todo = c.todo[:len(c.todo)-1]
		mark := len(c.todo)
		c.visit(p)
		slices.Reverse(c.todo[mark:])
		if c.violations.full {
			break
		}
	}
	if c.violations.texts != nil {
		return nil, &UnsupportedError{Violations: c.violations.texts, older: older}
	}
	return root, nil
}

func (c *compiler) bad(at *place, format string, args ...any) {
	if !c.violations.full {
		c.violations.add(at.String() + fmt.Sprintf(format, args...))
	}
}

// child queues a sub-schema and returns the node it will fill.
func (c *compiler) child(schema jsonvalue.Value, up *place, seg string) *node {
	n := &node{older: c.older}
	c.todo = append(c.todo, pending{schema, &place{up, seg}, n})
	return n
}

// constraintKeys are the keywords that restrict a value, in the order the
// violations about them are listed.
var constraintKeys = []string{"properties", "required", "additionalProperties", "items", "enum", "const"}

func (c *compiler) supported(key string) bool {
	switch key {
	case "type", "properties", "required", "additionalProperties", "items", "enum", "const",
		"description", "title", "default", "examples":
		return true
	case "oneOf":
		return !c.older
	}
	return false
}

func (c *compiler) visit(p pending) {
	s, at, n := p.schema, p.at, p.into
	if !s.IsObject() {
		c.bad(at, " must be a schema object")
		return
	}
	for key := range s.Members() {
		if c.supported(key) {
			continue
		}
		subset := "type/oneOf/properties"
		if c.older {
			subset = "type/properties"
		}
		c.bad(at, ".%s is not a supported keyword (subset: %s/required/additionalProperties/items/enum/const + annotations)", key, subset)
	}
	c.annotations(s, at)

	typ, oneOf := s.Get("type"), s.Get("oneOf")
	if !oneOf.IsUndefined() && !c.older {
		if !typ.IsUndefined() {
			c.bad(at, " cannot declare both type and oneOf")
			return
		}
		c.union(s, at, n, oneOf)
		return
	}
	if typ.IsUndefined() && !c.older {
		for key := range s.Members() {
			if slices.Contains(constraintKeys, key) {
				c.bad(at, ".%s requires type or oneOf", key)
			}
		}
		return
	}
	if typ.IsArray() {
		c.bad(at, ".type must be a single type string (type arrays are not supported)")
		return
	}
	name, _ := typ.Str()
	kind, ok := kindOfType[name]
	if !ok {
		c.bad(at, ".type must be one of object/array/string/number/integer/boolean/null")
		return
	}
	n.kind = kind
	if c.older && at.up == nil && kind != objectNode {
		c.violations.add(notObjectRoot)
	}
	for key := range s.Members() {
		if slices.Contains(constraintKeys, key) && !applies(key, kind) {
			c.bad(at, ".%s is not supported on type %q", key, name)
		}
	}
	switch kind {
	case objectNode:
		c.object(s, at, n)
	case arrayNode:
		if items := s.Get("items"); !items.IsUndefined() {
			n.items = c.child(items, at, ".items")
		}
	default:
		c.scalar(s, at, n, name)
	}
	n.finish()
}

func applies(key string, kind nodeKind) bool {
	switch key {
	case "properties", "required", "additionalProperties":
		return kind == objectNode
	case "items":
		return kind == arrayNode
	default: // enum and const
		return kind != objectNode && kind != arrayNode
	}
}

func (c *compiler) annotations(s jsonvalue.Value, at *place) {
	for _, key := range []string{"description", "title"} {
		if a := s.Get(key); !a.IsUndefined() && a.Kind() != jsonvalue.StringKind {
			c.bad(at, ".%s must be a string", key)
		}
	}
	for _, key := range []string{"default", "examples"} {
		if a := s.Get(key); !a.IsUndefined() && jsonvalue.CheckLossless(a) != nil {
			c.bad(at, ".%s must be lossless JSON", key)
		}
	}
}

func (c *compiler) union(s jsonvalue.Value, at *place, n *node, oneOf jsonvalue.Value) {
	n.kind = unionNode
	for key := range s.Members() {
		if slices.Contains(constraintKeys, key) {
			c.bad(at, ".%s is not supported beside oneOf", key)
		}
	}
	if !oneOf.IsArray() || oneOf.Len() < 2 {
		c.bad(at, ".oneOf must be an array of at least two schemas")
		return
	}
	for i, b := range oneOf.Elements() {
		n.branches = append(n.branches, c.child(b, at, ".oneOf["+strconv.Itoa(i)+"]"))
	}
}

func (c *compiler) object(s jsonvalue.Value, at *place, n *node) {
	props := s.Get("properties")
	if !props.IsUndefined() && !props.IsObject() {
		c.bad(at, ".properties must be an object of schemas")
	}
	for name, p := range props.Members() {
		n.props = append(n.props, prop{name, c.child(p, at, ".properties."+name)})
	}
	if req := s.Get("required"); !req.IsUndefined() {
		c.required(req, props, at, n)
	}
	if extra := s.Get("additionalProperties"); !extra.IsUndefined() {
		open, ok := extra.Bool()
		if !ok {
			c.bad(at, ".additionalProperties must be a boolean")
		}
		n.closed = ok && !open
	}
}

func (c *compiler) required(req, props jsonvalue.Value, at *place, n *node) {
	names := make([]string, 0, req.Len())
	for _, r := range req.Elements() {
		if name, ok := r.Str(); ok {
			names = append(names, name)
		}
	}
	if !req.IsArray() || len(names) < req.Len() {
		c.bad(at, ".required must be an array of strings")
		return
	}
	for _, name := range names {
		if props.IndexOf(name) < 0 {
			c.bad(at, ".required names %s which is not in properties", jsonvalue.String(name))
		}
	}
	n.required = names
}

func (c *compiler) scalar(s jsonvalue.Value, at *place, n *node, typeName string) {
	enum, constant := s.Get("enum"), s.Get("const")
	fits := func(v jsonvalue.Value) bool {
		if c.older {
			return !v.IsArray() && !v.IsObject()
		}
		plain := node{kind: n.kind}
		return plain.check(v) == ""
	}
	if !enum.IsUndefined() {
		values := elements(enum)
		if len(values) == 0 || slices.ContainsFunc(values, func(v jsonvalue.Value) bool { return !fits(v) }) {
			if c.older {
				c.bad(at, ".enum must be a non-empty array of scalars")
			} else {
				c.bad(at, ".enum must be a non-empty array of %s values", typeName)
			}
		} else {
			n.enum = values
		}
	}
	if constant.IsUndefined() {
		return
	}
	switch {
	case !fits(constant) && c.older:
		c.bad(at, ".const must be a scalar")
	case !fits(constant):
		c.bad(at, ".const must be a %s value", typeName)
	case !c.older && n.enum != nil && !slices.ContainsFunc(n.enum, constant.Equal):
		c.bad(at, ".const must be one of %s.enum when both are declared", at)
	}
	n.constant = constant
}
