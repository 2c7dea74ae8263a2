package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
)

// Store is a folder of session logs.
type Store struct {
	dir  string
	opts Options

	listing sync.Mutex // guards the index file against this process
}

// logName is the log's file name inside the session's folder.
const logName = "events.jsonl"

// NewStore returns the store in dir. Nothing is read or made before it is
// needed; dir and its parents are made by the first Create.
func NewStore(dir string, opts Options) *Store { return &Store{dir: dir, opts: opts} }

// Dir returns the folder of a session, where files that belong to it may be
// kept beside its log.
func (s *Store) Dir(id string) string { return filepath.Join(s.dir, id) }

// Path returns the path of a session's log.
func (s *Store) Path(id string) string { return filepath.Join(s.dir, id, logName) }

// AgentsOf returns the store of the sessions that work for the one whose log is
// at path. It is in that session's folder: it is listed with nobody, and deleted
// with it.
func AgentsOf(path string, opts Options) *Store {
	return NewStore(filepath.Join(filepath.Dir(path), "agents"), opts)
}

// Create makes a new session and returns its empty log. A missing id becomes a
// random UUID, a missing time now; the version is this program's.
func (s *Store) Create(h Header) (*Log, error) {
	h = fill(h, s.opts.now())
	if !validID(h.ID) {
		return nil, fmt.Errorf("the session id %q cannot name a folder: use letters, digits, - and _", h.ID)
	}
	if err := os.MkdirAll(s.Dir(h.ID), 0o700); err != nil {
		return nil, fmt.Errorf("cannot make the session folder: %w", err)
	}
	path := s.Path(h.ID)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: %s", ErrExists, h.ID)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make the session log: %w", err)
	}
	line := h.AppendLine(nil)
	if err = lockFile(f); err == nil {
		_, err = f.Write(line)
	}
	if err == nil && s.opts.Sync != SyncNever {
		if err = f.Sync(); err == nil {
			err = syncDir(s.Dir(h.ID))
		}
	}
	if err != nil {
		_ = f.Close()
		_ = os.Remove(path)
		_ = os.Remove(s.Dir(h.ID)) // unless it holds something that was there before
		return nil, fmt.Errorf("cannot write the session log %s: %w", path, err)
	}
	l := newLog(h, f, path, s.opts)
	l.size = int64(len(line))
	return l, nil
}

// Open loads a session for appending and locks it until the log is closed. A
// torn last line is cut off (see [Log.Torn]). Chunks that have done their work
// stay in the file alone (see [Log.Kept]), so that a long log takes little memory.
// Errors: [ErrNotFound], [ErrLocked], *[CorruptError].
//
// The log may end in the middle of a turn; see [Repair].
func (s *Store) Open(id string) (*Log, error) {
	f, err := s.openLocked(id)
	if err != nil {
		return nil, err
	}
	rec, err := s.load(id, &Recording{settle: true})
	var size int64
	if err == nil {
		size, err = cutTorn(f, rec)
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	l := newLog(rec.Header, f, s.Path(id), s.opts)
	l.size, l.events, l.next, l.dropped, l.torn = size, rec.Events, rec.next, rec.dropped, rec.Torn
	return l, nil
}

// Delete removes a session and everything in its folder. Deleting one that is
// not there is no error; one that is open is [ErrLocked].
func (s *Store) Delete(id string) error {
	f, err := s.openLocked(id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	err = os.RemoveAll(s.Dir(id))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err
}

func (s *Store) openLocked(id string) (*os.File, error) {
	if !validID(id) {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	f, err := os.OpenFile(s.Path(id), os.O_WRONLY|os.O_APPEND, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the session log for writing: %w", err)
	}
	if err := lockFile(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	return f, nil
}

// Load reads a session without changing it. Errors: [ErrNotFound],
// *[CorruptError].
func (s *Store) Load(id string) (*Recording, error) { return s.load(id, &Recording{}) }

func (s *Store) load(id string, rec *Recording) (*Recording, error) {
	if !validID(id) {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	rec, err := readFile(s.Path(id), rec)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	return rec, err
}

// validID reports whether an id, which may come from a client, is safe as a
// folder name.
func validID(id string) bool {
	if id == "" || len(id) > 128 {
		return false
	}
	for i := 0; i < len(id); i++ {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	if cerr := d.Close(); err == nil {
		err = cerr
	}
	return err
}
