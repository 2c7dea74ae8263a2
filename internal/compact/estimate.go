package compact

import (
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// What is counted where nothing but a guess can be had, in tokens.
const (
	perMessage = 6
	perImage   = 1600
)

// Tokens guesses how many tokens a text takes: four letters of the Latin script
// make one, and every other character is one. Tokenizers differ by a fifth
// either way, so what is decided by it must leave room.
func Tokens(s string) int64 {
	plain, other := 0, 0
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			plain++
			i++
			continue
		}
		_, n := utf8.DecodeRuneInString(s[i:])
		other++
		i += n
	}
	return int64((plain+3)/4 + other)
}

// MessageTokens guesses how many tokens a message takes.
func MessageTokens(m model.Message) int64 {
	n := int64(perMessage)
	for _, p := range m.Content {
		switch p.Type {
		case model.PartImage:
			n += perImage
		case model.PartToolCall:
			n += Tokens(p.Name) + Tokens(p.Arguments) + perMessage
		default:
			n += Tokens(p.Text)
		}
	}
	return n
}

func eventTokens(e session.Event) int64 {
	m, ok := session.MessageOf(e)
	if !ok {
		return 0
	}
	return MessageTokens(m)
}

// Conversation guesses how many tokens the conversation takes by itself.
func Conversation(events []session.Event) (n int64) {
	for _, e := range session.Surface(events) {
		n += eventTokens(e)
	}
	return n
}

// Used says how much of the context window the next request takes, in tokens:
// what the provider counted with the last answer that is still part of the
// context, and a guess for what came after it. Without such a count all of it is
// guessed; overhead is then added, for what every request holds besides the
// conversation.
func Used(events []session.Event, overhead int64) int64 {
	surface := session.Surface(events)
	changed := int64(-1) // the last event that took something out
	for _, e := range surface {
		if e.SurfaceOp.IsObject() {
			changed = max(changed, e.Seq)
		}
	}
	after := int64(0)
	for i := len(surface) - 1; i >= 0; i-- {
		e := surface[i]
		if e.Type == session.TypeAssistantMessage && e.Seq > changed {
			if u, err := model.UsageFromValue(e.Data.Get("usage")); err == nil && u.Context() > 0 {
				return u.Context() + after
			}
		}
		after += eventTokens(e)
	}
	return after + overhead
}
