// Package termui draws in a terminal what an editor would show: the updates of a
// session, as they come over the wire, with plain ANSI codes.
package termui

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
)

// Update is what is drawn of a session/update, or of the toolCall of a
// permission request.
type Update struct {
	SessionUpdate string
	// Content is one block for messages, a list for tool calls.
	Content   json.RawMessage
	Title     string
	Kind      string
	Status    string
	ToolCall  string `json:"toolCallId"`
	Locations []struct {
		Path string
		Line int
	}
	Entries []struct{ Content, Status string }
	Meta    struct {
		Output *struct{ Data string } `json:"terminal_output"`
		Exit   *struct {
			ExitCode *int `json:"exit_code"`
			Signal   *string
		} `json:"terminal_exit"`
		Info   *struct{ Cwd string } `json:"terminal_info"`
		Parent string                `json:"parentToolCallId"`
	} `json:"_meta"`
}

type toolContent struct {
	Type       string
	Content    struct{ Type, Text string }
	Path       string
	OldText    *string
	NewText    string
	TerminalID string
}

// Screen draws updates the way an editor would. It is safe for concurrent use.
type Screen struct {
	// Out is where it draws, Color whether it may paint, and Cwd what paths are
	// shown relative to.
	Out   io.Writer
	Color bool
	Cwd   string

	mu       sync.Mutex
	inText   string // which kind of message is being streamed
	titles   map[string]string
	terminal string // the call whose terminal was drawn last
}

