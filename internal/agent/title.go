package agent

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// Limits of a title made from the first prompt.
const (
	titleWords = 5
	titleBytes = 40
)

// escapeSequence matches terminal control sequences (CSI, OSC and two-byte ones).
// Compiled on first use: start-up must not pay for it.
var escapeSequence = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile("\x1b(?:\\[[0-9;?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")
})

// titleFrom makes a session title of a first prompt, deterministically: escape
// sequences, control and direction characters go, white space collapses, then
// the first words that fit into 40 bytes of UTF-8 stay.
func titleFrom(prompt string) string {
	words := strings.Fields(PlainLine(prompt))
	s := strings.Join(words[:min(len(words), titleWords)], " ")
	if len(s) > titleBytes {
		cut := titleBytes
		for cut > 0 && !utf8.RuneStart(s[cut]) {
			cut--
		}
		s = s[:cut]
	}
	return strings.TrimRight(s, " ")
}

// PlainLine makes one line of a text that is shown in a list: escape sequences,
// control and direction characters go, white space collapses.
func PlainLine(text string) string {
	s := escapeSequence().ReplaceAllString(text, "")
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case unicode.IsControl(r), isDirectionMark(r), r == utf8.RuneError:
			return -1
		}
		return r
	}, s)
	return strings.Join(strings.Fields(s), " ")
}

// isDirectionMark reports the characters that reorder text on a screen.
func isDirectionMark(r rune) bool {
	return r == 0x200e || r == 0x200f || r == 0x061c || (r >= 0x202a && r <= 0x202e) || (r >= 0x2066 && r <= 0x2069)
}

// SetTitle gives the session a title that the person chose. No other follows it.
// It may be called while a turn runs.
func (s *Session) SetTitle(title string) error {
	s.mu.Lock()
	s.titled = true
	s.mu.Unlock()
	if _, err := s.append(session.TypeTitle, UserTitle(title)); err != nil {
		return logFailure(err)
	}
	return nil
}

// UserTitle is the data of the event that records a title of the person.
func UserTitle(title string) jsonvalue.Value {
	return session.Data("title", title, "messageSeqs", []any{}, "source", session.Data("kind", "user"))
}
