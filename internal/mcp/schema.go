package mcp

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// inputSchema checks the schema of a tool's arguments and adds what providers
// insist on: type object and properties. Everything else stays as the server
// wrote it, in its order; the codecs of the providers adapt the rest to what each
// of them takes. An error says why no provider could be told of the tool.
func inputSchema(v jsonvalue.Value) (jsonvalue.Value, error) {
	if v.IsUndefined() || v.IsNull() {
		v = jsonvalue.Object()
	}
	if !v.IsObject() {
		return v, fmt.Errorf("it is %s, not an object", v.Kind())
	}
	if d := v.Depth(); d > maxSchemaDepth {
		return v, fmt.Errorf("it is nested %d deep, more than %d", d, maxSchemaDepth)
	}
	if n := len(v.JSON()); n > maxSchemaBytes {
		return v, fmt.Errorf("it has %d bytes, more than %d", n, maxSchemaBytes)
	}
	if err := jsonvalue.CheckLossless(v); err != nil {
		return v, err
	}
	if err := (checker{root: v}).schema(v, ""); err != nil {
		return v, err
	}
	typ, typed := v.Lookup("type")
	if typed && !allows(typ, "object") {
		return v, errors.New("its type must be object")
	}
	if !typed {
		rest := []jsonvalue.Member{{Key: "type", Value: jsonvalue.String("object")}}
		for key, x := range v.Members() {
			rest = append(rest, jsonvalue.Member{Key: key, Value: x})
		}
		v = jsonvalue.Object(rest...)
	}
	if v.Get("properties").IsUndefined() {
		v = v.With("properties", jsonvalue.Object())
	}
	return v, nil
}

func allows(typ jsonvalue.Value, name string) bool {
	if s, ok := typ.Str(); ok {
		return s == name
	}
	for _, x := range typ.Elements() {
		if s, _ := x.Str(); s == name {
			return true
		}
	}
	return false
}

// checker looks at the shape of a schema: whether what must be a schema is one.
type checker struct{ root jsonvalue.Value }

var types = []string{"object", "array", "string", "number", "integer", "boolean", "null"}

func (c checker) schema(v jsonvalue.Value, at string) error {
	if _, ok := v.Bool(); ok && at != "" {
		return nil
	}
	if !v.IsObject() {
		return fmt.Errorf("%s must be a schema, not %s", place(at), v.Kind())
	}
	for key, x := range v.Members() {
		if err := c.keyword(key, x, at); err != nil {
			return err
		}
	}
	return nil
}

func place(at string) string {
	if at == "" {
		return "it"
	}
	return at[1:]
}

func (c checker) keyword(key string, x jsonvalue.Value, at string) error {
	at += "." + key
	switch key {
	case "type":
		list := []jsonvalue.Value{x}
		if x.IsArray() {
			list = list[:0]
			for _, e := range x.Elements() {
				list = append(list, e)
			}
		}
		for _, e := range list {
			if s, ok := e.Str(); !ok || !slices.Contains(types, s) {
				return fmt.Errorf("%s is %s, which is no type", place(at), oneLine(e.String(), 40))
			}
		}
	case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
		if !x.IsObject() {
			return fmt.Errorf("%s must be an object, not %s", place(at), x.Kind())
		}
		for name, s := range x.Members() {
			if err := c.schema(s, at+"."+name); err != nil {
				return err
			}
		}
	case "anyOf", "oneOf", "allOf", "prefixItems":
		if !x.IsArray() {
			return fmt.Errorf("%s must be an array, not %s", place(at), x.Kind())
		}
		return c.list(x, at)
	case "items":
		if x.IsArray() {
			return c.list(x, at)
		}
		return c.schema(x, at)
	case "additionalProperties", "unevaluatedProperties", "additionalItems", "unevaluatedItems", "not", "if", "then", "else", "contains", "propertyNames":
		return c.schema(x, at)
	case "required":
		if !x.IsArray() {
			// Draft 3 has a boolean here, which means nothing to anybody now.
			if _, ok := x.Bool(); ok && strings.Count(at, ".") > 1 {
				return nil
			}
			return fmt.Errorf("%s must be an array, not %s", place(at), x.Kind())
		}
		for _, e := range x.Elements() {
			if _, ok := e.Str(); !ok {
				return fmt.Errorf("%s must hold names only", place(at))
			}
		}
	case "enum":
		if !x.IsArray() {
			return fmt.Errorf("%s must be an array, not %s", place(at), x.Kind())
		}
	case "$ref":
		return c.ref(x, at)
	}
	return nil
}

