package mcp

import (
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// orderKey is an annotation that we put into the schema of a form on its way to
// the library, which reads objects into maps: the names of the fields in the
// order in which the server wrote them.
const orderKey = "$comment"

// keepOrder annotates the form that a request asks for.
func keepOrder(msg jsonrpc.Message) {
	req, ok := msg.(*jsonrpc.Request)
	if !ok || req.Method != "elicitation/create" {
		return
	}
	params, err := jsonvalue.Parse(req.Params)
	schema := params.Get("requestedSchema")
	if err != nil || !schema.IsObject() {
		return
	}
	var names []jsonvalue.Value
	for name := range schema.Get("properties").Members() {
		names = append(names, jsonvalue.String(name))
	}
	schema = schema.With(orderKey, jsonvalue.String(jsonvalue.Array(names...).String()))
	req.Params = params.With("requestedSchema", schema).JSON()
}

// inOrder puts the properties of a form back into their order.
func inOrder(schema jsonvalue.Value) jsonvalue.Value {
	names, err := jsonvalue.ParseString(schema.GetString(orderKey))
	props := schema.Get("properties")
	if err != nil || names.Len() != props.Len() {
		return schema
	}
	var ordered []jsonvalue.Member
	for _, n := range names.Elements() {
		name, _ := n.Str()
		p, ok := props.Lookup(name)
		if !ok {
			return schema
		}
		ordered = append(ordered, jsonvalue.Member{Key: name, Value: p})
	}
	return schema.With("properties", jsonvalue.Object(ordered...))
}
