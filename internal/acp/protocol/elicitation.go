package protocol

import (
	"bytes"
	"encoding/json"
	"errors"
)

// ElicitationScope says what a question to the user belongs to: a session, with
// or without one of its tool calls, or a request of the client's.
type ElicitationScope struct {
	SessionID  string `json:"sessionId,omitempty"`
	ToolCallID string `json:"toolCallId,omitempty"`
	// RequestID is the raw id of the request, if there is no session.
	RequestID json.RawMessage `json:"requestId,omitempty"`
}

// Validate says what keeps the scope from being sent.
func (s ElicitationScope) Validate() error {
	if (s.SessionID == "") == (s.RequestID == nil) {
		return invalid("scope", "needs either a session or a request")
	}
	if s.ToolCallID != "" && s.SessionID == "" {
		return invalid("toolCallId", "needs a session")
	}
	return needJSON("requestId", s.RequestID)
}

// FormElicitation are the parameters of elicitation/create that show a form. It
// must not ask for secrets, and may be sent only to a client that can show
// forms.
type FormElicitation struct {
	Mode formTag `json:"mode"`
	ElicitationScope
	Message         string     `json:"message"`
	RequestedSchema FormSchema `json:"requestedSchema"`
	Meta            Meta       `json:"_meta,omitempty"`
}

// URLElicitation are the parameters of elicitation/create that send the user to
// a web page. It may be sent only to a client that can open pages.
type URLElicitation struct {
	Mode urlTag `json:"mode"`
	ElicitationScope
	Message       string `json:"message"`
	ElicitationID string `json:"elicitationId"`
	URL           string `json:"url"`
	Meta          Meta   `json:"_meta,omitempty"`
}

// CompleteElicitation are the parameters of elicitation/complete.
type CompleteElicitation struct {
	ElicitationID string `json:"elicitationId"`
	Meta          Meta   `json:"_meta,omitempty"`
}

// FormSchema describes a form: a flat object.
type FormSchema struct {
	Type        objectTag  `json:"type"`
	Title       string     `json:"title,omitempty"`
	Description string     `json:"description,omitempty"`
	Properties  FormFields `json:"properties"`
	Required    []string   `json:"required,omitempty"`
	Meta        Meta       `json:"_meta,omitempty"`
}

// FormFields are the fields of a form, in the order they are shown in.
type FormFields []FormField

// FormField is one field of a form. Type says which members count.
type FormField struct {
	// Name is the key of the field in the answer.
	Name string `json:"-"`
	// Type is string, number, integer, boolean, or array for a choice of several.
	Type        string `json:"type"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
	// MinLength, MaxLength, Pattern, Format, Enum and OneOf belong to string.
	MinLength *uint32      `json:"minLength,omitempty"`
	MaxLength *uint32      `json:"maxLength,omitempty"`
	Pattern   string       `json:"pattern,omitempty"`
	Format    string       `json:"format,omitempty"`
	Enum      []string     `json:"enum,omitempty"`
	OneOf     []FormChoice `json:"oneOf,omitempty"`
	// Minimum and Maximum belong to number and integer.
	Minimum json.Number `json:"minimum,omitempty"`
	Maximum json.Number `json:"maximum,omitempty"`
	// MinItems, MaxItems and Items belong to array.
	MinItems *uint64      `json:"minItems,omitempty"`
	MaxItems *uint64      `json:"maxItems,omitempty"`
	Items    *FormChoices `json:"items,omitempty"`
	// Default is a JSON text of the field's type.
	Default json.RawMessage `json:"default,omitempty"`
	Meta    Meta            `json:"_meta,omitempty"`
}

// FormChoice is a value with a title.
type FormChoice struct {
	Const       string `json:"const"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	Meta        Meta   `json:"_meta,omitempty"`
}

// FormChoices are the values of a field that takes several.
type FormChoices struct {
	AnyOf List[FormChoice] `json:"anyOf"`
	Meta  Meta             `json:"_meta,omitempty"`
}

// MarshalJSON writes an object whose members are in the order of the fields.
func (f FormFields) MarshalJSON() ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteByte('{')
	for i, field := range f {
		key, err := encode(field.Name)
		if err != nil {
			return nil, err
		}
		value, err := encode(field)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			buf.WriteByte(',')
		}
		buf.Write(key)
		buf.WriteByte(':')
		buf.Write(value)
	}
	buf.WriteByte('}')
	return buf.Bytes(), nil
}

// Validate says what keeps the form from being sent.
func (e FormElicitation) Validate() error {
	err := errors.Join(e.ElicitationScope.Validate(), needText("message", e.Message),
		each("requestedSchema.properties", e.RequestedSchema.Properties))
	names := map[string]bool{}
	for _, f := range e.RequestedSchema.Properties {
		if names[f.Name] {
			err = errors.Join(err, invalid("requestedSchema.properties", "have a name twice: "+f.Name))
		}
		names[f.Name] = true
	}
	for _, r := range e.RequestedSchema.Required {
		if !names[r] {
			err = errors.Join(err, invalid("requestedSchema.required", "names no property: "+r))
		}
	}
	return err
}

// Validate says what keeps the field from being sent.
func (f FormField) Validate() error {
	err := errors.Join(needText("name", f.Name), needJSON("default", f.Default),
		oneOf("type", f.Type, "string", "number", "integer", "boolean", "array"))
	text := f.MinLength != nil || f.MaxLength != nil || f.Pattern != "" || f.Format != "" || f.Enum != nil || f.OneOf != nil
	number := f.Minimum != "" || f.Maximum != ""
	list := f.MinItems != nil || f.MaxItems != nil || f.Items != nil
	if text && f.Type != "string" || number && f.Type != "number" && f.Type != "integer" || list && f.Type != "array" {
		err = errors.Join(err, invalid("type", "does not go with the limits of "+f.Name))
	}
	if f.Type == "array" && f.Items == nil {
		err = errors.Join(err, invalid("items", "are missing"))
	}
	if f.Format != "" {
		err = errors.Join(err, oneOf("format", f.Format, "email", "uri", "date", "date-time"))
	}
	return err
}

// Validate says what keeps the request from being sent.
func (e URLElicitation) Validate() error {
	return errors.Join(e.ElicitationScope.Validate(), needText("message", e.Message),
		needText("elicitationId", e.ElicitationID), needText("url", e.URL))
}

// Validate says what keeps the notification from being sent.
func (e CompleteElicitation) Validate() error { return needText("elicitationId", e.ElicitationID) }

// ElicitationAnswer is what the user did with a question.
type ElicitationAnswer struct {
	// Accepted and Declined: neither means cancelled, as does an action that is
	// not known.
	Accepted, Declined bool
	// Content are the fields of an accepted form, as JSON texts. They are not
	// checked against the form's schema.
	Content map[string]json.RawMessage
}

// DecodeElicitation reads the result of elicitation/create.
func DecodeElicitation(result json.RawMessage) (ElicitationAnswer, error) {
	d := decodeParams(result)
	var a ElicitationAnswer
	switch d.str("action") {
	case "accept":
		a.Accepted = true
		if content := d.object("content"); content != nil {
			a.Content = content.members
		}
	case "decline":
		a.Declined = true
	}
	return a, answerFault(MethodElicitationCreate, d)
}
