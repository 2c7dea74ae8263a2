package session

import (
	"fmt"
	"log/slog"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Sync says when a log is fsynced.
type Sync int

// The sync policies.
const (
	// SyncTurns, the default: on create, after a turn/end, on close.
	SyncTurns Sync = iota
	// SyncAlways: after every append as well.
	SyncAlways
	// SyncNever: left to the kernel.
	SyncNever
)

// Options tune a log. The zero value is right for most uses.
type Options struct {
	Sync Sync
	// Logger is told of subscribers that panic and of folders that cannot be
	// listed; nil means slog.Default().
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Conceal changes an event's data before it is stored and seen by anybody, to
	// keep out what no log may hold; nil changes nothing.
	Conceal func(jsonvalue.Value) jsonvalue.Value
}

// file is what a log needs of *os.File.
type file interface {
	Write([]byte) (int, error)
	Truncate(int64) error
	Sync() error
	Close() error
}

// Log is an open session log. Its methods are safe for concurrent use.
type Log struct {
	header Header
	path   string
	torn   *Torn
	opts   Options

	// appending serialises appends together with their notifications, so that
	// subscribers see events in order.
	appending sync.Mutex
	// notifying is the goroutine that is calling subscribers, 0 when none is.
	notifying atomic.Int64
	file      file // nil for a log in memory; guarded by appending
	size      int64
	buf       []byte

	// mu guards what readers see.
	mu     sync.RWMutex
	events []Event // without what is settled
	next   int64   // the next event's seq
	// dropped says that chunks are in the file alone; see settled.go.
	dropped bool
	subs    []*subscriber
	err     error // why nothing can be appended any more
}

type subscriber struct{ fn func(Event) }

// NewMemory returns a log that is kept in memory only. Missing header fields
// are filled in as [Store.Create] does.
func NewMemory(h Header, opts Options) *Log {
	return newLog(fill(h, opts.now()), nil, "", opts)
}

func newLog(h Header, f file, path string, opts Options) *Log {
	return &Log{header: h, file: f, path: path, opts: opts}
}

func (o Options) now() time.Time {
	if o.Now != nil {
		return o.Now()
	}
	return time.Now()
}

func (o Options) logger() *slog.Logger {
	if o.Logger != nil {
		return o.Logger
	}
	return slog.Default()
}

func fill(h Header, now time.Time) Header {
	if h.ID == "" {
		h.ID = NewID()
	}
	if h.CreatedAt.IsZero() {
		h.CreatedAt = now
	}
	h.CreatedAt = milliseconds(h.CreatedAt)
	h.Version = Version
	return h
}

func milliseconds(t time.Time) time.Time { return time.UnixMilli(t.UnixMilli()).UTC() }

// Header returns the log's header.
func (l *Log) Header() Header { return l.header }

// Path returns the file's path; empty for a log in memory.
func (l *Log) Path() string { return l.path }

// Torn describes the torn last line that was cut off when the log was opened;
// nil when there was none.
func (l *Log) Torn() *Torn { return l.torn }

// Len returns the number of events, which is the next event's seq.
func (l *Log) Len() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return int(l.next)
}

// Err returns why nothing can be appended any more: a *[WriteError],
// [ErrClosed], or nil.
func (l *Log) Err() error {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.err
}

// Subscribe has fn called for each event appended from now on, synchronously
// and in order, after the event is in the file and in Events. fn must not
// append (that is refused) nor wait for a goroutine that does. A panic in fn is
// contained and logged. The returned function ends the subscription; it may be
// called more than once, and from fn.
func (l *Log) Subscribe(fn func(Event)) (dispose func()) {
	_, dispose = l.SubscribeFrom(fn)
	return dispose
}

// SubscribeFrom is Subscribe and [Log.Kept] in one step: fn gets exactly the
// events that come after the snapshot.
func (l *Log) SubscribeFrom(fn func(Event)) (snapshot []Event, dispose func()) {
	s := &subscriber{fn}
	l.mu.Lock()
	defer l.mu.Unlock()
	// Never in place: notify ranges over the old slice without the lock.
	l.subs = append(slices.Clip(l.subs), s)
	return l.events[:len(l.events):len(l.events)], func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if i := slices.Index(l.subs, s); i >= 0 {
			l.subs = slices.Delete(slices.Clone(l.subs), i, i+1)
		}
	}
}

