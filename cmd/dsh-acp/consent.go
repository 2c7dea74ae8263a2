package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/acp"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/consent"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/hooks"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/mcp"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// maxConsentText bounds what a person is asked to read in a card, in bytes. What
// is longer is not asked about: a part of it would be no basis for a yes.
const maxConsentText = 16 << 10

// brought is one file by which a workspace brings something to run.
type brought struct {
	what             string // cards.ConsentServers or ConsentHooks
	path, key        string
	lines            []string // what it would run, word for word
	allowed, refused bool
	store            consent.Store
	// begin lets it run in this session; later says that it can only do so from
	// the next session on. Nil: it already runs.
	begin func() (later bool)
}

// String says what it is, in Markdown.
func (b brought) String() string {
	noun := "MCP servers"
	if b.what == cards.ConsentHooks {
		noun = "hooks"
	}
	return fmt.Sprintf("%s of `%s`", noun, strings.ReplaceAll(b.path, "`", "'"))
}

// workspaceConsent is what one session knows of the consent to what its workspace
// brings.
type workspaceConsent struct {
	cfg      *config.Config
	log      *session.Log
	asker    acp.Consenter // nil: nobody can be asked
	neverAsk func() bool
	servers  *mcp.Session
	hooks    *hooks.Hooks // nil when none was there when the session was opened
	problem  func(error)

	mu    sync.Mutex
	asked bool
	inUse map[string]bool // paths of files that run in this session
}

// newConsent keeps the consents of a session that is about to be made.
func (a *app) newConsent(cfg *config.Config, log *session.Log, p acp.SessionParams, servers *mcp.Session, neverAsk func() bool) *workspaceConsent {
	w := &workspaceConsent{cfg: cfg, log: log, asker: p.Consenter, neverAsk: neverAsk, servers: servers, inUse: map[string]bool{}, problem: func(err error) {
		a.logger.Error("an answer to what the workspace brings is lost", "err", err)
	}}
	a.consents.add(log.Header().ID, w)
	return w
}

// uses says that a file of the workspace runs in this session.
func (w *workspaceConsent) uses(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inUse[path] = true
}

// teller tells the person something that is no part of the conversation.
type teller func(severity acp.Severity, title, detail string)

// teller tells by notices, or the log alone where there is no editor.
func (a *app) teller(n acp.Notifier) teller {
	if n == nil {
		return func(_ acp.Severity, title, detail string) { a.logger.Warn(title, "detail", detail) }
	}
	return n.Notice
}

// howToAllow says what to do about what a workspace brings.
func howToAllow(command, cwd string) string {
	return "the first prompt asks about it where anything is asked, and so does /permissions workspace; in a terminal: dsh-acp " + command + " --allow " + shellQuote(cwd)
}

// consentSessions are those of the open sessions.
type consentSessions struct {
	mu   sync.Mutex
	byID map[string]*workspaceConsent
}

func (c *consentSessions) add(id string, w *workspaceConsent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.byID == nil {
		c.byID = map[string]*workspaceConsent{}
	}
	c.byID[id] = w
}

func (c *consentSessions) get(id string) *workspaceConsent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.byID[id]
}

func (c *consentSessions) remove(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.byID, id)
}

// find reads what the workspace brings, as it is now.
func (w *workspaceConsent) find() []brought {
	cwd := w.log.Header().Cwd
	var out []brought
	add := func(b brought, begin func() bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if path := b.path; !w.inUse[path] {
			b.begin = func() bool {
				if begin() {
					return true
				}
				w.uses(path)
				return false
			}
		}
		out = append(out, b)
	}
	// What cannot be read was reported when the session was opened.
	if p, err := mcp.FindProject(cwd, mcpConsents(w.cfg)); err == nil && p != nil && len(p.Servers) > 0 {
		b := brought{what: cards.ConsentServers, path: p.Path, key: p.Key, allowed: p.Allowed, refused: p.Refused, store: mcpConsents(w.cfg)}
		for _, c := range p.Servers {
			b.lines = append(b.lines, serverLines(c)...)
		}
		add(b, func() bool {
			var list []mcp.Config
			for _, c := range p.Servers {
				list = append(list, expanded(c))
			}
			w.servers.Start(list...)
			return false
		})
	}
	found, _ := consents(w.cfg).Find(cwd, w.cfg.Hooks.ClaudeCode, w.cfg.Hooks.Codex)
	for _, f := range found {
		b := brought{what: cards.ConsentHooks, path: f.File.Path, key: f.Key, allowed: f.Allowed, refused: f.Refused, store: consent.Store(consents(w.cfg))}
		for _, c := range f.File.Commands() {
			b.lines = append(b.lines, exactly(c))
		}
		add(b, func() bool {
			if w.hooks == nil {
				return true
			}
			w.hooks.Add(f.File)
			return false
		})
	}
	return out
}

