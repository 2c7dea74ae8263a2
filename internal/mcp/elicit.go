package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dsh-acp/dsh-acp/internal/elicit"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// The bounds of what a server may ask a person.
const (
	maxFields   = 30
	maxQuestion = 2000
	maxOptions  = 100
)

// elicit puts a server's question to the person, one at a time, on the card of
// the call that it belongs to. Where nobody can be asked it is declined.
func (v *server) elicit(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	decline := func(why string, err error) (*mcp.ElicitResult, error) {
		v.log.Warn("a question of the MCP server is declined: "+why, "err", err)
		return &mcp.ElicitResult{Action: "decline"}, nil
	}
	if req.Params.Mode == "url" {
		return decline("it wants a web page opened", nil)
	}
	select {
	case v.asking <- struct{}{}:
		defer func() { <-v.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	c := v.askedBy()
	if c == nil {
		return decline("no call of its is running", nil)
	}
	who, ok := c.run.Execution().Agent().(elicit.FormElicitor)
	if !ok {
		return decline("there is nobody to ask", nil)
	}
	schema, err := jsonvalue.FromGo(req.Params.RequestedSchema)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestedSchema: " + err.Error()}
	}
	fields, err := formFields(inOrder(schema))
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	// The question waits in the call's own context, so that it goes when the call
	// does and a program's clock stands still; the server may withdraw it, too.
	asking, cancel := context.WithCancel(c.ctx)
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	defer c.pause()()
	exec := c.run.Execution()
	answer, err := who.ElicitForm(asking, exec.CallID(), exec.RootCallID(), elicit.Form{
		Title:  "Question of the MCP server " + oneLine(v.cfg.Name, 60),
		Text:   fmt.Sprintf("The MCP server %s asks: %s", oneLine(v.cfg.Name, 60), oneLine(req.Params.Message, maxQuestion)),
		Fields: fields,
	})
	switch {
	case asking.Err() != nil:
		return &mcp.ElicitResult{Action: "cancel"}, nil
	case errors.Is(err, elicit.ErrDismissed):
		return &mcp.ElicitResult{Action: "decline"}, nil
	case err != nil:
		return decline("it could not be asked", err)
	}
	content, err := answers(fields, answer)
	if err != nil {
		return decline("the answer does not fit", err)
	}
	return &mcp.ElicitResult{Action: "accept", Content: content}, nil
}

// askedBy is the call that a question belongs to: the newest one that is out,
// since the protocol does not say which.
func (v *server) askedBy() *call {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.lastCall) == 0 {
		return nil
	}
	return v.lastCall[len(v.lastCall)-1]
}

// formFields reads a form as the protocol restricts it: a flat object.
func formFields(schema jsonvalue.Value) ([]elicit.Field, error) {
	required := map[string]bool{}
	for _, r := range schema.Get("required").Elements() {
		name, _ := r.Str()
		required[name] = true
	}
	if n := schema.Get("properties").Len(); n > maxFields {
		return nil, fmt.Errorf("requestedSchema has %d fields, more than %d", n, maxFields)
	}
	var out []elicit.Field
	for name, p := range schema.Get("properties").Members() {
		f := elicit.Field{
			Name: name, Type: elicit.FieldType(p.GetString("type")), Required: required[name],
			Title: oneLine(cmp.Or(p.GetString("title"), name), 200), Description: oneLine(p.GetString("description"), 500),
		}
		if d := p.Get("default"); !d.IsUndefined() {
			f.Default = d.JSON()
		}
		switch f.Type {
		case elicit.TextField:
			f.Format = p.GetString("format")
			f.MinLength, f.MaxLength = length(p.Get("minLength")), length(p.Get("maxLength"))
			f.Options = options(p)
		case elicit.NumberField, elicit.IntegerField:
			f.Minimum, f.Maximum = number(p.Get("minimum")), number(p.Get("maximum"))
		case elicit.BooleanField:
		case elicit.ChoicesField:
			if f.Options = options(p.Get("items")); len(f.Options) == 0 {
				return nil, fmt.Errorf("requestedSchema: the field %q has nothing to choose from", name)
			}
		default:
			return nil, fmt.Errorf("requestedSchema: the field %q is of type %q, which no form has", name, string(f.Type))
		}
		if len(f.Options) > maxOptions {
			return nil, fmt.Errorf("requestedSchema: the field %q has more than %d options", name, maxOptions)
		}
		out = append(out, f)
	}
	return out, nil
}

// options reads what can be chosen, in any of the forms there are.
func options(p jsonvalue.Value) (out []elicit.Option) {
	names := p.Get("enumNames")
	for i, e := range p.Get("enum").Elements() {
		if value, ok := e.Str(); ok {
			title, _ := names.At(i).Str()
			out = append(out, elicit.Option{Label: value, Description: oneLine(title, 200)})
		}
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		for _, e := range p.Get(key).Elements() {
			if value, ok := e.Get("const").Str(); ok {
				out = append(out, elicit.Option{Label: value, Description: oneLine(e.GetString("title"), 200)})
			}
		}
	}
	return out
}

func length(v jsonvalue.Value) *uint32 {
	if n, ok := v.Int64(); ok && n >= 0 && n < 1<<32 {
		u := uint32(n)
		return &u
	}
	return nil
}

func number(v jsonvalue.Value) *json.Number {
	lit, ok := v.Literal()
	if _, isNumber := v.Float(); !ok || !isNumber {
		return nil
	}
	n := json.Number(lit)
	return &n
}

// answers takes the fields that were asked for and nothing else.
func answers(fields []elicit.Field, given map[string]json.RawMessage) (map[string]any, error) {
	out := map[string]any{}
	for _, f := range fields {
		raw, ok := given[f.Name]
		if !ok || string(raw) == "null" {
			if f.Required {
				return nil, fmt.Errorf("the field %q is empty", f.Name)
			}
			continue
		}
		var x any
		if err := json.Unmarshal(raw, &x); err != nil {
			return nil, fmt.Errorf("the field %q: %w", f.Name, err)
		}
		// Some editors answer every field with text.
		if s, isText := x.(string); isText {
			switch f.Type {
			case elicit.NumberField, elicit.IntegerField:
				n, err := strconv.ParseFloat(s, 64)
				if err != nil {
					return nil, fmt.Errorf("the field %q must be a number", f.Name)
				}
				x = n
			case elicit.BooleanField:
				x = s == "true"
			case elicit.TextField:
				if s == "" && !f.Required {
					continue
				}
			}
		}
		out[f.Name] = x
	}
	return out, nil
}
