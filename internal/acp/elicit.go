package acp

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/elicit"
)

// The fields of a question's form.
const (
	fieldChoice = "choice"
	fieldCustom = "custom"
)

// maxOptionQuestion is how many options a question may have that is asked as a
// permission request: there are four kinds, and clients tell options apart by
// them.
const maxOptionQuestion = 4

// AskUser puts a tool's question to the person: as a form where the client shows
// forms, else as a permission request where the question fits one. A form is
// withdrawn when nobody has answered within Options.QuestionTimeout, since not
// every client that says it shows forms answers them; a permission request has no
// deadline. A cancelled turn withdraws both.
func (s *Server) AskUser(ctx context.Context, sess *agent.Session, callID, rootID string, q elicit.Question) (elicit.Answer, error) {
	l, perr := s.session(sess.SessionID())
	if perr != nil {
		return elicit.Answer{}, elicit.ErrNoChannel
	}
	if _, shown := l.announced(callID); !shown {
		callID = rootID // a program's call that has no card of its own
	}
	var a elicit.Answer
	var err error
	switch {
	case l.forms:
		a, err = s.askByForm(ctx, l, callID, q)
	case !q.Multi && len(q.Options) > 0 && len(q.Options) <= maxOptionQuestion:
		a, err = s.askByOptions(ctx, l, callID, q)
	default:
		return elicit.Answer{}, elicit.ErrNoChannel
	}
	switch {
	case err == nil || ctx.Err() != nil:
		return a, errors.Join(ctx.Err(), err)
	case !errors.Is(err, elicit.ErrDismissed) && !errors.Is(err, elicit.ErrNoAnswer) && !errors.Is(err, elicit.ErrNoChannel) && !errors.Is(err, elicit.ErrUnanswered):
		s.log.Warn("a question could not be asked", "session", l.agent.SessionID(), "err", err)
		return a, errors.Join(elicit.ErrFailed, err)
	}
	return a, err
}

// askByForm asks with elicitation/create.
func (s *Server) askByForm(ctx context.Context, l *liveSession, callID string, q elicit.Question) (elicit.Answer, error) {
	params := protocol.FormElicitation{
		ElicitationScope: protocol.ElicitationScope{SessionID: l.agent.SessionID(), ToolCallID: callID},
		Message:          message(q), RequestedSchema: form(q),
	}
	raw, err := s.callForm(ctx, params)
	if err != nil {
		return elicit.Answer{}, err
	}
	answer, err := protocol.DecodeElicitation(raw)
	switch {
	case err != nil:
		return elicit.Answer{}, err
	case !answer.Accepted:
		return elicit.Answer{}, elicit.ErrDismissed
	}
	return answerOf(answer.Content)
}

// callForm sends elicitation/create and waits for the answer, for a bounded time.
func (s *Server) callForm(ctx context.Context, params protocol.FormElicitation) (json.RawMessage, error) {
	if limit := s.opt.QuestionTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, elicit.ErrUnanswered)
		defer cancel()
	}
	raw, err := s.call(ctx, protocol.MethodElicitationCreate, params, sentNothing)
	if errors.Is(err, elicit.ErrUnanswered) {
		s.log.Warn("a question was not answered in time and is withdrawn", "session", params.SessionID, "timeout", s.opt.QuestionTimeout)
	}
	return raw, err
}

// message is the question with what there is to read before.
func message(q elicit.Question) string {
	if q.Detail == "" {
		return q.Text
	}
	return q.Text + "\n\n" + q.Detail
}

// form has a field for the choice and one for an answer in own words.
func form(q elicit.Question) protocol.FormSchema {
	schema := protocol.FormSchema{Title: q.Header}
	if schema.Title == "" {
		schema.Title = "Question"
	}
	if len(q.Options) == 0 {
		schema.Properties = protocol.FormFields{{Name: fieldCustom, Type: "string", Title: q.Text}}
		schema.Required = []string{fieldCustom}
		return schema
	}
	var choices []protocol.FormChoice
	for _, o := range q.Options {
		choices = append(choices, protocol.FormChoice{Const: o.Label, Title: optionText(o)})
	}
	choice := protocol.FormField{
		Name: fieldChoice, Type: "string", Title: q.Text, OneOf: choices,
		Description: "Choose one option, or fill a custom answer below.",
	}
	if q.Multi {
		choice.Type, choice.OneOf, choice.Items = "array", nil, &protocol.FormChoices{AnyOf: choices}
		choice.Description = "Choose one or more options, or fill a custom answer below."
	}
	schema.Properties = protocol.FormFields{choice, {
		Name: fieldCustom, Type: "string", Title: "Custom answer",
		Description: "Optional free-form answer. Leave empty to use the selected option.",
	}}
	return schema
}

func optionText(o elicit.Option) string {
	if o.Description == "" {
		return o.Label
	}
	return o.Label + ": " + o.Description
}

// answerOf reads a filled form. Own words win over a choice.
func answerOf(content map[string]json.RawMessage) (elicit.Answer, error) {
	var custom string
	if json.Unmarshal(content[fieldCustom], &custom) == nil {
		if custom = strings.TrimSpace(custom); custom != "" {
			return elicit.Answer{Custom: custom}, nil
		}
	}
	var a elicit.Answer
	var one string
	var several []json.RawMessage
	raw := content[fieldChoice]
	if json.Unmarshal(raw, &several) != nil {
		several = []json.RawMessage{raw}
	}
	for _, v := range several {
		if one = ""; json.Unmarshal(v, &one) == nil && one != "" {
			a.Selected = append(a.Selected, one)
		}
	}
	if len(a.Selected) == 0 {
		return a, elicit.ErrNoAnswer
	}
	return a, nil
}

// askByOptions asks with session/request_permission: the question is the title
// and every option a button. No two share a kind.
func (s *Server) askByOptions(ctx context.Context, l *liveSession, callID string, q elicit.Question) (elicit.Answer, error) {
	call, ok := l.announced(callID)
	if !ok {
		return elicit.Answer{}, elicit.ErrNoChannel
	}
	kinds := [maxOptionQuestion]protocol.OptionKind{protocol.AllowOnce, protocol.RejectOnce, protocol.AllowAlways, protocol.RejectAlways}
	var options []protocol.PermissionOption
	var explained []string
	for i, o := range q.Options {
		options = append(options, protocol.PermissionOption{OptionID: "answer-" + strconv.Itoa(i+1), Name: o.Label, Kind: kinds[i]})
		if o.Description != "" {
			explained = append(explained, "- "+optionText(o))
		}
	}
	shown := toolCall(call).Change()
	shown.Title, shown.Status, shown.Meta = q.Text, "", withParent(nil, call.ParentID)
	text := message(q)
	if len(explained) > 0 {
		text += "\n\n" + strings.Join(explained, "\n")
	}
	shown.Content = []protocol.ToolContent{protocol.ShowText(text)}
	params := protocol.NewRequestPermission(l.agent.SessionID(), shown, options)
	raw, err := s.call(ctx, protocol.MethodRequestPermission, params, sentNothing)
	if err != nil {
		return elicit.Answer{}, err
	}
	outcome, err := protocol.DecodePermissionOutcome(raw)
	switch {
	case err != nil:
		return elicit.Answer{}, err
	case outcome.Cancelled:
		return elicit.Answer{}, elicit.ErrDismissed
	}
	for i, o := range options {
		if o.OptionID == outcome.OptionID {
			return elicit.Answer{Selected: []string{q.Options[i].Label}}, nil
		}
	}
	return elicit.Answer{}, errors.New("the client chose an option that was not offered: " + outcome.OptionID)
}
