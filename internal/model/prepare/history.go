package prepare

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// Lost is what stands in for the result of a call that has none.
const Lost = "[This call has no result: it was interrupted before it could finish, and may or may not have taken effect.]"

// History repairs a conversation so that any server accepts it, and tells what
// it changed. In the result every tool call is answered once, right after its
// message and in its order, under an id that is unique; a result without a call
// has become text; images are there only if images says that the model takes
// them; parts of unknown types have become a line of text; no message and no
// text part is empty. The input is not changed. The same beginning of a
// conversation always gives the same beginning, so that caches stay warm.
func History(messages []model.Message, images bool) ([]model.Message, []Note) {
	h := &history{images: images, ids: map[string]bool{}}
	taken := make([]bool, len(messages))
	for i, m := range messages {
		if taken[i] {
			continue
		}
		switch m.Role {
		case model.RoleAssistant:
			h.assistant(messages, i, taken)
		case model.RoleTool:
			h.orphanResult(m)
		default:
			m.Content = h.parts(m.Content, false)
			h.add(m)
		}
	}
	h.count("IMAGE_DROPPED", h.droppedImages, "image was", "images were", "left out, as the model accepts only text")
	h.count("ORPHAN_CALL", h.orphanCalls, "earlier tool call has", "earlier tool calls have", "no result; the model is told so")
	h.count("ORPHAN_RESULT", h.orphanResults, "earlier tool result has", "earlier tool results have", "no call; sent as text")
	return h.out, h.notes
}

type history struct {
	images bool
	out    []model.Message
	notes  []Note
	ids    map[string]bool

	droppedImages, orphanCalls, orphanResults int
}

func (h *history) count(code string, n int, one, many, what string) {
	switch {
	case n == 1:
		h.notes = append(h.notes, Note{Code: code, Message: "1 " + one + " " + what})
	case n > 1:
		h.notes = append(h.notes, Note{Code: code, Message: strconv.Itoa(n) + " " + many + " " + what})
	}
}

func (h *history) add(m model.Message) {
	if len(m.Content) > 0 {
		h.out = append(h.out, m)
	}
}

// parts leaves out what cannot be sent. Of an assistant's parts reasoning is
// kept as it is: whether it goes back is the codec's business.
func (h *history) parts(parts []model.Part, assistant bool) []model.Part {
	out := make([]model.Part, 0, len(parts))
	for _, p := range parts {
		switch p.Type {
		case model.PartText:
			if p.Text != "" {
				out = append(out, p)
			}
		case model.PartReasoning, model.PartToolCall:
			if assistant {
				out = append(out, p)
			}
		case model.PartImage:
			if _, _, ok := p.Image(); ok && h.images && !assistant {
				out = append(out, p)
				continue
			}
			h.droppedImages++
			out = append(out, model.Text("[An image was here; this model accepts only text.]"))
		default:
			h.notes = append(h.notes, Note{Code: "PART_DROPPED", Message: fmt.Sprintf("a part of type %q was left out, as it cannot be sent to a model", p.Type)})
			out = append(out, model.Text(fmt.Sprintf("[Content of type %q was here; it cannot be shown to this model.]", p.Type)))
		}
	}
	return out
}

// assistant adds an assistant's message and the answers to its calls.
func (h *history) assistant(messages []model.Message, at int, taken []bool) {
	m := messages[at]
	m.Content = h.parts(m.Content, true)
	if len(m.Content) == 0 {
		return
	}
	var answers []model.Message
	for i := range m.Content {
		p := &m.Content[i]
		if p.Type != model.PartToolCall {
			continue
		}
		result, ok := find(messages, at, p.ID, taken)
		p.ID = h.unique(p.ID)
		if ok {
			result.Content = h.parts(result.Content, false)
		} else {
			h.orphanCalls++
			result = model.Message{Role: model.RoleTool, IsError: true, Content: []model.Part{model.Text(Lost)}}
		}
		if len(result.Content) == 0 {
			result.Content = []model.Part{model.Text("[no output]")}
		}
		result.ToolCallID, result.ToolName = p.ID, p.Name
		answers = append(answers, result)
	}
	h.out = append(append(h.out, m), answers...)
}

// find takes the first unused answer to the call, looking as far as the next
// message that makes a call of the same id.
func find(messages []model.Message, at int, id string, taken []bool) (model.Message, bool) {
	for i := at + 1; i < len(messages); i++ {
		m := messages[i]
		if m.Role == model.RoleTool && m.ToolCallID == id && !taken[i] {
			taken[i] = true
			return m, true
		}
		if m.Role == model.RoleAssistant {
			for _, p := range m.Content {
				if p.Type == model.PartToolCall && p.ID == id {
					return model.Message{}, false
				}
			}
		}
	}
	return model.Message{}, false
}

// maxID is the longest id of a call that every server takes back, in bytes:
// OpenAI's refuses longer ones, whoever made them.
const maxID = 40

// plainID reports whether every server takes the id back.
func plainID(id string) bool {
	return len(id) <= maxID && !strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-.:", r))
	})
}

// unique gives a call an id that no call before it has, and that servers other
// than the one that made it take back. It depends on the conversation alone, so
// that it stays the same from request to request.
func (h *history) unique(id string) string {
	if id == "" {
		id = "call"
	}
	if !plainID(id) {
		sum := sha256.Sum256([]byte(id))
		id = "call_" + hex.EncodeToString(sum[:12])
	}
	got := id
	for n := 2; h.ids[got]; n++ {
		got = id + "_" + strconv.Itoa(n)
	}
	h.ids[got] = true
	return got
}

func (h *history) orphanResult(m model.Message) {
	h.orphanResults++
	name := m.ToolName
	if name == "" {
		name = "a tool"
	}
	content := append([]model.Part{model.Text("[Result of " + name + ", whose call is not in this conversation:]")}, h.parts(m.Content, false)...)
	h.add(model.Message{Role: model.RoleUser, Origin: model.OriginContext, Content: content})
}