// serverLines say what would be started or connected to, as it is written.
func serverLines(c mcp.Config) []string {
	words := append([]string{c.Command}, c.Args...)
	if c.URL != "" {
		words = []string{c.URL}
	}
	for i, w := range words {
		if q := exactly(w); q != w {
			words[i] = q
		} else {
			words[i] = shellQuote(w)
		}
	}
	if c.URL != "" {
		words[0] = exactly(c.URL)
	}
	lines := []string{exactly(c.Name) + ": " + strings.Join(words, " ")}
	for _, table := range []map[string]string{c.Env, c.Headers} {
		for _, name := range slices.Sorted(maps.Keys(table)) {
			lines = append(lines, "  "+exactly(name)+" = "+exactly(table[name]))
		}
	}
	return lines
}

// exactly is text of a stranger that can be read on one line and hides nothing:
// as it is, or quoted where it holds what is not seen.
func exactly(text string) string {
	hides := func(r rune) bool { return !strconv.IsPrint(r) }
	switch {
	case strings.ContainsFunc(text, looksBlank):
		return strconv.QuoteToASCII(text)
	case text == "" || strings.TrimSpace(text) != text || text[0] == '"' || !utf8.ValidString(text) || strings.ContainsFunc(text, hides):
		return strconv.Quote(text)
	}
	return text
}