// Append adds one event and returns it with its seq. When Append returns the
// event is in the file and subscribers have seen it.
//
// Errors: [ErrInvalidEvent] for a draft that breaks the rules (rule R14.2) and
// [ErrReentrant], after both of which the log is as before; a *[WriteError]
// when the event could not be stored, after which the log takes no more;
// [ErrClosed].
func (l *Log) Append(d Draft) (Event, error) {
	events, err := l.AppendAll([]Draft{d})
	if err != nil {
		return Event{}, err
	}
	return events[0], nil
}

// AppendAll is Append for several events, stored by one write: all of them or
// none. A draft's Sources may name earlier drafts of the batch by the seq they
// will have ([Log.Len] + position, if nobody else appends).
func (l *Log) AppendAll(drafts []Draft) ([]Event, error) {
	if err := l.lockAppend(); err != nil {
		return nil, err
	}
	defer l.appending.Unlock()
	if err := l.Err(); err != nil {
		return nil, err
	}
	events, err := l.prepare(drafts)
	if err != nil || len(events) == 0 {
		return nil, err
	}
	if err := l.encode(events); err != nil {
		return nil, err
	}
	if err := l.write(events); err != nil {
		l.mu.Lock()
		l.err = err
		l.mu.Unlock()
		return nil, err
	}
	l.mu.Lock()
	l.events = append(l.events, events...)
	l.next += int64(len(events))
	l.settle(events)
	subs := l.subs
	l.mu.Unlock()
	l.notify(subs, events)
	return events, nil
}

// lockAppend takes the append lock, unless this very goroutine holds it.
func (l *Log) lockAppend() error {
	if l.appending.TryLock() {
		return nil
	}
	if id := l.notifying.Load(); id != 0 && id == goroutineID() {
		return ErrReentrant
	}
	l.appending.Lock()
	return nil
}

// prepare turns drafts into events and checks them.
func (l *Log) prepare(drafts []Draft) ([]Event, error) {
	all, first := l.Kept(), l.Len()
	events := make([]Event, 0, len(drafts))
	for _, d := range drafts {
		e := Event{
			Type:            intern(d.Type),
			Seq:             int64(first + len(events)),
			Time:            d.Time,
			Data:            d.Data,
			SurfaceOp:       d.SurfaceOp,
			SourceEventSeqs: slices.Clone(d.Sources),
		}
		if e.Time.IsZero() {
			e.Time = l.opts.now()
		}
		e.Time = milliseconds(e.Time)
		if e.Data.IsUndefined() {
			e.Data = jsonvalue.Object()
		}
		if l.opts.Conceal != nil {
			e.Data = l.opts.Conceal(e.Data)
		}
		if IsSurface(e.Type) && e.SurfaceOp.IsUndefined() {
			e.SurfaceOp = Append()
		}
		if err := check(e); err != nil {
			return nil, invalid("event %d (%s): %w", e.Seq, e.Type, err)
		}
		if _, isAppend := e.SurfaceOp.Str(); !e.SurfaceOp.IsUndefined() && !isAppend {
			before := append(slices.Clip(all), events...)
			if err := checkReplacement(before, surfaceOf(before), e); err != nil {
				return nil, invalid("event %d (%s): %w", e.Seq, e.Type, err)
			}
		}
		events = append(events, e)
	}
	return events, nil
}

// check enforces the rules that concern the event alone (rule R14.2).
func check(e Event) error {
	if e.Type == "" || e.Type == "session" || isPacked(e.Type) {
		return fmt.Errorf("the type cannot be %q", e.Type)
	}
	if err := jsonvalue.CheckLossless(e.Data); err != nil {
		return err
	}
	if !e.SurfaceOp.IsUndefined() {
		if !IsSurface(e.Type) {
			return fmt.Errorf("only message and tool result events carry a surfaceOp")
		}
		if _, _, _, err := opOf(e); err != nil {
			return err
		}
	}
	seen := make(map[int64]bool, len(e.SourceEventSeqs))
	for _, seq := range e.SourceEventSeqs {
		switch {
		case seq < 0 || seq >= e.Seq:
			return fmt.Errorf("source %d is not an earlier event", seq)
		case seen[seq]:
			return fmt.Errorf("source %d is given twice", seq)
		}
		seen[seq] = true
	}
	return nil
}

