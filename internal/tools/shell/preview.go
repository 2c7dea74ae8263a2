package shell

import (
	"fmt"
	"time"
)

// The live preview passes on a burst at once and after that so many bytes a
// second. A command that floods its output would otherwise flood the editor;
// the final result says what matters of it anyway.
const (
	previewBurst = 64_000
	previewRate  = 64_000
)

// preview limits live output.
type preview struct {
	out     func([]byte)
	now     func() time.Time
	budget  float64
	last    time.Time
	skipped int
}

func newPreview(out func([]byte)) *preview {
	return &preview{out: out, now: time.Now, budget: previewBurst, last: time.Now()}
}

// write passes the chunk on as a whole or drops it as a whole, so that what
// the editor shows is cut between characters. What was dropped is mentioned as
// soon as something is passed on again.
func (p *preview) write(chunk []byte) {
	now := p.now()
	p.budget = min(previewBurst, p.budget+now.Sub(p.last).Seconds()*previewRate)
	p.last = now
	if float64(len(chunk)) > p.budget {
		p.skipped += len(chunk)
		return
	}
	p.budget -= float64(len(chunk))
	if p.skipped > 0 {
		p.out(fmt.Appendf(nil, "\n[... %d bytes not shown live ...]\n", p.skipped))
		p.skipped = 0
	}
	p.out(chunk)
}
