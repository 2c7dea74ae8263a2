package replay

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// entryKind says how an entry ends.
type entryKind string

const (
	kindChunks entryKind = "chunks" // as its chunks say
	kindThrow  entryKind = "throw"  // with a provider failure
	kindHang   entryKind = "hang"   // when it is cancelled
)

// entry answers one request.
type entry struct {
	kind    entryKind
	chunks  []model.Chunk
	failure *model.Error // how a throw ends

	// broken is why the entry cannot be played. It is raised when a request
	// gets here, so that an earlier part of the recording can still be used.
	broken error
}

// script answers one session's requests in order.
type script struct {
	file    string
	header  session.Header
	entries []entry
}

// load reads the primary script (or its override) and the children's, and puts
// them in the order in which live sessions will be bound to them.
func load(c Config) ([]script, error) {
	if c.Script == "" && c.Override == "" {
		return nil, errors.New("no recording is configured: set model.replay.script to a session log")
	}
	var primary script
	if c.Script != "" {
		var err error
		if primary, err = loadLog(c.Script); err != nil {
			return nil, err
		}
	}
	if c.Override != "" {
		entries, err := loadOverride(c.Override)
		if err != nil {
			return nil, err
		}
		primary.entries, primary.file = entries, c.Override
	}
	children := make([]script, 0, len(c.Children))
	for _, file := range c.Children {
		child, err := loadLog(file)
		if err != nil {
			return nil, err
		}
		children = append(children, child)
	}
	slices.SortStableFunc(children, func(a, b script) int {
		return cmp.Or(a.header.CreatedAt.Compare(b.header.CreatedAt), cmp.Compare(a.header.ID, b.header.ID))
	})
	return append([]script{primary}, children...), nil
}

func loadLog(file string) (script, error) {
	rec, err := session.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return script{}, fmt.Errorf("the recording %s does not exist", file)
	}
	if err != nil {
		return script{}, fmt.Errorf("the recording cannot be read: %w", err)
	}
	// What a forked child inherited was answered in its parent.
	seed := min(rec.Header.SeedLength, len(rec.Events))
	return script{file: file, header: rec.Header, entries: group(rec.Events[seed:])}, nil
}

// group makes one entry of each run of chunk events with equal turn and step. An
// attempt that was repeated leaves nothing: a retry takes its chunks back.
func group(events []session.Event) []entry {
	var entries []entry
	var turn, step int64 = -1, -1
	for _, e := range events {
		switch e.Type {
		case session.TypeRetry:
			if again, _ := e.Data.Get("compaction").Bool(); !again && e.Turn() == turn && e.Step() == step {
				entries[len(entries)-1] = entry{kind: kindChunks}
			}
			continue
		case session.TypeCompactSummary:
			refusal := refusalBefore(events, e)
			if last := len(entries) - 1; refusal != nil && last >= 0 && refusal.turn == turn && refusal.step == step {
				// Some of the refused answer had come.
				entries[last].kind, entries[last].failure, entries[last].broken = kindThrow, refusal.failure, nil
			} else if refusal != nil {
				entries = append(entries, entry{kind: kindThrow, failure: refusal.failure})
			}
			entries = append(entries, summaryEntry(e))
			turn, step = -1, -1
			continue
		}
		if e.Type != session.TypeAssistantChunk {
			continue
		}
		if e.Turn() != turn || e.Step() != step {
			turn, step = e.Turn(), e.Step()
			entries = append(entries, entry{kind: kindChunks})
		}
		last := &entries[len(entries)-1]
		c, err := session.ChunkOf(e)
		if err != nil && last.broken == nil {
			last.broken = fmt.Errorf("event %d: %w", e.Seq, err)
		}
		last.chunks = append(last.chunks, c)
	}
	for i := range entries {
		entries[i].check()
	}
	return entries
}

// refusal is a request that was refused because the conversation was too long.
type refusal struct {
	turn, step int64
	failure    *model.Error
}

