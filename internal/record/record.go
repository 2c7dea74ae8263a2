// Package record writes what happens on a connection as scenarios that can be
// played again: what the client did, the session's log, the model's part, the
// workspace before, and what the client was shown. docs/recording.md has the
// formats.
//
// While the program serves, the frames of both directions and a copy of each
// session's workspace are kept in a hidden folder. When it ends they become one
// scenario a session, complete or not there at all. What a killed program left
// behind becomes scenarios with the next recording into the same folder.
package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// Options say where and how.
type Options struct {
	// Dir is where scenarios go. It is made when it does not exist.
	Dir string
	// Sessions is the folder of the session logs.
	Sessions string
	// Preset and ToolMode are what a session begins with.
	Preset, ToolMode string
	// Version is that of the program, for the scenario's description.
	Version string
	// Redact says what to remove.
	Redact Redaction
	// Now is the clock; nil means time.Now.
	Now    func() time.Time
	Logger *slog.Logger
}

// maxFrame is the longest message that is recorded, in bytes.
const maxFrame = 16 << 20

// Recorder keeps what passes through its Reader and Writer. It is safe for
// concurrent use.
type Recorder struct {
	opt    Options
	redact *redactor
	dir    string // the hidden folder
	lock   *os.File

	mu      sync.Mutex
	file    *os.File
	broken  error
	folders int
}

// Begin makes scenarios of what earlier programs left behind in the folder, and
// starts a recording.
func Begin(opt Options) (*Recorder, error) {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Logger == nil {
		opt.Logger = slog.New(slog.DiscardHandler)
	}
	red, err := newRedactor(opt.Redact)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(opt.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("the folder of the recordings cannot be made: %w", err)
	}
	salvage(opt, red)
	r := &Recorder{opt: opt, redact: red}
	r.dir, err = os.MkdirTemp(opt.Dir, hiddenPrefix+opt.Now().UTC().Format("20060102-150405")+"-")
	if err != nil {
		return nil, fmt.Errorf("the recording cannot be begun: %w", err)
	}
	if r.lock, err = lock(filepath.Join(r.dir, "lock")); err != nil {
		return nil, errors.Join(err, os.RemoveAll(r.dir))
	}
	about, err := json.Marshal(about{Sessions: opt.Sessions, Preset: opt.Preset, ToolMode: opt.ToolMode, Version: opt.Version})
	if err == nil {
		err = os.WriteFile(filepath.Join(r.dir, "about.json"), about, 0o600)
	}
	if err == nil {
		r.file, err = os.OpenFile(filepath.Join(r.dir, "frames.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	}
	if err != nil {
		return nil, errors.Join(err, r.lock.Close(), os.RemoveAll(r.dir))
	}
	return r, nil
}

// hiddenPrefix begins the name of a recording that is under way.
const hiddenPrefix = ".recording-"

// about is what a later program must know to finish the recording.
type about struct {
	Sessions, Preset, ToolMode, Version string
}

// Reader records what the client sends before it is read from the result.
func (r *Recorder) Reader(in io.Reader) io.Reader {
	return &tap{in: in, lines: lines{take: func(line []byte) { r.frame("in", line) }}}
}

// Writer records what is written to the result, and passes it on.
func (r *Recorder) Writer(out io.Writer) io.Writer {
	return &tapWriter{out: out, lines: lines{take: func(line []byte) { r.frame("out", line) }}}
}

// frame keeps one message.
func (r *Recorder) frame(direction string, line []byte) {
	v, err := jsonvalue.Parse(line)
	if err != nil {
		return // no frame; nothing that a scenario could hold
	}
	if method := v.GetString("method"); direction == "in" && (method == "session/new" || loads(method)) {
		r.snapshot(v)
	}
	r.put(jsonvalue.Object(member("d", jsonvalue.String(direction)), member("f", r.redact.value(v))))
}

// loads reports whether a request takes up a session that has begun before.
func loads(method string) bool { return method == "session/load" || method == "session/resume" }

// snapshot copies the workspace that a session begins with, or goes on with. For
// one that goes on it says how many events its log has.
func (r *Recorder) snapshot(request jsonvalue.Value) {
	r.mu.Lock()
	r.folders++
	name := fmt.Sprintf("workspace-%d", r.folders)
	r.mu.Unlock()
	out := snapshot(request.Get("params").GetString("cwd"), filepath.Join(r.dir, name), r.redact)
	ms := []jsonvalue.Member{
		member("d", jsonvalue.String("workspace")), member("id", request.Get("id")), member("dir", jsonvalue.String(name)), member("leftOut", out),
	}
	if id := request.Get("params").GetString("sessionId"); id != "" {
		ms = append(ms, member("events", jsonvalue.Int(eventsOf(r.opt.Sessions, id))))
	}
	r.put(jsonvalue.Object(ms...))
}

// eventsOf counts the events of a session's log: its whole lines but the first.
func eventsOf(sessions, id string) (n int64) {
	if id != filepath.Base(id) || !filepath.IsLocal(id) {
		return 0 // no session has such a name, and the request will be refused
	}
	f, err := os.Open(session.NewStore(sessions, session.Options{}).Path(id))
	if err != nil {
		return 0
	}
	defer f.Close()
	buf := make([]byte, 1<<16)
	for {
		read, err := f.Read(buf)
		n += int64(bytes.Count(buf[:read], []byte("\n")))
		if err != nil {
			return max(n-1, 0)
		}
	}
}

func (r *Recorder) put(v jsonvalue.Value) {
	line := append(v.JSON(), '\n')
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil || r.broken != nil {
		return
	}
	if _, err := r.file.Write(line); err != nil {
		r.broken = err
		r.opt.Logger.Error("the recording cannot be written and ends here", "dir", r.dir, "err", err)
	}
}

// End makes the scenarios. It is called once, when the sessions are closed; what
// passes through the reader or the writer afterwards is not recorded.
func (r *Recorder) End() error {
	r.mu.Lock()
	err := errors.Join(r.broken, r.file.Close())
	r.file = nil
	r.mu.Unlock()
	names, finishErr := finish(r.opt, r.redact, r.dir, false)
	for _, name := range names {
		r.opt.Logger.Info("a scenario was recorded", "dir", filepath.Join(r.opt.Dir, name))
	}
	return errors.Join(err, finishErr, r.lock.Close(), os.RemoveAll(r.dir))
}

// salvage finishes recordings whose program is gone.
func salvage(opt Options, red *redactor) {
	entries, err := os.ReadDir(opt.Dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(opt.Dir, e.Name())
		if !e.IsDir() || !strings.HasPrefix(e.Name(), hiddenPrefix) {
			continue
		}
		held, err := lock(filepath.Join(dir, "lock"))
		if err != nil {
			continue // its program is alive
		}
		var a about
		data, err := os.ReadFile(filepath.Join(dir, "about.json"))
		if err == nil {
			err = json.Unmarshal(data, &a)
		}
		if err == nil {
			old := opt
			old.Sessions, old.Preset, old.ToolMode, old.Version = a.Sessions, a.Preset, a.ToolMode, a.Version
			_, err = finish(old, red, dir, true)
		}
		if err = errors.Join(err, held.Close(), os.RemoveAll(dir)); err != nil {
			opt.Logger.Warn("a recording that was cut short could not be finished", "dir", dir, "err", err)
		}
	}
}

func member(key string, v jsonvalue.Value) jsonvalue.Member {
	return jsonvalue.Member{Key: key, Value: v}
}
