package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// Outcomes of a recording.
const (
	outcomeComplete = "complete"
	outcomeFailed   = "failed" // a prompt ended with an error
	outcomeKilled   = "killed" // the program died while a prompt ran
)

// finish makes the scenarios of a recording that has ended, and gives their
// names.
func finish(opt Options, red *redactor, dir string, killed bool) (names []string, err error) {
	c, err := readConnection(dir, filepath.Join(dir, "frames.jsonl"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	store := session.NewStore(opt.Sessions, session.Options{Sync: session.SyncNever, Logger: opt.Logger})
	for _, s := range c.order {
		log, loadErr := session.ReadFile(store.Path(s.session))
		if loadErr != nil {
			if !errors.Is(loadErr, fs.ErrNotExist) { // a session that was deleted is not wanted
				err = errors.Join(err, loadErr)
			}
			continue
		}
		sc := &scenario{opt: opt, red: red, c: c, s: s, log: log, killed: killed && s.open > 0}
		var childErr error
		sc.children, childErr = subagents(store.Path(s.session))
		err = errors.Join(err, childErr)
		slices.SortStableFunc(sc.children, func(a, b *session.Recording) int { return a.Header.CreatedAt.Compare(b.Header.CreatedAt) })
		name, writeErr := sc.write()
		if writeErr != nil {
			err = errors.Join(err, writeErr)
			continue
		}
		names = append(names, name)
	}
	return names, err
}

// subagents reads the logs of those who worked for the session of a log, and for
// one another.
func subagents(path string) (logs []*session.Recording, err error) {
	store := session.AgentsOf(path, session.Options{})
	entries, err := os.ReadDir(store.Dir(""))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		path := store.Path(e.Name())
		log, readErr := session.ReadFile(path)
		if readErr != nil {
			if !errors.Is(readErr, fs.ErrNotExist) {
				err = errors.Join(err, readErr)
			}
			continue
		}
		theirs, theirErr := subagents(path)
		logs, err = append(append(logs, log), theirs...), errors.Join(err, theirErr)
	}
	return logs, err
}

// scenario is one session on its way to files.
type scenario struct {
	opt      Options
	red      *redactor
	c        *connection
	s        *conversation
	log      *session.Recording
	children []*session.Recording
	killed   bool
}

// write makes the scenario in a hidden folder and gives it its name when it is
// complete.
func (sc *scenario) write() (name string, err error) {
	tmp, err := os.MkdirTemp(sc.opt.Dir, ".scenario-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	put := func(file string, data []byte) {
		if err == nil {
			err = os.WriteFile(filepath.Join(tmp, file), data, 0o644)
		}
	}
	// Of a session that was loaded the model's part begins with that.
	script := scriptOf(sc.log.Events[min(sc.s.before, int64(len(sc.log.Events))):])
	put("input.json", append([]byte(sc.input().Indent("  ")), '\n'))
	put("session.jsonl", sc.logText(sc.log))
	for i, child := range sc.children {
		put(fmt.Sprintf("session.%d.jsonl", i+1), sc.logText(child))
	}
	put("replay.override.json", append([]byte(sc.override(script.entries).Indent("  ")), '\n'))
	put("stdout.expected.jsonl", sc.expected())
	put("recording.json", append([]byte(sc.describe(script.odd).Indent("  ")), '\n'))
	if err != nil {
		return "", err
	}
	if sc.s.workspace != "" {
		err := os.Rename(filepath.Join(sc.c.dir, sc.s.workspace), filepath.Join(tmp, "workspace"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // an empty one is none
			return "", err
		}
	}
	if err := os.Chmod(tmp, 0o755); err != nil {
		return "", err
	}
	id := sc.s.session
	base := sc.log.Header.CreatedAt.UTC().Format("20060102-150405") + "-" + id[:min(len(id), 8)]
	for n := 1; n < 1000; n++ {
		if name = base; n > 1 {
			name = fmt.Sprintf("%s-%d", base, n)
		}
		// A folder is never replaced: renaming onto one that is not empty fails.
		if _, err = os.Lstat(filepath.Join(sc.opt.Dir, name)); errors.Is(err, fs.ErrNotExist) {
			if err = os.Rename(tmp, filepath.Join(sc.opt.Dir, name)); err == nil {
				return name, nil
			}
		}
	}
	return "", fmt.Errorf("the scenario %s cannot be put into place: %w", base, err)
}

// input is what the client did.
func (sc *scenario) input() jsonvalue.Value {
	caps := sc.c.initialize.Get("clientCapabilities")
	first := []jsonvalue.Member{member("op", jsonvalue.String("initialize"))}
	if on, _ := caps.Get("_meta").Get("terminal_output").Bool(); on {
		first = append(first, member("terminalOutput", jsonvalue.Bool(true)))
	}
	if s := caps.Get("session"); s.Len() > 0 {
		first = append(first, member("session", s))
	}
	opens := "newSession"
	if sc.s.loaded != "" {
		opens = sc.s.loaded
	}
	steps := []jsonvalue.Value{jsonvalue.Object(first...), jsonvalue.Object(member("op", jsonvalue.String(opens)))}
	// Players begin with what is most permissive and native tools.
	setting := func(option, value, usual string) {
		if value != "" && value != usual && sc.s.loaded == "" {
			steps = append(steps, jsonvalue.Object(member("op", jsonvalue.String("setConfigOption")), member("configId", jsonvalue.String(option)), member("value", jsonvalue.String(value))))
		}
	}
	setting("permission", sc.opt.Preset, "danger-full-access")
	setting("tools", sc.opt.ToolMode, "native")
	ms := []jsonvalue.Member{member("steps", jsonvalue.Array(append(steps, sc.s.steps...)...))}
	if len(sc.s.allowed) > 0 {
		ms = append(ms, member("permissionAnswers", jsonvalue.Array(sc.s.allowed...)))
	}
	if len(sc.s.answered) > 0 {
		ms = append(ms, member("elicitationAnswers", jsonvalue.Array(sc.s.answered...)))
	}
	return mapText(jsonvalue.Object(ms...), sc.scrub)
}

// scrub takes secrets, and what is of this machine, out of a text.
func (sc *scenario) scrub(s string) string {
	s = sc.red.text(s)
	for _, p := range [...]struct{ path, name string }{{sc.s.cwd, "{{cwd}}"}, {sc.log.Header.Cwd, "{{cwd}}"}, {sc.opt.Sessions, "{{sessions}}"}} {
		if len(p.path) > 1 {
			s = strings.ReplaceAll(s, p.path, p.name)
		}
	}
	return sc.red.places.Replace(s)
}

// logText is a session's log. The pieces of a streamed text are looked at
// together, since a secret may be spread over several.
func (sc *scenario) logText(log *session.Recording) []byte {
	type block struct {
		turn, step, index int64
		kind, compaction  string
	}
	streams := map[block]*stream{}
	of := func(e session.Event) *stream {
		c := e.Data.Get("chunk")
		index, _ := c.Get("index").Int64()
		key := block{e.Turn(), e.Step(), index, c.GetString("type"), ""}
		if e.Type == session.TypeCompactChunk {
			attempt, _ := e.Data.Get("attempt").Int64()
			key = block{step: attempt, compaction: e.Data.GetString("id")}
		}
		if streams[key] == nil {
			streams[key] = &stream{}
		}
		return streams[key]
	}
	pieces := func(e session.Event) (key string, ok bool) {
		if e.Type != session.TypeAssistantChunk && e.Type != session.TypeCompactChunk {
			return "", false
		}
		switch e.Data.Get("chunk").GetString("type") {
		case "text-delta", "reasoning-delta":
			return "text", true
		case "tool-call-delta":
			return "argumentsDelta", true
		}
		return "", false
	}
	for _, e := range log.Events {
		if key, ok := pieces(e); ok {
			of(e).add(e.Data.Get("chunk").GetString(key))
		}
	}
	header := log.Header
	header.Cwd = sc.scrub(header.Cwd)
	header.Extra = mapIfAny(header.Extra, sc.scrub)
	out := header.AppendLine(nil)
	for _, e := range log.Events {
		chunk, isPiece := pieces(e)
		text := ""
		if isPiece {
			text = of(e).next(sc.scrub)
		}
		if e.Type == session.TypeRequestHeader {
			// What every session of a version is told is no part of what happened.
			h := e.Data.Get("header").With("system", jsonvalue.String("{{system}}")).With("tools", jsonvalue.String("{{tools}}"))
			e.Data = e.Data.With("header", h)
		}
		e.Data = mapText(e.Data, sc.scrub)
		if isPiece {
			e.Data = e.Data.With("chunk", e.Data.Get("chunk").With(chunk, jsonvalue.StringWTF8(text)))
		}
		e.Extra = mapIfAny(e.Extra, sc.scrub)
		out = e.AppendLine(out)
	}
	return out
}

func mapIfAny(v jsonvalue.Value, change func(string) string) jsonvalue.Value {
	if v.IsUndefined() {
		return v
	}
	return mapText(v, change)
}

// override is the model's part, scrubbed like the log.
func (sc *scenario) override(entries []jsonvalue.Value) jsonvalue.Value {
	out := make([]jsonvalue.Value, len(entries))
	for i, e := range entries {
		streams := map[string]*stream{}
		key := func(c jsonvalue.Value) (string, string) {
			switch kind := c.GetString("type"); kind {
			case "text-delta", "reasoning-delta":
				return "text", kind + c.Get("index").String()
			case "tool-call-delta":
				return "argumentsDelta", kind + c.Get("index").String()
			}
			return "", ""
		}
		for _, c := range e.Get("chunks").Elements() {
			if member, id := key(c); member != "" {
				if streams[id] == nil {
					streams[id] = &stream{}
				}
				streams[id].add(c.GetString(member))
			}
		}
		// A client that cancels does so at some piece of the answer; played at once,
		// all pieces are one.
		whole := e.GetString("kind") == "hang"
		chunks := make([]jsonvalue.Value, 0, e.Get("chunks").Len())
		for _, c := range e.Get("chunks").Elements() {
			name, id := key(c)
			if name == "" {
				chunks = append(chunks, mapText(c, sc.scrub))
				continue
			}
			streams[id].whole = streams[id].whole || whole
			text := streams[id].next(sc.scrub)
			if whole && text == "" {
				continue
			}
			chunks = append(chunks, mapText(c, sc.scrub).With(name, jsonvalue.StringWTF8(text)))
		}
		out[i] = mapText(e.Without("chunks"), sc.scrub).With("chunks", jsonvalue.Array(chunks...))
	}
	return jsonvalue.Array(out...)
}

// describe says what the recording is, and what it is not.
func (sc *scenario) describe(odd []string) jsonvalue.Value {
	outcome := outcomeComplete
	switch {
	case sc.killed:
		outcome = outcomeKilled
	case sc.s.failed:
		outcome = outcomeFailed
	}
	list := func(texts []string) jsonvalue.Value {
		vs := make([]jsonvalue.Value, len(texts))
		for i, t := range texts {
			vs[i] = jsonvalue.String(t)
		}
		return jsonvalue.Array(vs...)
	}
	if sc.s.loaded != "" {
		odd = append(odd, fmt.Sprintf("the session began before the recording: it is to be given a log of the first %d events, and loaded", sc.s.before))
	}
	leftOut := sc.s.leftOut
	if leftOut.IsUndefined() {
		leftOut = jsonvalue.Array()
	}
	v := jsonvalue.Object(
		member("version", jsonvalue.Int(1)),
		member("program", jsonvalue.String("dsh-acp "+sc.opt.Version)),
		member("recordedAt", jsonvalue.String(sc.log.Header.CreatedAt.UTC().Format("2006-01-02T15:04:05Z"))),
		member("outcome", jsonvalue.String(outcome)),
		member("turns", jsonvalue.Array(sc.s.turns...)),
		member("settings", jsonvalue.Object(member("permission", jsonvalue.String(sc.opt.Preset)), member("tools", jsonvalue.String(sc.opt.ToolMode)))),
		member("leftOut", leftOut),
		member("notReplayable", list(append(slices.Clone(sc.s.odd), odd...))),
	)
	if sc.s.loaded != "" {
		v = v.With("loadedAfter", jsonvalue.Int(sc.s.before))
	}
	return mapText(v, sc.scrub)
}

// stream puts the pieces of a streamed text together, so that what is to be
// removed is found when it is spread over several.
type stream struct {
	pieces []string
	done   []string
	at     int
	whole  bool // give all of it as the first piece
}

func (s *stream) add(piece string) { s.pieces = append(s.pieces, piece) }

// next is the next piece without what is to be removed. If that cannot be told
// piece by piece, the first is all of the text and the others are empty.
func (s *stream) next(change func(string) string) string {
	if s.done == nil {
		all := change(strings.Join(s.pieces, ""))
		each := make([]string, len(s.pieces))
		for i, p := range s.pieces {
			each[i] = change(p)
		}
		if s.whole || strings.Join(each, "") != all {
			clear(each)
			each[0] = all
		}
		s.done = each
	}
	s.at++
	return s.done[s.at-1]
}

// encode writes a frame the way the agent does.
func encode(v jsonvalue.Value) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return []byte("{}")
	}
	return append(data, '\n')
}
