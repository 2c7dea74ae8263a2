package acp

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/cards"
)

// The bounds of live output. It is a preview: the end of the call shows what was
// left out of it, so that a command which floods its output costs little.
const (
	// outputDelay is from the first byte to its frame. What comes meanwhile goes
	// with it.
	outputDelay = 30 * time.Millisecond
	// outputBusy is the delay once a call has streamed outputBurst bytes, or while
	// the client does not keep up.
	outputBusy  = 250 * time.Millisecond
	outputBurst = 128 << 10
	// outputWindow is how much of a call's output waits; then its beginning goes.
	outputWindow = 32 << 10
	// outputTotal is how much of one call is streamed at all.
	outputTotal = 1 << 20
	// outputKept is how much of what was streamed is remembered until the call
	// ends; no final text is longer.
	outputKept = 256 << 10

	// Where the whole text is sent each time it is short, and sent ever more
	// rarely the longer a call takes.
	tailBytes   = 4 << 10
	tailEvery   = 250 * time.Millisecond
	tailSlowest = 5 * time.Second
	tailShare   = 20 // of the time that the call has taken
)

// outputs shows the live output of a session's calls. Writers never wait for the
// client: what it is too slow for is left out, which is said.
type outputs struct {
	order sync.Locker // keeps the order with the log's events; guards proj
	proj  *cards.Projector
	try   func(cards.ToolUpdate) bool // sends an update unless it would have to wait

	mu      sync.Mutex
	closed  bool
	streams map[string]*stream // by call id
	timers  sync.WaitGroup
}

func newOutputs(order sync.Locker, proj *cards.Projector, try func(cards.ToolUpdate) bool) *outputs {
	return &outputs{order: order, proj: proj, try: try, streams: map[string]*stream{}}
}

// stream is the live output of one call. Its lock is taken under outputs.order
// or alone.
type stream struct {
	o  *outputs
	id string

	mu    sync.Mutex
	ended bool
	timer *time.Timer // nil when none is set
	mode  cards.LiveMode
	began time.Time
	last  time.Time // of the last frame

	window []byte // what waits; under LiveText the end of everything
	total  int64  // bytes that came
	fresh  bool   // something came since the last frame

	skipped int64 // bytes lost in front of the window since the last frame
	gap     bool  // some bytes are not streamed at all
	stopped bool  // nothing is streamed any more
	sent    []byte
	sentLen int
}

// write takes the next bytes of a call's output. It does not block and does not
// keep them.
func (o *outputs) write(callID string, chunk []byte) {
	o.mu.Lock()
	s := o.streams[callID]
	if s == nil && !o.closed {
		s = &stream{o: o, id: callID, began: time.Now()}
		o.streams[callID] = s
	}
	o.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || len(chunk) == 0 {
		return
	}
	s.total += int64(len(chunk))
	if s.stopped {
		s.gap = true
		return
	}
	s.fresh = true
	s.keep(chunk)
	if s.timer == nil {
		s.arm()
	}
}

// keep adds the chunk to the window, whose beginning makes room for it.
func (s *stream) keep(chunk []byte) {
	if over := len(chunk) - outputWindow; over > 0 {
		s.skipped += int64(over)
		chunk = chunk[over:]
	}
	if over := len(s.window) + len(chunk) - outputWindow; over > 0 {
		s.skipped += int64(over)
		s.window = s.window[:copy(s.window, s.window[over:])]
	}
	s.window = append(s.window, chunk...)
}

// arm sets the timer of the next frame. The caller holds s.mu.
func (s *stream) arm() {
	s.o.mu.Lock()
	defer s.o.mu.Unlock()
	if s.o.closed {
		return
	}
	s.o.timers.Add(1)
	s.timer = time.AfterFunc(s.delay(), func() {
		defer s.o.timers.Done()
		s.flush()
	})
}

func (s *stream) delay() time.Duration {
	if s.mode == cards.LiveText {
		now := time.Now()
		every := min(max(tailEvery, now.Sub(s.began)/tailShare), tailSlowest)
		return max(outputDelay, s.last.Add(every).Sub(now))
	}
	if s.sentLen >= outputBurst {
		return outputBusy
	}
	return outputDelay
}

// flush sends what waits.
func (s *stream) flush() {
	s.o.order.Lock()
	defer s.o.order.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = nil
	if s.ended {
		return
	}
	s.mode = s.o.proj.Live(s.id)
	if s.mode == cards.LiveNone { // late output of a call that has ended, or one that nobody knows
		s.end()
		return
	}
	text, waits := s.frame()
	if text != "" {
		u, _ := s.o.proj.Preview(s.id, text)
		if !s.o.try(u) {
			s.arm() // the client is slow: what comes meanwhile may take its place
			return
		}
		s.took(text, waits)
	}
}