// looksBlank reports whether a character counts as printable and yet shows
// nothing: fillers, variation selectors, the empty Braille cell.
func looksBlank(r rune) bool {
	return r == '\u2800' || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// watch makes the listener that asks at the first prompt; nil when there is
// nothing to ask about.
func (w *workspaceConsent) watch() []agent.Listener {
	waits := func(b brought) bool { return b.begin != nil && !b.refused }
	if !slices.ContainsFunc(w.find(), waits) {
		return nil
	}
	return []agent.Listener{{
		PromptSubmit: func(ctx context.Context, _ int64, _ []content.Block) (agent.PromptVerdict, error) {
			w.mu.Lock()
			asked := w.asked
			w.mu.Unlock()
			if asked || w.asker == nil || w.neverAsk() {
				return agent.PromptVerdict{}, nil
			}
			for _, b := range w.find() {
				if !waits(b) || tooLong(b) {
					continue
				}
				if _, _, err := w.decide(ctx, b); err != nil {
					return agent.PromptVerdict{}, err
				}
			}
			return agent.PromptVerdict{}, nil
		},
	}}
}

// readElsewhere says how to consent to what is too long to be asked about.
func (b brought) readElsewhere() string {
	return "it is too long to be shown here; read the file, then run `dsh-acp " + b.what + " --allow` in a terminal."
}

func tooLong(b brought) bool {
	n := 0
	for _, l := range b.lines {
		n += len(l) + 1
	}
	return n > maxConsentText
}

// decide asks about a file, unless its content has been allowed already, and does
// what the person says. The error is that of ctx or of the log.
func (w *workspaceConsent) decide(ctx context.Context, b brought) (answer string, later bool, err error) {
	w.mu.Lock()
	w.asked = true
	w.mu.Unlock()
	if b.allowed { // since the session was opened
		return session.ConsentAllowed, b.begin(), nil
	}
	id := "consent-" + strconv.Itoa(w.log.Len())
	if _, err := w.log.Append(session.Draft{Type: session.TypeConsentAsked, Data: session.Data("id", id, "what", b.what, "path", b.path, "lines", list(b.lines))}); err != nil {
		return "", false, fmt.Errorf("a question could not be logged: %w", err)
	}
	answer, asking := w.asker.AskConsent(ctx, w.log.Header().ID, id)
	said := session.Data("id", id, "answer", answer)
	var kept error
	switch answer {
	case session.ConsentAllowed:
		kept = b.store.Allow(b.key)
	case session.ConsentNever:
		kept = b.store.Refuse(b.key)
	}
	if kept != nil {
		answer = session.ConsentLater
		said = session.Data("id", id, "answer", "failed", "reason", kept.Error())
		w.problem(kept)
	}
	if _, err := w.log.Append(session.Draft{Type: session.TypeConsentAnswered, Data: said}); err != nil {
		return "", false, errors.Join(asking, fmt.Errorf("an answer could not be logged: %w", err))
	}
	if answer == session.ConsentAllowed && asking == nil {
		later = b.begin()
	}
	return answer, later, asking
}

func list(lines []string) jsonvalue.Value {
	out := make([]jsonvalue.Value, len(lines))
	for i, l := range lines {
		out[i] = jsonvalue.String(strings.ToValidUTF8(l, "\uFFFD"))
	}
	return jsonvalue.Array(out...)
}

// Brought tells what the workspace brings and does not run, for /permissions.
func (a *app) Brought(s *agent.Session) string {
	w := a.consents.get(s.SessionID())
	if w == nil {
		return ""
	}
	var text strings.Builder
	for _, b := range w.find() {
		state := "waits for your consent"
		switch {
		case b.begin == nil && b.allowed:
			continue
		case b.begin == nil:
			state = "is not allowed as it is now, because it has changed or because the consent was taken back; what was allowed runs until this session ends"
		case b.allowed:
			state = "is allowed and runs from the next session on"
		case b.refused:
			state = "never runs, as you said"
		}
		shown := cards.Fence("", cards.Folded(b.lines))
		if tooLong(b) {
			shown = b.readElsewhere()
		}
		name := b.path
		if rel, err := filepath.Rel(w.log.Header().Cwd, b.path); err == nil {
			name = rel // with its folder: two of them are called hooks.json
		}
		fmt.Fprintf(&text, "- %s: %s\n\n%s\n", name, state, indented(shown))
	}
	if text.Len() == 0 {
		return ""
	}
	return "The workspace brings, and this session does not run:\n\n" + text.String() + "\nSay `/permissions workspace` to be asked about it."
}

func indented(text string) string { return "  " + strings.ReplaceAll(text, "\n", "\n  ") }

// AskBrought asks about all of it, whatever was answered before.
func (a *app) AskBrought(ctx context.Context, s *agent.Session) (string, error) {
	w := a.consents.get(s.SessionID())
	if w == nil || w.asker == nil {
		return "", errors.New("nobody can be asked here; say dsh-acp mcp --allow or dsh-acp hooks --allow in a terminal")
	}
	var text strings.Builder
	for _, b := range w.find() {
		if b.begin == nil && b.allowed {
			continue
		}
		if tooLong(b) {
			fmt.Fprintf(&text, "- The %s: %s\n", b, b.readElsewhere())
			continue
		}
		changed := b.begin == nil
		if changed { // the old content runs; the new one comes with the next session
			b.begin = func() bool { return true }
		}
		answer, later, err := w.decide(ctx, b)
		if err != nil {
			return "", err
		}
		said := map[string]string{
			session.ConsentAllowed: "allowed, as they are now", session.ConsentLater: "not now", session.ConsentNever: "never",
		}[answer]
		if later {
			said += "; they run from the next session on"
		}
		fmt.Fprintf(&text, "- The %s: %s.\n", b, said)
	}
	if text.Len() == 0 {
		return "The workspace brings nothing that waits for your consent.", nil
	}
	return text.String(), nil
}
