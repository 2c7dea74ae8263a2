package session

import (
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

const textNoResult = "the result of this call was not recorded, so its outcome is unknown; verify before you retry it"

// Messages folds a log to the conversation a model is sent: the surface events
// in the order their surfaceOps give them.
//
// The conversation is well-formed whatever the log holds: the results of an
// assistant message's calls follow it directly and in the calls' order, each
// call has exactly one (an unanswered call gets an error result), and a result
// whose call is gone becomes a user message that quotes it. Servers refuse
// every later request of a conversation that breaks this.
func Messages(events []Event) []model.Message {
	var entries []entry
	for _, seq := range surfaceOf(events) {
		if m, ok := messageOf(eventAt(events, seq)); ok {
			entries = append(entries, entry{m: m})
		}
	}
	return pair(entries)
}

// ChunkOf reads an assistant/chunk event.
func ChunkOf(e Event) (model.Chunk, error) { return model.ChunkFromValue(e.Data.Get("chunk")) }

// MessageOf is the message that one event of the model's context stands for;
// false when it has no content. [Messages] is for whole conversations.
func MessageOf(e Event) (model.Message, bool) { return messageOf(e) }

// messageOf turns one surface event into a message; false when it has no
// content.
func messageOf(e Event) (model.Message, bool) {
	m := model.Message{Content: parts(e.Data.Get("content"))}
	switch e.Type {
	case TypeUserMessage:
		m.Role, m.Origin = model.RoleUser, model.OriginPrompt
	case TypeSteeringMessage:
		m.Role, m.Origin = model.RoleUser, model.OriginSteering
	case TypeContextMessage:
		m.Role, m.Origin = model.RoleUser, model.OriginContext
	case TypeAssistantMessage:
		m.Role = model.RoleAssistant
		by := e.Data.Get("provenance")
		m.Provider, m.Model = by.GetString("provider"), by.GetString("model")
	case TypeToolResult:
		m.Role = model.RoleTool
		m.ToolCallID = e.Data.GetString("callId")
		m.IsError, _ = e.Data.Get("isError").Bool()
		if len(m.Content) == 0 {
			// An empty result is still the answer to its call.
			m.Content = []model.Part{model.Text("")}
		}
	}
	return m, len(m.Content) > 0
}

// parts reads content blocks; one that is malformed becomes text with its
// JSON, so that nothing is lost.
func parts(v jsonvalue.Value) []model.Part {
	out := make([]model.Part, 0, v.Len())
	for _, block := range v.Elements() {
		p, err := model.PartFromValue(block)
		if err != nil {
			p = model.Text(block.String())
		}
		out = append(out, p)
	}
	return out
}

// entry is a message on its way through pair.
type entry struct {
	m     model.Message
	taken bool // a result that has been put behind its call
}

func pair(entries []entry) []model.Message {
	out := make([]model.Message, 0, len(entries))
	for i := range entries {
		e := &entries[i]
		if e.m.Role == model.RoleTool {
			if !e.taken {
				out = append(out, orphan(e.m))
			}
			continue
		}
		out = append(out, e.m)
		for _, call := range e.m.ToolCalls() {
			out = append(out, resultOf(call, entries[i+1:]))
		}
	}
	return out
}

// resultOf takes the result of a call from what follows its message. It stops
// where a later message uses the same id for a call of its own.
func resultOf(call model.Part, after []entry) model.Message {
	for i := range after {
		e := &after[i]
		if e.m.Role == model.RoleTool && !e.taken && e.m.ToolCallID == call.ID {
			e.taken = true
			m := e.m
			m.ToolName = call.Name
			return m
		}
		if e.m.Role == model.RoleAssistant && names(e.m, call.ID) {
			break
		}
	}
	return model.Message{
		Role:       model.RoleTool,
		Content:    []model.Part{model.Text("Error: " + textNoResult)},
		ToolCallID: call.ID,
		ToolName:   call.Name,
		IsError:    true,
	}
}

func names(m model.Message, id string) bool {
	for _, c := range m.ToolCalls() {
		if c.ID == id {
			return true
		}
	}
	return false
}

func orphan(m model.Message) model.Message {
	content := append([]model.Part{model.Text("[The result of an earlier tool call that is no longer part of this conversation:]")}, m.Content...)
	return model.Message{Role: model.RoleUser, Origin: model.OriginContext, Content: content}
}
