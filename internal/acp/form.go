package acp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/elicit"
)

// AskForm puts a form to the person. A client that shows no forms can still be
// asked a form that comes down to one choice.
func (s *Server) AskForm(ctx context.Context, sess *agent.Session, callID, rootID string, f elicit.Form) (map[string]json.RawMessage, error) {
	l, perr := s.session(sess.SessionID())
	if perr != nil {
		return nil, elicit.ErrNoChannel
	}
	if !l.forms {
		return s.askFormByOptions(ctx, sess, callID, rootID, f)
	}
	if _, shown := l.announced(callID); !shown {
		callID = rootID
	}
	schema := protocol.FormSchema{Title: f.Title, Properties: protocol.FormFields{}}
	for _, field := range f.Fields {
		schema.Properties = append(schema.Properties, formField(field))
		if field.Required {
			schema.Required = append(schema.Required, field.Name)
		}
	}
	raw, err := s.callForm(ctx, protocol.FormElicitation{
		ElicitationScope: protocol.ElicitationScope{SessionID: l.agent.SessionID(), ToolCallID: callID},
		Message:          f.Text, RequestedSchema: schema,
	})
	if err == nil {
		var answer protocol.ElicitationAnswer
		if answer, err = protocol.DecodeElicitation(raw); err == nil {
			if !answer.Accepted {
				return nil, elicit.ErrDismissed
			}
			return answer.Content, nil
		}
	}
	if ctx.Err() != nil {
		return nil, errors.Join(ctx.Err(), err)
	}
	if errors.Is(err, elicit.ErrUnanswered) {
		return nil, err
	}
	s.log.Warn("a form could not be shown", "session", l.agent.SessionID(), "err", err)
	return nil, errors.Join(elicit.ErrFailed, err)
}

func formField(f elicit.Field) protocol.FormField {
	out := protocol.FormField{
		Name: f.Name, Type: string(f.Type), Title: f.Title, Description: f.Description, Format: f.Format,
		MinLength: f.MinLength, MaxLength: f.MaxLength, Default: f.Default,
	}
	if f.Minimum != nil {
		out.Minimum = *f.Minimum
	}
	if f.Maximum != nil {
		out.Maximum = *f.Maximum
	}
	var choices []protocol.FormChoice
	for _, o := range f.Options {
		title := o.Description
		if title == "" {
			title = o.Label
		}
		choices = append(choices, protocol.FormChoice{Const: o.Label, Title: title})
	}
	if f.Type == elicit.ChoicesField {
		out.Items = &protocol.FormChoices{AnyOf: choices}
	} else {
		out.OneOf = choices
	}
	return out
}

// askFormByOptions asks a form that comes down to one choice with buttons.
func (s *Server) askFormByOptions(ctx context.Context, sess *agent.Session, callID, rootID string, f elicit.Form) (map[string]json.RawMessage, error) {
	q := elicit.Question{Text: f.Text, Header: f.Title}
	values := map[string]json.RawMessage{}
	name := ""
	switch {
	case len(f.Fields) == 0:
		q.Options = []elicit.Option{{Label: "Agree"}, {Label: "Decline"}}
	case len(f.Fields) > 1:
		return nil, elicit.ErrNoChannel
	case f.Fields[0].Type == elicit.BooleanField:
		name = f.Fields[0].Name
		q.Options = []elicit.Option{{Label: "Yes"}, {Label: "No"}}
		values["Yes"], values["No"] = json.RawMessage("true"), json.RawMessage("false")
	case f.Fields[0].Type == elicit.TextField && len(f.Fields[0].Options) > 0:
		name = f.Fields[0].Name
		q.Options = f.Fields[0].Options
		for _, o := range q.Options {
			values[o.Label], _ = json.Marshal(o.Label)
		}
	default:
		return nil, elicit.ErrNoChannel
	}
	if name != "" {
		q.Detail = f.Fields[0].Title
		if d := f.Fields[0].Description; d != "" {
			q.Detail += "\n" + d
		}
	}
	a, err := s.AskUser(ctx, sess, callID, rootID, q)
	switch {
	case err != nil:
		return nil, err
	case len(a.Selected) != 1:
		return nil, elicit.ErrNoAnswer
	case name == "" && a.Selected[0] != "Agree":
		return nil, elicit.ErrDismissed
	case name == "":
		return map[string]json.RawMessage{}, nil
	}
	return map[string]json.RawMessage{name: values[a.Selected[0]]}, nil
}
