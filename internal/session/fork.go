package session

import (
	"errors"
	"os"
)

// forkBuffer is how much of a copied log is written at once, in bytes.
const forkBuffer = 1 << 20

// Fork makes a new session whose log begins with everything that another one's
// holds at this moment, whoever has that open, and returns it open. The header
// is the caller's; its parent and the length of what was inherited are filled
// in. Errors: [ErrNotFound] for the source, *[CorruptError].
//
// What the other one keeps beside its log, such as long results, becomes the new
// one's too, under the same names, and the copied events name the new places: the
// other session may be deleted. What was copied may end in the middle of a turn;
// see [RepairCopy].
func (s *Store) Fork(id string, h Header) (*Log, error) {
	rec, err := s.Load(id)
	if err != nil {
		return nil, err
	}
	h.ParentSession, h.SeedLength = id, len(rec.Events)
	l, err := s.Create(h)
	if err != nil {
		return nil, err
	}
	if err := l.inherit(s.adopt(id, l.Header().ID, rec.Events)); err != nil {
		return nil, errors.Join(err, l.Close(), os.RemoveAll(s.Dir(l.Header().ID)))
	}
	return l, nil
}

// inherit writes the events of another log into one that is new.
func (l *Log) inherit(events []Event) error {
	l.appending.Lock()
	defer l.appending.Unlock()
	var buf []byte
	for i, e := range events {
		buf = e.AppendLine(buf)
		if len(buf) < forkBuffer && i < len(events)-1 {
			continue
		}
		n, err := l.file.Write(buf)
		if err != nil {
			return &WriteError{Path: l.path, Seq: e.Seq, Err: err}
		}
		l.size += int64(n)
		buf = buf[:0]
	}
	if l.opts.Sync != SyncNever {
		if err := l.file.Sync(); err != nil {
			return err
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events, l.next = events, int64(len(events))
	return nil
}
