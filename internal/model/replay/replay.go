// Package replay answers model requests from a recorded session log: the
// model's words come from the recording, while tools run for real.
//
// The chunks of a log are grouped by turn and step; each group answers one
// request, in order, without delay. What is asked is not compared with what was
// asked when the recording was made, so results may differ from the recording.
// Each live session is bound to a script when it first asks: the first to the
// primary log, the next to the child log created first, and so on. Sessions
// that delegate in parallel would be bound in the order of their requests.
//
// Anything that does not fit (a request beyond the script, a session beyond the
// scripts, an unreadable file) fails the request with a *model.Error of code
// REPLAY.
package replay

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// ErrorCode is the code of the failures that are replay's own.
const ErrorCode = "REPLAY"

// Config says what to play.
type Config struct {
	// Script is the primary session's log.
	Script string
	// Override is a JSON file whose entries stand for the script; may be empty.
	Override string
	// Children are the logs of delegated sessions, in any order.
	Children []string
	// Models are the ids to offer, the default first; empty means
	// deepseek-v4-flash and deepseek-v4-pro.
	Models []string
	// ProviderID is how the provider presents itself; empty means deepseek.
	ProviderID string
}

// Provider plays a recording. Make one with [New].
type Provider struct {
	config Config

	loadOnce sync.Once
	scripts  []script
	loadErr  error

	mu      sync.Mutex
	cursors map[string]*cursor // by live session
}

// cursor is a live session's place in its script.
type cursor struct {
	script *script
	next   int
}

// New returns a provider. The files are read when the first request comes, so
// that a missing one fails a turn with a clear error instead of the start; see
// [Provider.Check].
func New(c Config) *Provider {
	if c.ProviderID == "" {
		c.ProviderID = "deepseek"
	}
	if len(c.Models) == 0 {
		c.Models = []string{"deepseek-v4-flash", "deepseek-v4-pro"}
	}
	return &Provider{config: c, cursors: make(map[string]*cursor)}
}

// ProviderID is the configured one.
func (p *Provider) ProviderID() string { return p.config.ProviderID }

// Models lists the configured ids.
func (p *Provider) Models(context.Context) ([]model.Info, error) {
	infos := make([]model.Info, len(p.config.Models))
	for i, id := range p.config.Models {
		infos[i] = model.Info{ID: id, Name: id, Reasoning: true}
	}
	return infos, nil
}

// Check reads the files now and reports what is wrong with them.
func (p *Provider) Check() error {
	p.loadOnce.Do(func() {
		var err error
		if p.scripts, err = load(p.config); err != nil {
			p.loadErr = replayError("%w", err)
		}
	})
	return p.loadErr
}

// Stream plays the session's next entry. The place in the script moves on when
// the sequence is first ranged over, whatever becomes of it.
func (p *Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		e, err := p.take(req.SessionID)
		if err != nil {
			yield(model.Chunk{}, err)
			return
		}
		for _, c := range e.chunks {
			if err := ctx.Err(); err != nil {
				yield(model.Chunk{}, err)
				return
			}
			if !yield(inFolder(c, req.Cwd), nil) {
				return
			}
		}
		switch e.kind {
		case kindThrow:
			yield(model.Chunk{}, e.failure)
		case kindHang:
			<-ctx.Done()
			yield(model.Chunk{}, ctx.Err())
		}
	}
}

// folderMark stands in recordings for the session's working directory.
const folderMark = "{{cwd}}"

// inFolder is a chunk of a recording as it is said in a working directory.
func inFolder(c model.Chunk, cwd string) model.Chunk {
	if cwd == "" {
		return c
	}
	quoted, err := json.Marshal(cwd)
	if err != nil {
		return c
	}
	inside := string(quoted[1 : len(quoted)-1]) // arguments are JSON in a text
	c.Text = strings.ReplaceAll(c.Text, folderMark, cwd)
	c.ArgumentsDelta = strings.ReplaceAll(c.ArgumentsDelta, folderMark, inside)
	if c.Block != nil && (strings.Contains(c.Block.Text, folderMark) || strings.Contains(c.Block.Arguments, folderMark)) {
		b := *c.Block
		b.Text = strings.ReplaceAll(b.Text, folderMark, cwd)
		b.Arguments = strings.ReplaceAll(b.Arguments, folderMark, inside)
		c.Block = &b
	}
	return c
}

// take returns the entry that answers a session's next request.
func (p *Provider) take(sessionID string) (entry, error) {
	if err := p.Check(); err != nil {
		return entry{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.cursors[sessionID]
	if c == nil {
		bound := len(p.cursors)
		if bound >= len(p.scripts) {
			return entry{}, replayError("session %s asks the recorded model, but all %d scripts belong to other sessions: record its log and name it in model.replay.children", sessionID, len(p.scripts))
		}
		c = &cursor{script: &p.scripts[bound]}
		p.cursors[sessionID] = c
	}
	c.next++
	if c.next > len(c.script.entries) {
		return entry{}, replayError("request %d goes beyond the recording %s, which has %d answers", c.next, c.script.file, len(c.script.entries))
	}
	e := c.script.entries[c.next-1]
	if e.broken != nil {
		return entry{}, replayError("answer %d of the recording %s cannot be played: %w", c.next, c.script.file, e.broken)
	}
	return e, nil
}

func replayError(format string, args ...any) *model.Error {
	err := fmt.Errorf(format, args...)
	return &model.Error{Message: err.Error(), Code: ErrorCode, Err: err}
}