// frame is the text of the next frame, and how many bytes at the end of the
// window wait for the rest of their character.
func (s *stream) frame() (text string, waits int) {
	if !s.fresh {
		return "", 0
	}
	if s.mode == cards.LiveText {
		return tail(s.window, s.total), 0
	}
	waits = partial(s.window)
	p := s.window[:len(s.window)-waits]
	if s.skipped > 0 {
		return s.notice() + whole(p), waits
	}
	if len(p) == 0 {
		return "", waits
	}
	return strings.ToValidUTF8(string(p), "\uFFFD"), waits
}

// notice stands for what is missing in front of the window.
func (s *stream) notice() string {
	text := fmt.Sprintf("[... %d bytes of output skipped ...]\n", s.skipped)
	if n := len(s.sent); n > 0 && (s.sentLen > n || s.sent[n-1] != '\n') {
		text = "\n" + text
	}
	return text
}

// took notes that a frame was sent.
func (s *stream) took(text string, waits int) {
	s.last, s.fresh = time.Now(), false
	if s.mode == cards.LiveText {
		if over := len(s.window) - tailBytes; over > 0 {
			s.window = s.window[:copy(s.window, s.window[over:])]
		}
		return
	}
	s.gap = s.gap || s.skipped > 0
	s.skipped = 0
	s.window = s.window[:copy(s.window, s.window[len(s.window)-waits:])]
	s.sentLen += len(text)
	if room := outputKept - len(s.sent); room > 0 {
		s.sent = append(s.sent, text[:min(room, len(text))]...)
	}
	if s.sentLen < outputTotal {
		return
	}
	s.stopped, s.gap = true, s.gap || waits > 0
	s.window = nil
	stop := "\n[... the rest of the output is shown when the command has ended ...]\n"
	if u, ok := s.o.proj.Preview(s.id, stop); ok && s.o.try(u) {
		s.sentLen += len(stop)
	}
}

// end forgets the stream. The caller holds s.mu.
func (s *stream) end() {
	if s.ended {
		return
	}
	s.ended = true
	if s.timer != nil && s.timer.Stop() {
		s.o.timers.Done()
	}
	s.timer = nil
	s.o.mu.Lock()
	delete(s.o.streams, s.id)
	s.o.mu.Unlock()
}

// settle makes an update that ends a call go with what was shown of it live.
// The caller holds outputs.order, so nothing is shown behind it.
func (o *outputs) settle(u cards.Update) cards.Update {
	end, ok := u.(cards.ToolUpdate)
	if !ok || end.Status != cards.Completed && end.Status != cards.Failed {
		return u
	}
	o.mu.Lock()
	s := o.streams[end.ID]
	o.mu.Unlock()
	if s == nil {
		return u
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end()
	if end.Output == nil || s.sentLen == 0 {
		return u
	}
	rest := end.Output.Rest(cards.Streamed{
		Text: string(s.sent), Whole: s.sentLen == len(s.sent),
		Pending: strings.ToValidUTF8(string(s.window), "\uFFFD"), Gap: s.gap || s.skipped > 0,
	})
	if end.Output = nil; rest != "" {
		end.Output = &cards.TerminalOutput{ID: end.ID, Data: rest}
	}
	return end
}

// sweep ends the streams of calls that have ended without an update of their own,
// as those do that have no card. The caller holds outputs.order.
func (o *outputs) sweep() {
	for _, s := range o.all() {
		if o.proj.Live(s.id) == cards.LiveNone {
			s.mu.Lock()
			s.end()
			s.mu.Unlock()
		}
	}
}

func (o *outputs) all() (streams []*stream) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, s := range o.streams {
		streams = append(streams, s)
	}
	return streams
}

// close ends every stream and waits until none sends any more.
func (o *outputs) close() {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	for _, s := range o.all() {
		s.mu.Lock()
		s.end()
		s.mu.Unlock()
	}
	o.timers.Wait()
}

// partial is the length of a character at the end of p whose rest may still
// come.
func partial(p []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		if b := p[len(p)-back:]; utf8.RuneStart(b[0]) {
			if !utf8.FullRune(b) {
				return back
			}
			return 0
		}
	}
	return 0
}

// whole is p from its first whole line on, else from its first whole character.
func whole(p []byte) string {
	if i := bytes.IndexByte(p[:min(len(p), 1<<10)], '\n'); i >= 0 {
		p = p[i+1:]
	} else {
		for i := 0; i < utf8.UTFMax && len(p) > 0 && !utf8.RuneStart(p[0]); i++ {
			p = p[1:]
		}
	}
	return strings.ToValidUTF8(string(p), "\uFFFD")
}

// tail is the end of an output of total bytes.
func tail(p []byte, total int64) string {
	p = p[:len(p)-partial(p)]
	if total <= tailBytes {
		return strings.ToValidUTF8(string(p), "\uFFFD")
	}
	text := whole(p[max(len(p)-tailBytes, 0):])
	return fmt.Sprintf("[... %d bytes above ...]\n", max(total-int64(len(text)), 0)) + text
}
