package proc

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"unicode/utf8"
)

// Output is what is known of one output stream.
type Output struct {
	// Text is valid UTF-8 of at most the limit. When the stream was longer it
	// is the beginning and the end, with a line between them that says how many
	// bytes are missing. Bytes that are no UTF-8 read as U+FFFD.
	Text string
	// Truncated says that Text is not the whole stream.
	Truncated bool
	// Total is how many bytes the stream had.
	Total int64
	// SpillPath is a file with the whole stream. "" when nothing was truncated,
	// or when the file could not be kept.
	SpillPath string
}

// headShare is the part of the limit that keeps the beginning of a stream:
// what a command says first explains what follows, but the end matters more.
const headShare = 4

// gapRoom is set aside for the line that stands for what is missing.
const gapRoom = 64

// capture keeps the beginning and the end of a stream in constant memory, and
// the whole of it in a file once it is longer than that.
type capture struct {
	limit, headLimit, tailLimit int
	spill                       spill

	mu    sync.Mutex
	head  []byte
	tail  []byte // the last tailLimit bytes or more, up to twice as many
	total int64
}

func newCapture(limit int, sp spill) *capture {
	if limit <= 0 {
		limit = DefaultLimit
	}
	head := limit / headShare
	return &capture{limit: limit, headLimit: head, tailLimit: limit - head, spill: sp}
}

// write takes the next bytes of the stream. It never fails: a spill file that
// cannot be written is given up.
func (c *capture) write(p []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total <= int64(c.limit) && c.total+int64(len(p)) > int64(c.limit) {
		// Up to here head and tail together are the whole stream.
		c.spill.open()
		c.spill.write(c.head)
		c.spill.write(c.tail)
	}
	c.total += int64(len(p))
	if c.total > int64(c.limit) {
		c.spill.write(p)
	}
	if room := c.headLimit - len(c.head); room > 0 {
		n := min(room, len(p))
		c.head = append(c.head, p[:n]...)
		p = p[n:]
	}
	if over := len(p) - c.tailLimit; over > 0 {
		p = p[over:]
	}
	c.tail = append(c.tail, p...)
	if over := len(c.tail) - c.tailLimit; over > c.tailLimit {
		c.tail = c.tail[:copy(c.tail, c.tail[over:])]
	}
}

// output renders the stream so far.
func (c *capture) output() Output {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.total <= int64(c.limit) {
		text := validText(string(c.head) + string(c.tail))
		if len(text) <= c.limit {
			return Output{Text: text, Total: c.total}
		}
		// Replacement characters made it longer than the limit.
		c.spill.open()
		c.spill.write(c.head)
		c.spill.write(c.tail)
	}
	text := c.shorten()
	return Output{Text: text, Truncated: true, Total: c.total, SpillPath: c.spill.path()}
}

func (c *capture) shorten() string {
	tail := c.tail
	room := max(c.tailLimit-gapRoom, 0)
	if len(tail) > room {
		tail = tail[len(tail)-room:]
	}
	head := validText(string(withoutPartialRune(c.head)))
	end := validText(string(skipPartialRune(tail)))
	if over := len(head) - c.headLimit; over > 0 {
		head = string(withoutPartialRune([]byte(head[:c.headLimit])))
	}
	if over := len(end) - room; over > 0 {
		end = string(skipPartialRune([]byte(end[over:])))
	}
	missing := max(c.total-int64(len(head))-int64(len(end)), 0)
	gap := fmt.Sprintf("[... %d bytes omitted ...]\n", missing)
	if head != "" && !strings.HasSuffix(head, "\n") {
		gap = "\n" + gap
	}
	return head + gap + end
}

// close ends the spill file.
func (c *capture) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spill.close()
}

// validText replaces what is no UTF-8, one U+FFFD for a run of bad bytes.
func validText(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// withoutPartialRune cuts an incomplete sequence off the end of p.
func withoutPartialRune(p []byte) []byte { return p[:len(p)-partialRune(p)] }

// partialRune is the length of an incomplete sequence at the end of p, 0 when
// there is none.
func partialRune(p []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(p); back++ {
		b := p[len(p)-back]
		if utf8.RuneStart(b) {
			if !utf8.FullRune(p[len(p)-back:]) {
				return back
			}
			return 0
		}
	}
	return 0
}

// skipPartialRune cuts the rest of a sequence off the beginning of p.
func skipPartialRune(p []byte) []byte {
	for i := 0; i < utf8.UTFMax && i < len(p); i++ {
		if utf8.RuneStart(p[i]) {
			return p[i:]
		}
	}
	return p
}

// spill is a private file that takes a whole stream, up to a limit.
type spill struct {
	dir, pattern string // dir "" means no file
	limit        int64
	conceal      func(piece []byte, last bool) []byte // nil changes nothing

	file    *os.File
	name    string
	written int64
	failed  bool
}

func (s *spill) open() {
	if s.dir == "" || s.failed || s.file != nil {
		return
	}
	// CreateTemp makes an unguessable name, exclusively and with mode 0600.
	err := os.MkdirAll(s.dir, 0o700)
	var file *os.File
	if err == nil {
		file, err = os.CreateTemp(s.dir, s.pattern)
	}
	if err != nil {
		s.failed = true
		return
	}
	s.file, s.name = file, file.Name()
}

func (s *spill) write(p []byte) {
	if s.file == nil || s.failed || len(p) == 0 {
		return
	}
	if s.conceal != nil {
		p = s.conceal(p, false)
	}
	s.put(p)
}

func (s *spill) put(p []byte) {
	n, err := s.file.Write(p)
	s.written += int64(n)
	if err != nil || s.written > s.limit {
		// A file that lacks an unknown part is worse than none.
		s.failed = true
		_ = s.file.Close()
		s.file = nil
		_ = os.Remove(s.name)
	}
}

func (s *spill) path() string {
	if s.failed {
		return ""
	}
	return s.name
}

func (s *spill) close() {
	if s.file != nil && s.conceal != nil {
		s.put(s.conceal(nil, true))
	}
	if s.file != nil {
		_ = s.file.Close()
		s.file = nil
	}
}

// concealer is a new function of those that make gives; nil for nil.
func concealer(make func() func([]byte, bool) []byte) func([]byte, bool) []byte {
	if make == nil {
		return nil
	}
	return make()
}
