package session

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Summary is what a list of sessions shows.
type Summary struct {
	Header
	// Title is the last session/title; empty when there is none.
	Title string
	// UpdatedAt is when the log last changed, in milliseconds, UTC.
	UpdatedAt time.Time
	// Prompts counts the user/message events: 0 means nothing was ever said.
	Prompts int
}

// List returns the sessions, the last updated first. A log is read in full only
// once: what was found is kept in an index file, and afterwards only what was
// appended since is read. Folders that hold no readable log are left out and
// reported to the store's logger. A store that does not exist yet is empty.
func (s *Store) List(ctx context.Context) ([]Summary, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	s.listing.Lock()
	defer s.listing.Unlock()
	old := s.readIndex()
	found := make(map[string]*scan, len(entries))
	changed := false
	var list []Summary
	for _, d := range entries {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		id := d.Name()
		if !d.IsDir() || !validID(id) {
			continue
		}
		sc, fresh, err := scanFile(s.Path(id), old[id])
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			s.opts.logger().Warn("a session is left out of the list", "session", id, "err", err)
			continue
		}
		changed = changed || fresh
		found[id] = sc
		sum := sc.Summary
		sum.ID = id // the name it is loaded by
		list = append(list, sum)
	}
	if changed || len(found) != len(old) {
		s.writeIndex(found)
	}
	slices.SortFunc(list, func(a, b Summary) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(a.ID, b.ID))
	})
	return list, nil
}

// scan is what is known of a log up to some offset.
type scan struct {
	Summary
	modified int64 // the file's time when it was scanned, in nanoseconds
	size     int64 // and its size
	offset   int64 // the end of the last whole line that was read
}

// scanFile brings a scan up to date; fresh says that the file had to be read.
func scanFile(path string, known *scan) (sc *scan, fresh bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, false, err
	}
	size, modified := info.Size(), info.ModTime().UnixNano()
	if known != nil && known.size == size && known.modified == modified {
		return known, false, nil
	}
	sc = &scan{}
	if known != nil && known.offset <= size {
		*sc = *known
		if _, err := f.Seek(sc.offset, io.SeekStart); err != nil {
			return nil, false, err
		}
	}
	if err := sc.read(f); err != nil {
		return nil, false, err
	}
	sc.size, sc.modified = size, modified
	sc.UpdatedAt = milliseconds(info.ModTime())
	return sc, true, nil
}

var (
	titlePrefix  = []byte(`{"type":"session/title",`)
	promptPrefix = []byte(`{"type":"user/message",`)
)

// read goes on from the scan's offset. Only the lines that matter are parsed.
func (sc *scan) read(r io.Reader) error {
	lines := lineReader{r: bufio.NewReaderSize(r, 256<<10)}
	for {
		line, whole, err := lines.next()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if !whole && sc.offset > 0 {
			break // being written, or torn
		}
		switch {
		case sc.offset == 0:
			v, err := jsonvalue.Parse(line)
			if err != nil {
				return err
			}
			if sc.Header, err = headerFromValue(v); err != nil {
				return err
			}
		case bytes.HasPrefix(line, titlePrefix):
			if v, err := jsonvalue.Parse(line); err == nil {
				sc.Title = v.Get("data").GetString("title")
			}
		case bytes.HasPrefix(line, promptPrefix):
			sc.Prompts++
		}
		sc.offset += int64(len(line))
		if whole {
			sc.offset++
		}
	}
	if sc.offset == 0 {
		return errors.New("the log is empty: it has no session header")
	}
	return nil
}

// indexName is the index's file name in the store's folder. The index may be
// deleted at any time.
const indexName = "index.json"

// indexVersion changes when a scan learns something new, so that old indexes
// are rebuilt.
const indexVersion = 1

func (s *Store) readIndex() map[string]*scan {
	data, err := os.ReadFile(filepath.Join(s.dir, indexName))
	if err != nil {
		return nil
	}
	v, err := jsonvalue.Parse(data)
	if err != nil || intOf(v, "version") != indexVersion {
		return nil
	}
	index := make(map[string]*scan)
	for id, x := range v.Get("sessions").Members() {
		h, err := headerFromValue(x.Get("header"))
		if err != nil {
			continue
		}
		index[id] = &scan{
			Summary: Summary{
				Header:    h,
				Title:     x.GetString("title"),
				UpdatedAt: milliseconds(time.Unix(0, intOf(x, "modified"))),
				Prompts:   int(intOf(x, "prompts")),
			},
			modified: intOf(x, "modified"),
			size:     intOf(x, "size"),
			offset:   intOf(x, "offset"),
		}
	}
	return index
}

// writeIndex replaces the index. Failing is no fault: the next List reads the
// logs again.
func (s *Store) writeIndex(found map[string]*scan) {
	sessions := make([]jsonvalue.Member, 0, len(found))
	for id, sc := range found {
		sessions = append(sessions, jsonvalue.Member{Key: id, Value: Data(
			"header", sc.value(),
			"title", sc.Title,
			"prompts", sc.Prompts,
			"modified", sc.modified,
			"size", sc.size,
			"offset", sc.offset,
		)})
	}
	slices.SortFunc(sessions, func(a, b jsonvalue.Member) int { return cmp.Compare(a.Key, b.Key) })
	text := Data("version", indexVersion, "sessions", jsonvalue.Object(sessions...)).JSON()
	f, err := os.CreateTemp(s.dir, indexName+".*")
	if err != nil {
		return
	}
	_, err = f.Write(append(text, '\n'))
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir, indexName))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
}
