package shell

import (
	"fmt"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// TypePrinted keeps in the log what a command had printed when it was cancelled:
// {callId, output}. It comes before the result, which says only that; the card
// shows both, now and when the session is loaded.
const TypePrinted = "tool/printed"

// printedBytes is how much is kept of it, from its end.
const printedBytes = 16 << 10

// printed is the end of a command's output, both streams in the order in which
// they came.
type printed struct {
	end   []byte
	total int64
}

func (p *printed) write(chunk []byte) {
	p.total += int64(len(chunk))
	if over := len(chunk) - printedBytes; over > 0 {
		chunk = chunk[over:]
	}
	if over := len(p.end) + len(chunk) - printedBytes; over > 0 {
		p.end = p.end[:copy(p.end, p.end[over:])]
	}
	p.end = append(p.end, chunk...)
}

// text begins with a whole character, and says what is missing before.
func (p *printed) text() string {
	end := p.end
	for len(end) > 0 && p.total > int64(len(p.end)) && !utf8.RuneStart(end[0]) {
		end = end[1:]
	}
	if skipped := p.total - int64(len(end)); skipped > 0 {
		return fmt.Sprintf("[... %d bytes of output skipped ...]\n%s", skipped, end)
	}
	return string(end)
}

// record logs it. Without a log nothing is lost but the sight of it.
func (p *printed) record(exec *registry.Execution) {
	to, ok := exec.Agent().(interface {
		Record(eventType string, data jsonvalue.Value) error
	})
	if !ok || p.total == 0 {
		return
	}
	_ = to.Record(TypePrinted, jsonvalue.Object(
		jsonvalue.Member{Key: "callId", Value: jsonvalue.String(exec.CallID())},
		jsonvalue.Member{Key: "output", Value: jsonvalue.String(p.text())},
	))
}
