package elicit

import (
	"context"
	"encoding/json"
)

// Form is a question with several fields at once, as somebody else's program may
// ask it.
type Form struct {
	// Title is a short heading; may be empty.
	Title string
	// Text is what is asked. Mandatory.
	Text string
	// Fields may be none: then the person only agrees or does not.
	Fields []Field
}

// FieldType is what a field takes.
type FieldType string

// The types of fields. Several of the options are chosen in a Choices field.
const (
	TextField    FieldType = "string"
	NumberField  FieldType = "number"
	IntegerField FieldType = "integer"
	BooleanField FieldType = "boolean"
	ChoicesField FieldType = "array"
)

// Field is one field of a form.
type Field struct {
	Name        string // the key of the answer
	Type        FieldType
	Title       string // may be empty
	Description string // may be empty
	Required    bool
	// Options are what can be chosen in a text or a choices field; Label is the
	// value and Description what is shown for it. None means free text.
	Options []Option
	// Format is that of a text, such as email; may be empty.
	Format string
	// MinLength, MaxLength, Minimum and Maximum are bounds; nil for none.
	MinLength, MaxLength *uint32
	Minimum, Maximum     *json.Number
	// Default is a JSON text of the field's type; nil for none.
	Default json.RawMessage
}

// FormElicitor puts forms to the user. It behaves as [Elicitor]; the answer holds
// the JSON of every field that was filled in, which is not checked against the
// form.
type FormElicitor interface {
	ElicitForm(ctx context.Context, callID, rootID string, f Form) (map[string]json.RawMessage, error)
}
