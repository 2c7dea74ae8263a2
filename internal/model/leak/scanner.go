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
	begun    bool // so has the answer
	before   byte // what has just been shown
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
		if !candidate(b) && !(!s.nonBlank && opening(b)) || s.quoted() {
			s.walk(b)
			i++
			// The rest of a run of plain text changes nothing about where we are.
			for s.nonBlank && len(s.line) == lineStart && s.ticks == 0 && i < len(text) && !candidate(text[i]) && text[i] != '`' && text[i] != '\n' {
				i++
			}
			continue
		}
		if i > 0 {
			s.before = text[i-1]
		}
		v := s.look(text[i:], false)
		switch v {
		case maybe:
			s.held = text[i:]
			return text[shown:i]
		case tail, soft, hard:
			s.found = v
			s.keep(text[i:])
			return text[shown:i]
		}
		s.walk(b)
		i++
	}
	if text != "" {
		s.before = text[len(text)-1]
	}
	return text
}

// look says whether text, which comes next, begins a marker that counts where it
// stands; ended says that nothing comes after it.
func (s *Scanner) look(text string, ended bool) verdict {
	v := no
	if !ended {
		v = look(text)
	}
	if v == soft && s.nonBlank {
		v = no // markup starts its own line
	}
	if v != no {
		return v
	}
	at := inLine
	switch {
	case !s.begun:
		at = atStart
	case !s.nonBlank && len(s.line) < indented && !strings.Contains(string(s.line), "\t"):
		at = atLine
	case s.mention():
		return no
	}
	return lookFurther(text, at, ended)
}

// indented is how many blanks make a line an example.
const indented = 4

// mention reports whether what comes next is spoken about: it stands in
// quotation marks, in a bracket, or in a quoted line.
func (s *Scanner) mention() bool {
	if strings.HasPrefix(strings.TrimLeft(string(s.line), " "), ">") {
		return true
	}
	switch s.before {
	case '"', '\'', '(', 0x9C, 0x98, 0x9E, 0xAB: // the last bytes of “ ‘ „ «
		return true
	}
	return false
}

// opening reports whether the byte may begin a marker that only stands at the
// beginning of a line: one of those without a special token.
func opening(b byte) bool { return b == '{' || b == 'a' || b == 'c' || b == 't' || b == 'f' }

// candidate reports whether a marker may begin with the byte: a bracket, an
// ampersand, a bar, or the first byte of one of the other bars.
func candidate(b byte) bool {
	return b == '<' || b == '[' || b == '&' || b == '|' || b == 0xEF || b == 0xE2
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
		s.nonBlank, s.begun = true, true
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
	// Thoughts are what the model says to itself in the markup.
	Thoughts string
	// Broken says that there was markup that cannot be read to its end.
	Broken bool
}

// maxMentions bounds how many markers that turned out to be text are looked
// behind.
const maxMentions = 16

// Finish ends the text. tools gives what is needed to know about the tools the
// model may call.
func (s *Scanner) Finish(tools Tools) Outcome {
	var shown strings.Builder
	for n := 0; ; n++ {
		if s.held != "" && s.found == no {
			if v := s.look(s.held, true); v > maybe {
				s.found = v
				s.keep(s.held)
				s.held = ""
			}
		}
		if s.found == no {
			return Outcome{Text: shown.String() + s.Flush()}
		}
		if s.over {
			return Outcome{Text: shown.String(), Broken: true}
		}
		text := s.markup.String()
		out, mentioned := decide(text, s.found, tools)
		if mentioned == 0 {
			out.Text = shown.String() + out.Text
			return out
		}
		if n == maxMentions {
			return Outcome{Text: shown.String() + text}
		}
		// It was only mentioned. What comes behind it may be markup all the same.
		s.found = no
		s.markup.Reset()
		for i := range mentioned {
			s.walk(text[i])
		}
		s.before = text[mentioned-1]
		shown.WriteString(text[:mentioned])
		shown.WriteString(s.Push(text[mentioned:]))
	}
}

// decide says what markup turned out to be, or how much of the text, in bytes,
// only mentions it.
func decide(text string, found verdict, tools Tools) (out Outcome, mentioned int) {
	if r, ok := readFamily(text); ok {
		if out, ok := r.decide(found, tools); ok {
			return out, 0
		}
		if r.fate == readable {
			return out, len(text) - len(r.after)
		}
		return out, 1
	}
	p := parse(text, tools)
	ok := p.complete && len(p.calls) > 0
	if found == hard {
		if !ok {
			p.rest = ""
		}
		return Outcome{Calls: p.calls, Text: p.rest, Broken: !ok}, 0
	}
	for _, c := range p.calls {
		ok = ok && tools.Has(c.Name)
	}
	switch {
	case ok && (found == soft || p.rest == ""):
		return Outcome{Calls: p.calls, Text: p.rest}, 0
	case !ok && (!p.complete || len(p.calls) == 0) && concerns(text, tools) && (found == soft || endsInside(text)):
		return Outcome{Broken: true}, 0 // meant as a call, and not to be read
	case found == soft:
		return out, 1
	}
	return out, closed(text)
}

// closed is the length of the element that text begins with; 1 when it has no
// end.
func closed(text string) int {
	tag, _, _ := strings.Cut(text[1:], ">")
	tag = "</" + tag + ">"
	if at := strings.Index(text, tag); at >= 0 {
		return at + len(tag)
	}
	return 1
}

// endsInside reports whether markup that begins in the middle of a line ends
// before it is closed, with nothing behind it.
func endsInside(text string) bool {
	if body, ok := strings.CutPrefix(text, "<tool_call>"); ok && strings.HasPrefix(trim(body), "{") {
		_, after, f := jsonAt(trim(body))
		return f == cut || f == readable && (trim(after) == "" || begins(trim(after), []string{"</tool_call>"}))
	}
	return closed(text) == 1
}

// decide says what the markup of a family turned out to be; false when it is a
// mention.
func (r reading) decide(found verdict, tools Tools) (Outcome, bool) {
	offered, concerned := true, false
	for _, name := range r.about {
		offered = offered && tools.Has(name)
		concerned = concerned || tools.Has(name)
	}
	switch {
	case r.fate == readable && (len(r.calls) > 0 || found == hard && r.text != ""):
		if found < hard && !offered || !lineEnds(r.after) || found == tail && trim(r.after) != "" {
			return Outcome{}, false
		}
		return Outcome{Calls: r.calls, Text: join(r.text, r.after), Thoughts: r.thoughts}, true
	case found == hard:
		return Outcome{Broken: true}, true
	}
	broken := concerned && (found == soft || r.fate == cut)
	return Outcome{Broken: broken}, broken
}
