package agent

import (
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/session"
)

// The pieces in which a summary is logged while it is written, in bytes, and how
// much of it at most: what the model was asked for is shorter.
const (
	summaryPiece  = 240
	mostInPieces  = 64 << 10
	pieceOfUTF8   = utf8.UTFMax
	smallestPiece = summaryPiece - pieceOfUTF8
)

// summaryPieces logs a summary while it is written, so that whoever waits for it
// sees it grow. The pieces depend on the text alone and not on how it arrives;
// what is left at the end comes with the summary itself.
type summaryPieces struct {
	s       *Session
	id      string // of the compaction
	attempt int
	waiting string
	logged  int
}

// add takes what the model has said. Its error is the turn's.
func (p *summaryPieces) add(text string) error {
	if p.logged >= mostInPieces {
		return nil
	}
	p.waiting += text
	for len(p.waiting) > summaryPiece && p.logged < mostInPieces {
		n := summaryPiece
		for n > smallestPiece && !utf8.RuneStart(p.waiting[n]) {
			n--
		}
		if _, err := p.s.append(session.TypeCompactChunk, session.Data("id", p.id, "attempt", p.attempt,
			"chunk", session.Data("type", "text-delta", "text", p.waiting[:n]))); err != nil {
			return logFailure(err)
		}
		p.waiting = p.waiting[n:]
		p.logged += n
	}
	return nil
}
