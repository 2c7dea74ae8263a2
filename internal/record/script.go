package record

import (
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// script is the model's part of a log, one entry a request: the form that
// package replay reads as an override. Unlike the log itself it says how requests
// ended that failed or were cancelled.
type script struct {
	entries []jsonvalue.Value
	odd     []string // what a replay cannot do again

	chunks  []jsonvalue.Value // of the request under way
	asking  bool
	trigger string // of the compaction under way
	again   bool   // the request is repeated after a compaction
	summary string // what came of a summary so far
}

func scriptOf(events []session.Event) *script {
	s := &script{}
	for _, e := range events {
		s.take(e)
	}
	if s.asking { // the program was killed
		s.hang()
	}
	return s
}

func (s *script) take(e session.Event) {
	switch e.Type {
	case session.TypeStepStart:
		s.begin()
		s.again = false
	case session.TypeAssistantChunk:
		s.chunks = append(s.chunks, e.Data.Get("chunk"))
	case session.TypeAssistantMessage:
		s.add("chunks", s.chunks)
	case session.TypeRetry:
		again, _ := e.Data.Get("compaction").Bool()
		if s.again && !again {
			s.again = false // the agent says this itself
			return
		}
		wait := member("waitMs", e.Data.Get("delayMs"))
		chunks := s.chunks
		if again {
			chunks = s.partOfSummary()
		}
		s.add("throw", chunks, append(failure(e.Data.Get("failure")), member("retryable", jsonvalue.Bool(true)), wait)...)
		if !again {
			s.begin()
		}
	case session.TypeCompactChunk:
		s.summary += e.Data.Get("chunk").GetString("text")
	case session.TypeCompactStart:
		s.summary = ""
		s.trigger = e.Data.GetString("trigger")
		if s.trigger == "manual" {
			return
		}
		// A replayed model says of no conversation how long it may be; being
		// refused leads to the same.
		refusal := jsonvalue.Object(member("message", jsonvalue.String("the conversation is too long")), member("code", jsonvalue.String("CONTEXT_LENGTH")))
		shown := len(s.chunks) > 0
		s.add("throw", s.chunks, failure(refusal)...)
		s.begin()
		s.again = s.trigger == "overflow" && shown
	case session.TypeCompactSummary:
		text := ""
		for _, b := range e.Data.Get("content").Elements() {
			text += b.GetString("text")
		}
		var chunks []jsonvalue.Value
		for _, c := range []model.Chunk{
			model.StartChunk(0, model.PartText), model.TextChunk(0, text), model.EndChunk(0, model.Text(text)), model.FinishChunk(model.FinishStop),
		} {
			chunks = append(chunks, c.Value())
		}
		asking := s.asking
		s.add("chunks", chunks)
		if s.asking = asking; asking {
			s.begin()
		}
	case session.TypeCompactEnd:
		s.compactEnd(e.Data)
	case session.TypeTurnEnd:
		if !s.asking {
			return
		}
		if f := e.Data.Get("reason").Get("failure"); !f.IsUndefined() {
			s.add("throw", s.chunks, failure(f)...)
			return
		}
		s.hang()
	}
}

func (s *script) compactEnd(d jsonvalue.Value) {
	asking := s.asking
	switch d.GetString("status") {
	case session.CompactFailed:
		if d.Get("error").GetString("code") == "NOT_SHORTER" {
			s.odd = append(s.odd, "a summary was thrown away, and is not in the log")
			return
		}
		s.add("throw", s.partOfSummary(), failure(d.Get("error"))...)
		if s.trigger == "auto" {
			s.odd = append(s.odd, "a summary failed that had been asked for in good time; played again, the turn fails with it")
		}
	case session.CompactCancelled:
		s.add("hang", s.partOfSummary())
	default:
		return
	}
	s.asking = asking
}

// partOfSummary is what came of a summary that was not finished.
func (s *script) partOfSummary() []jsonvalue.Value {
	text := s.summary
	s.summary = ""
	if text == "" {
		return []jsonvalue.Value{}
	}
	return []jsonvalue.Value{model.StartChunk(0, model.PartText).Value(), model.TextChunk(0, text).Value()}
}

func (s *script) begin() { s.asking, s.chunks = true, nil }

func (s *script) hang() { s.add("hang", s.chunks) }

// add ends the request under way.
func (s *script) add(kind string, chunks []jsonvalue.Value, more ...jsonvalue.Member) {
	ms := append([]jsonvalue.Member{member("kind", jsonvalue.String(kind)), member("chunks", jsonvalue.Array(chunks...))}, more...)
	s.entries = append(s.entries, jsonvalue.Object(ms...))
	s.asking, s.chunks = false, nil
}

func failure(f jsonvalue.Value) []jsonvalue.Member {
	ms := []jsonvalue.Member{member("message", jsonvalue.String(f.GetString("message")))}
	if code := f.GetString("code"); code != "" {
		ms = append(ms, member("code", jsonvalue.String(code)))
	}
	return ms
}