func (s *Screen) paint(code, text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// line writes whole lines, ending a message that is being streamed.
func (s *Screen) line(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.breakText()
	fmt.Fprintln(s.Out, text)
}

func (s *Screen) breakText() {
	if s.inText != "" {
		fmt.Fprintln(s.Out)
		s.inText = ""
	}
}

// Heading starts a part.
func (s *Screen) Heading(t string) { s.line("\n" + s.paint("1", "== "+t)) }

// Note says something beside the session.
func (s *Screen) Note(t string) { s.line(s.paint("2", "   "+t)) }

// User shows what the person says.
func (s *Screen) User(t string) { s.line("\n" + s.paint("1;36", "you> ") + t) }

// EndTurn says why a turn ended.
func (s *Screen) EndTurn(r string) { s.line(s.paint("2", "\n   turn ended: "+r)) }

// Question shows a permission request.
func (s *Screen) Question(title string, options []string) {
	s.line(s.paint("1;33", "   ? the agent asks to run: ") + title + "\n" + s.paint("2", "     options: "+strings.Join(options, " | ")))
}

// Answer shows what was answered.
func (s *Screen) Answer(name string) { s.line(s.paint("33", "   > answered: "+name)) }

// Typed shows an answer that nobody had to type.
func (s *Screen) Typed(t string) { s.line("     allow once? [y/n] " + t) }

// Ask shows the prompt for an answer.
func (s *Screen) Ask() {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprint(s.Out, "     allow once? [y/n] ")
}

// File shows a file of the workspace.
func (s *Screen) File(when, path string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	s.Heading(when + ": " + strings.TrimPrefix(path, s.Cwd+string(os.PathSeparator)))
	for l := range strings.Lines(string(data)) {
		s.line("   | " + strings.TrimRight(l, "\n"))
	}
	return nil
}

// Update draws one update.
func (s *Screen) Update(u Update) {
	switch u.SessionUpdate {
	case "agent_message_chunk":
		s.text("agent", "\n"+s.paint("1;32", "agent> "), u.Content, "0")
	case "agent_thought_chunk":
		s.text("thought", "\n"+s.paint("2", "(thinking) "), u.Content, "2")
	case "tool_call":
		if s.titles == nil {
			s.titles = map[string]string{}
		}
		s.titles[u.ToolCall] = u.Title
		kind := "   [" + u.Kind + "] "
		if u.Meta.Parent != "" {
			kind = "   called by the program: [" + u.Kind + "] "
		}
		s.line("\n" + s.paint("1;34", kind) + s.paint("1", indented(u.Title)) + s.where(u))
		s.contents(u)
	case "tool_call_update":
		s.toolUpdate(u)
	case "plan":
		for _, e := range u.Entries {
			s.line("   - [" + e.Status + "] " + e.Content)
		}
	case "session_info_update":
		s.Note("title: " + u.Title)
	}
}

// indented puts the lines of a title, which may be a whole program, under its first.
func indented(title string) string {
	return strings.ReplaceAll(strings.Trim(title, "\n"), "\n", "\n       ")
}

func (s *Screen) where(u Update) string {
	if len(u.Locations) == 0 {
		return ""
	}
	at := strings.TrimPrefix(u.Locations[0].Path, s.Cwd+string(os.PathSeparator))
	if u.Locations[0].Line > 0 {
		at += fmt.Sprintf(":%d", u.Locations[0].Line)
	}
	return s.paint("2", "  "+at)
}

func (s *Screen) toolUpdate(u Update) {
	if u.Status == "in_progress" {
		s.Note("running")
		return
	}
	if u.Status == "" && u.Meta.Output == nil {
		return // a preview: what is printed cannot be replaced, and the end repeats it
	}
	s.contents(u)
	if o := u.Meta.Output; o != nil {
		title := "terminal"
		if s.terminal == u.ToolCall { // more of the same
			title = ""
		}
		s.terminal = u.ToolCall
		s.box(title, o.Data)
	}
	if e := u.Meta.Exit; e != nil {
		switch {
		case e.Signal != nil:
			s.line("   " + s.paint("31", "killed by "+*e.Signal))
		case e.ExitCode != nil:
			s.line("   " + s.paint("2", fmt.Sprintf("exit status %d", *e.ExitCode)))
		}
	}
	switch u.Status {
	case "completed":
		s.line("   " + s.paint("32", "completed"))
	case "failed":
		s.line("   " + s.paint("31", "failed"))
	}
}

// text streams a message: chunks of one message go on one line.
func (s *Screen) text(kind, prefix string, raw json.RawMessage, style string) {
	var b struct{ Text string }
	if json.Unmarshal(raw, &b) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.inText != kind {
		s.breakText()
		fmt.Fprint(s.Out, prefix)
		s.inText = kind
	}
	fmt.Fprint(s.Out, s.paint(style, b.Text))
}

func (s *Screen) contents(u Update) {
	var list []toolContent
	if len(u.Content) == 0 || json.Unmarshal(u.Content, &list) != nil {
		return
	}
	for _, c := range list {
		switch c.Type {
		case "content":
			s.box("", c.Content.Text)
		case "diff":
			s.diff(c)
		}
	}
}

func (s *Screen) box(title, text string) {
	if title != "" {
		s.line(s.paint("2", "   +-- "+title))
	}
	for l := range strings.Lines(text) {
		s.line(s.paint("2", "   | ") + strings.TrimRight(l, "\n"))
	}
}

// diff draws old and new text line by line; common lines stand once.
func (s *Screen) diff(c toolContent) {
	s.line(s.paint("2", "   +-- diff "+strings.TrimPrefix(c.Path, s.Cwd+string(os.PathSeparator))))
	var old []string
	if c.OldText != nil {
		old = strings.Split(*c.OldText, "\n")
	}
	now := strings.Split(c.NewText, "\n")
	head := 0
	for head < len(old) && head < len(now) && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && tail < len(now)-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	for _, l := range old[:head] {
		s.line("   |   " + l)
	}
	for _, l := range old[head : len(old)-tail] {
		s.line(s.paint("31", "   | - "+l))
	}
	for _, l := range now[head : len(now)-tail] {
		s.line(s.paint("32", "   | + "+l))
	}
	for _, l := range now[len(now)-tail:] {
		s.line("   |   " + l)
	}
}