// keptBuffer is how large a line's buffer may be that is kept for the next one, in
// bytes. Chunks fit, which are nearly all of the lines; a long result, or the
// tools of a request, must not take memory for as long as the session is open.
const keptBuffer = 1 << 10

// encode puts the events' lines in l.buf.
func (l *Log) encode(events []Event) error {
	l.buf = l.buf[:0]
	if l.file == nil {
		return nil
	}
	for _, e := range events {
		before := len(l.buf)
		l.buf = e.AppendLine(l.buf)
		if n := len(l.buf) - before; n > MaxLine {
			l.buf = nil
			return invalid("event %d (%s) takes %d bytes, and a line may have %d", e.Seq, e.Type, n, MaxLine)
		}
	}
	return nil
}

// write stores l.buf with one write. On failure it cuts the file back to what
// it held before.
func (l *Log) write(events []Event) error {
	if l.file == nil {
		return nil
	}
	_, err := l.file.Write(l.buf)
	if err == nil && l.mustSync(events) {
		err = l.file.Sync()
	}
	if err != nil {
		return &WriteError{Path: l.path, Seq: events[0].Seq, Err: err, CutErr: l.file.Truncate(l.size)}
	}
	l.size += int64(len(l.buf))
	if cap(l.buf) > keptBuffer {
		l.buf = nil
	}
	return nil
}

func (l *Log) mustSync(events []Event) bool {
	switch l.opts.Sync {
	case SyncAlways:
		return true
	case SyncNever:
		return false
	}
	return slices.ContainsFunc(events, func(e Event) bool { return e.Type == TypeTurnEnd })
}

func (l *Log) notify(subs []*subscriber, events []Event) {
	if len(subs) == 0 {
		return
	}
	l.notifying.Store(goroutineID())
	defer l.notifying.Store(0)
	for _, e := range events {
		for _, s := range subs {
			if l.subscribed(s) {
				l.call(s, e)
			}
		}
	}
}

// subscribed reports whether s has not been disposed by an earlier subscriber.
func (l *Log) subscribed(s *subscriber) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return slices.Contains(l.subs, s)
}

func (l *Log) call(s *subscriber, e Event) {
	defer func() {
		if p := recover(); p != nil {
			l.opts.logger().Error("a session log subscriber panicked",
				"session", l.header.ID, "event", e.Type, "seq", e.Seq, "panic", p, "stack", string(debug.Stack()))
		}
	}()
	s.fn(e)
}

// Sync forces what was appended to the disk.
func (l *Log) Sync() error {
	if err := l.lockAppend(); err != nil {
		return err
	}
	defer l.appending.Unlock()
	if l.file == nil {
		return nil
	}
	return l.file.Sync()
}

// Close syncs (unless the policy is SyncNever) and closes the file. Later
// appends fail with [ErrClosed], or with the earlier write error. Closing again
// does nothing.
func (l *Log) Close() error {
	if err := l.lockAppend(); err != nil {
		return err
	}
	defer l.appending.Unlock()
	f := l.file
	l.file = nil
	l.mu.Lock()
	failed := l.err != nil
	if !failed {
		l.err = ErrClosed
	}
	l.mu.Unlock()
	if f == nil {
		return nil
	}
	var err error
	if !failed && l.opts.Sync != SyncNever {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

// cutTorn makes a file that was opened for appending end after its whole lines,
// and returns its size then.
func cutTorn(f *os.File, rec *Recording) (int64, error) {
	size := rec.size
	err := f.Truncate(size)
	if err == nil && rec.unterminated {
		_, err = f.Write([]byte{'\n'})
		size++
	}
	return size, err
}