func (c checker) list(x jsonvalue.Value, at string) error {
	for i, s := range x.Elements() {
		if err := c.schema(s, at+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	return nil
}

// ref makes sure that a reference leads to a place inside the schema; nothing is
// ever fetched. Recursion is fine.
func (c checker) ref(x jsonvalue.Value, at string) error {
	ref, ok := x.Str()
	if !ok {
		return fmt.Errorf("%s must be text", place(at))
	}
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok || rest != "" && rest[0] != '/' {
		return fmt.Errorf("%s leads outside: %s", place(at), oneLine(ref, 80))
	}
	v := c.root
	if rest == "" {
		return nil
	}
	unescape := strings.NewReplacer("~1", "/", "~0", "~", "%25", "%", "%24", "$", "%20", " ")
	for _, token := range strings.Split(rest[1:], "/") {
		token = unescape.Replace(token)
		if i, err := strconv.Atoi(token); err == nil && v.IsArray() && i >= 0 && i < v.Len() {
			v = v.At(i)
			continue
		}
		if v = v.Get(token); v.IsUndefined() {
			return fmt.Errorf("%s leads nowhere: %s", place(at), oneLine(ref, 80))
		}
	}
	return nil
}

// promise compiles what a server promises about structured content; Undefined
// and nil when our own subset cannot say it all: the rest would be a promise that
// nobody keeps.
func promise(output jsonvalue.Value) (jsonvalue.Value, *schema.Validator) {
	if !output.IsObject() {
		return jsonvalue.Value{}, nil
	}
	p := plainSchema(output)
	v, err := schema.Compile(p)
	if err != nil {
		return jsonvalue.Value{}, nil
	}
	return p, v
}

// valueSchema describes what a call gives a program: the content as the server
// sent it and, where there is any, its structured content.
func valueSchema(structured jsonvalue.Value) jsonvalue.Value {
	if structured.IsUndefined() {
		structured = jsonvalue.Object()
	}
	member := func(key string, v jsonvalue.Value) jsonvalue.Member { return jsonvalue.Member{Key: key, Value: v} }
	text := jsonvalue.Object(member("type", jsonvalue.String("string")))
	block := jsonvalue.Object(
		member("type", jsonvalue.String("object")),
		member("properties", jsonvalue.Object(
			member("type", jsonvalue.Object(member("type", jsonvalue.String("string")), member("description", jsonvalue.String("text, image, audio, resource or resource_link")))),
			member("text", text), member("data", text), member("mimeType", text), member("uri", text), member("name", text),
			member("resource", jsonvalue.Object()),
		)),
		member("required", jsonvalue.Array(jsonvalue.String("type"))),
	)
	return jsonvalue.Object(
		member("type", jsonvalue.String("object")),
		member("properties", jsonvalue.Object(
			member("content", jsonvalue.Object(member("type", jsonvalue.String("array")), member("items", block))),
			member("structuredContent", structured),
		)),
		member("required", jsonvalue.Array(jsonvalue.String("content"))),
	)
}

// notes are keywords that constrain nothing.
var notes = []string{"$schema", "$id", "$comment", "format", "readOnly", "writeOnly", "deprecated"}

// plainSchema leaves out what constrains nothing, which our subset does not know.
func plainSchema(v jsonvalue.Value) jsonvalue.Value {
	if !v.IsObject() || v.Depth() > maxSchemaDepth {
		return v
	}
	var out []jsonvalue.Member
	for key, x := range v.Members() {
		switch key {
		case "properties":
			var props []jsonvalue.Member
			for name, s := range x.Members() {
				props = append(props, jsonvalue.Member{Key: name, Value: plainSchema(s)})
			}
			if x.IsObject() {
				x = jsonvalue.Object(props...)
			}
		case "items":
			x = plainSchema(x)
		default:
			if slices.Contains(notes, key) {
				continue
			}
		}
		out = append(out, jsonvalue.Member{Key: key, Value: x})
	}
	return jsonvalue.Object(out...)
}
