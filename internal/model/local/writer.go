package local

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// writer turns a step into chunks.
type writer struct {
	ctx   context.Context
	yield func(model.Chunk, error) bool
	// input and output are token estimates; index is the next block's.
	input, output int64
	index         int
	stopped       bool
}

// tick is the pace of /slow.
const tick = 100 * time.Millisecond

func (w *writer) play(s step) {
	for i, a := range s {
		switch a.kind {
		case doThink:
			w.block(model.Part{Type: model.PartReasoning, Text: a.text})
		case doSay:
			if i > 0 && (s[i-1].kind == doSay || s[i-1].kind == doSlow) {
				a.text = "\n\n" + a.text // an editor shows blocks without a gap
			}
			w.block(model.Text(a.text))
		case doSlow:
			w.slow(a.duration)
		case doCall:
			w.block(model.Part{Type: model.PartToolCall, ID: a.id, Name: a.name, Arguments: a.arguments})
		case doFail:
			w.fail(&model.Error{Message: a.text, Code: "LOCAL"})
		}
	}
	w.emit(model.UsageChunk(model.Usage{InputTokens: w.input, OutputTokens: w.output}))
	finish := model.FinishStop
	if s.calls("") {
		finish = model.FinishToolCalls
	}
	w.emit(model.FinishChunk(finish))
}

// emit yields a chunk unless the stream has ended.
func (w *writer) emit(c model.Chunk) {
	if w.stopped {
		return
	}
	if err := w.ctx.Err(); err != nil {
		w.fail(err)
		return
	}
	w.stopped = !w.yield(c, nil)
}

func (w *writer) fail(err error) {
	if !w.stopped {
		w.stopped = true
		w.yield(model.Chunk{}, err)
	}
}

// block streams a complete block in pieces.
func (w *writer) block(p model.Part) {
	i := w.index
	w.index++
	w.emit(model.StartChunk(i, p.Type))
	if p.Type == model.PartToolCall {
		for _, s := range pieces(p.Arguments) {
			w.emit(model.ToolCallChunk(i, p.ID, p.Name, s))
		}
		w.output += int64(len(p.Name)+len(p.Arguments)+3) / 4
	} else {
		for _, s := range pieces(p.Text) {
			c := model.TextChunk(i, s)
			if p.Type == model.PartReasoning {
				c = model.ReasoningChunk(i, s)
			}
			w.emit(c)
		}
		w.output += int64(len(p.Text)+3) / 4
	}
	w.emit(model.EndChunk(i, p))
}

// slow streams a dot a tick, and the count of each whole second.
func (w *writer) slow(d time.Duration) {
	i := w.index
	w.index++
	w.emit(model.StartChunk(i, model.PartText))
	var text strings.Builder
	for elapsed := time.Duration(0); elapsed < d && !w.stopped; {
		pause := min(tick, d-elapsed)
		if err := sleep(w.ctx, pause); err != nil {
			w.fail(err)
			return
		}
		elapsed += pause
		piece := "."
		if elapsed%time.Second == 0 {
			piece = fmt.Sprintf(" %ds ", elapsed/time.Second)
		}
		text.WriteString(piece)
		w.emit(model.TextChunk(i, piece))
	}
	w.output += int64(text.Len()+3) / 4
	w.emit(model.EndChunk(i, model.Text(text.String())))
}

// pieceSize is about how many bytes a delta carries.
const pieceSize = 24

// pieces splits a text as a model would stream it: into parts of a few words,
// never inside a character.
func pieces(s string) []string {
	var out []string
	for len(s) > pieceSize {
		n := strings.LastIndexAny(s[:pieceSize], " \n") + 1
		if n == 0 {
			n = pieceSize
			for n < len(s) && !utf8.RuneStart(s[n]) {
				n++
			}
		}
		out = append(out, s[:n])
		s = s[n:]
	}
	if s != "" || out == nil {
		out = append(out, s)
	}
	return out
}
