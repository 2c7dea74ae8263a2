package leak

import (
	"strings"
)

// maxMarkup bounds what is kept back, in bytes.
const maxMarkup = 2 << 20

// lineStart is how much of a line is needed to see a fence, in bytes.
const lineStart = 8

// Scanner takes the text of one answer piece by piece and gives back what may
// be shown. From the first marker on everything is kept back until the answer
// has ended. Text in code (between backticks or fences) is a quotation and
// passes. The zero value is ready.
type Scanner struct {
	held   string // the end of the text, which may begin a marker
	markup strings.Builder
	found  verdict
	over   bool

	// Where in Markdown the text is.
	line     []byte // the start of the current line, up to a few bytes
	fence    string // the fence that is open, or ""
	ticks    int    // backticks in a row just before
	inline   bool
	nonBlank bool // the line has more than blanks
}

// Push takes the next piece and returns what can be shown of the text so far.
func (s *Scanner) Push(text string) string {
	if s.found != no {
		s.keep(text)
		return ""
	}
	text = s.held + text
	s.held = ""
	shown := 0
	for i := 0; i < len(text); {
		b := text[i]
		if b != '`' && s.ticks > 0 {
			s.endTicks()
		}
		if !candidate(b) || s.quoted() {
			s.walk(b)
			i++
			// The rest of a run of plain text changes nothing about where we are.
			for s.nonBlank && len(s.line) == lineStart && s.ticks == 0 && i < len(text) && !candidate(text[i]) && text[i] != '`' && text[i] != '\n' {
				i++
			}
			continue
		}
		v := look(text[i:])
		if v == soft && s.nonBlank {
			v = no // markup starts its own line
		}
		switch v {
		case maybe:
			s.held = text[i:]
			return text[shown:i]
		case soft, hard:
			s.found = v
			s.keep(text[i:])
			return text[shown:i]
		}
		s.walk(b)
		i++
	}
	return text
}

// candidate reports whether a marker may begin with the byte: a bracket, an
// ampersand, a bar, or the first byte of one of the other bars.
func candidate(b byte) bool {
	return b == '<' || b == '&' || b == '|' || b == 0xEF || b == 0xE2
}

func (s *Scanner) keep(text string) {
	if s.markup.Len()+len(text) > maxMarkup {
		s.over = true
		return
	}
	s.markup.WriteString(text)
}

func (s *Scanner) quoted() bool { return s.fence != "" || s.inline }

// walk follows the Markdown of one byte that is shown.
func (s *Scanner) walk(b byte) {
	if b == '`' {
		s.ticks++
	}
	if b == '\n' {
		s.endLine()
		return
	}
	if b != ' ' && b != '\t' && b != '\r' {
		s.nonBlank = true
	}
	if len(s.line) < lineStart {
		s.line = append(s.line, b)
	}
}

// endTicks decides what a run of backticks was.
func (s *Scanner) endTicks() {
	n := s.ticks
	s.ticks = 0
	lead := strings.TrimLeft(string(s.line), " ")
	if n >= 3 && strings.HasPrefix(lead, "```") {
		return // a fence; endLine sees it
	}
	if s.fence == "" && n%2 == 1 {
		s.inline = !s.inline
	}
}

func (s *Scanner) endLine() {
	lead := strings.TrimLeft(string(s.line), " ")
	for _, f := range []string{"```", "~~~"} {
		if strings.HasPrefix(lead, f) {
			switch s.fence {
			case "":
				s.fence = f
			case f:
				s.fence = ""
			}
			break
		}
	}
	// Inline code ends with its paragraph; a line is close enough, and keeps one
	// stray backtick from hiding everything after it.
	s.line, s.inline, s.nonBlank = s.line[:0], false, false
}

// Flush gives back what waits for a decision that can no longer come, because
// something else than text has followed.
func (s *Scanner) Flush() string {
	held := s.held
	s.held = ""
	for i := range len(held) {
		s.walk(held[i])
	}
	return held
}

// Found reports whether a marker has been seen.
func (s *Scanner) Found() bool { return s.found != no }

// Outcome is what the markup of an answer turned out to be.
type Outcome struct {
	// Text is to be shown after all: what waited for a decision, text after the
	// markup, or all of it when it was none.
	Text string
	// Calls are the calls that were read.
	Calls []Call
	// Broken says that there was markup that cannot be read to its end.
	Broken bool
}

// Finish ends the text. tools gives what is needed to know about the tools the
// model may call.
func (s *Scanner) Finish(tools Tools) Outcome {
	if s.found == no {
		return Outcome{Text: s.Flush()}
	}
	if s.over {
		return Outcome{Broken: true}
	}
	text := s.markup.String()
	p := parse(text, tools)
	ok := p.complete && len(p.calls) > 0
	if s.found == soft {
		for _, c := range p.calls {
			ok = ok && tools.Has(c.Name)
		}
		if !ok {
			if (!p.complete || len(p.calls) == 0) && concerns(text, tools) {
				return Outcome{Broken: true} // meant as a call, and not to be read
			}
			return Outcome{Text: text}
		}
	}
	out := Outcome{Calls: p.calls, Broken: !ok}
	if ok {
		out.Text = p.rest
	}
	return out
}