// refusalBefore is what makes the agent ask for the summary of an event: nil when
// the user did. The recorded model says of no conversation how long it may be, so
// one that was summarised in good time is refused too.
func refusalBefore(events []session.Event, summary session.Event) *refusal {
	id := summary.Data.GetString("id")
	for _, e := range events {
		if e.Type == session.TypeCompactStart && e.Data.GetString("id") == id {
			if e.Data.GetString("trigger") == "manual" {
				return nil
			}
			return &refusal{turn: e.Turn(), step: e.Step(), failure: &model.Error{
				Code: "CONTEXT_LENGTH", Message: "the conversation is too long for the recorded model",
			}}
		}
	}
	return nil
}

// summaryEntry answers the request for a summary with the recorded one.
func summaryEntry(e session.Event) entry {
	text := ""
	for _, block := range e.Data.Get("content").Elements() {
		text += block.GetString("text")
	}
	return entry{kind: kindChunks, chunks: []model.Chunk{
		model.StartChunk(0, model.PartText), model.TextChunk(0, text), model.EndChunk(0, model.Text(text)), model.FinishChunk(model.FinishStop),
	}}
}

// check marks an entry of chunks that does not end with finish.
func (e *entry) check() {
	if e.broken != nil || len(e.chunks) > 0 && e.chunks[len(e.chunks)-1].Type == model.ChunkFinish {
		return
	}
	finish := slices.IndexFunc(e.chunks, func(c model.Chunk) bool { return c.Type == model.ChunkFinish })
	if finish < 0 {
		e.broken = errors.New("the recorded answer has no finish (it was cancelled or failed): use model.replay.override to say how it goes")
		return
	}
	e.broken = fmt.Errorf("chunks follow the finish: chunks[%d] ends the answer, and %d come after it; remove them, or make them an entry of their own", finish, len(e.chunks)-1-finish)
}

// loadOverride reads an array of entries that stands for the primary script.
func loadOverride(file string) ([]entry, error) {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the override %s does not exist", file)
	}
	if err != nil {
		return nil, fmt.Errorf("the override cannot be read: %w", err)
	}
	entries, err := parseOverride(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(file), err)
	}
	return entries, nil
}

func parseOverride(data []byte) ([]entry, error) {
	v, err := jsonvalue.Parse(data)
	if err != nil {
		return nil, err
	}
	if !v.IsArray() {
		return nil, fmt.Errorf("an override must be an array of entries, not %s", v.Kind())
	}
	entries := make([]entry, 0, v.Len())
	for i, x := range v.Elements() {
		e, err := entryFromValue(x)
		if err != nil {
			return nil, fmt.Errorf("entry %d: %w", i+1, err)
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func entryFromValue(v jsonvalue.Value) (entry, error) {
	e := entry{kind: entryKind(v.GetString("kind"))}
	switch e.kind {
	case kindHang:
		if _, given := v.Lookup("chunks"); !given {
			e.chunks = []model.Chunk{model.StartChunk(0, model.PartText), model.TextChunk(0, "partial")}
			return e, nil
		}
	case kindThrow:
		message, ok := v.Get("message").Str()
		if !ok {
			return e, errors.New(`a throw needs a string "message"`)
		}
		again, _ := v.Get("retryable").Bool()
		wait, _ := v.Get("waitMs").Int64()
		e.failure = &model.Error{
			Message: message, Code: v.GetString("code"), Retryable: again,
			Wait: time.Duration(min(max(wait, 0), int64(time.Hour/time.Millisecond))) * time.Millisecond,
		}
	case kindChunks:
	default:
		return e, fmt.Errorf("the kind must be chunks, throw or hang, not %q", e.kind)
	}
	list := v.Get("chunks")
	if !list.IsArray() {
		return e, errors.New(`needs an array "chunks"`)
	}
	for i, x := range list.Elements() {
		c, err := model.ChunkFromValue(x)
		if err != nil {
			return e, fmt.Errorf("chunks[%d]: %w", i, err)
		}
		e.chunks = append(e.chunks, c)
	}
	if e.kind == kindChunks {
		e.check()
		return e, e.broken
	}
	return e, nil
}
