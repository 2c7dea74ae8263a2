package session

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// MaxLine is the longest line, in bytes with its newline, that is written or
// read.
const MaxLine = 64 << 20

// Recording is a decoded log.
type Recording struct {
	Header Header
	// Events have Seq equal to their index.
	Events []Event
	// Torn is set when the last line was cut short; it is not in Events.
	Torn *Torn

	// size counts the bytes of the whole lines; unterminated says that the last
	// of them lacks its newline.
	size         int64
	unterminated bool

	next int64 // the seq that the next event must have
	// settle leaves chunks out of Events that have done their work, and dropped says
	// that there were some; see settled.go. Events before index settled stay.
	settle  bool
	settled int
	dropped bool
	put     []postponed // the chunks among the others whose data is to be read
	putData []byte
	// each, if there is one, gets the events in the place of Events, until it
	// returns false: then nothing more is read.
	each func(Event) bool

	parse jsonvalue.Series // of the lines
}

// Torn describes a last line that a crash cut short.
type Torn struct {
	// Line is 1-based.
	Line int
	// Bytes is how many bytes of the line there are.
	Bytes int64
	// Reason says why it is not a whole event.
	Reason string
}

// Decode reads a log. A torn last line is dropped without an error; use [Read]
// to learn of it. Other faults are a *[CorruptError].
func Decode(r io.Reader) (Header, []Event, error) {
	rec, err := Read(r)
	if err != nil {
		return Header{}, nil, err
	}
	return rec.Header, rec.Events, nil
}

// ReadFile is [Read] of a file; errors name it.
func ReadFile(path string) (*Recording, error) { return readFile(path, &Recording{}) }

// readFile reads a file into rec.
func readFile(path string, rec *Recording) (*Recording, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	rec, err = rec.read(f)
	return rec, naming(path, err)
}

// countLines counts the lines of what can be read twice, such as a file, so that
// the events need no growing, which takes three times their memory for a while.
// It gives 0 for anything else.
func countLines(r io.Reader) (lines int) {
	seeker, ok := r.(io.ReadSeeker)
	if !ok {
		return 0
	}
	begin, err := seeker.Seek(0, io.SeekCurrent)
	if err != nil {
		return 0
	}
	buf := make([]byte, 64<<10)
	for {
		n, err := seeker.Read(buf)
		lines += bytes.Count(buf[:n], []byte{'\n'})
		if err != nil {
			break
		}
	}
	if _, err := seeker.Seek(begin, io.SeekStart); err != nil {
		return 0 // reading will fail too, and say why
	}
	return lines
}

// naming makes an error of reading name the file.
func naming(path string, err error) error {
	var corrupt *CorruptError
	if errors.As(err, &corrupt) {
		corrupt.Path = path
	} else if err != nil {
		err = fmt.Errorf("reading %s: %w", path, err)
	}
	return err
}

// Read reads a log: header, events, packed rows expanded. Faults of the text
// are a *[CorruptError], faults of the reader come as they are.
func Read(r io.Reader) (*Recording, error) { return (&Recording{}).read(r) }

func (rec *Recording) read(r io.Reader) (*Recording, error) {
	if !rec.settle && rec.each == nil {
		if n := countLines(r); n > 0 {
			rec.Events = make([]Event, 0, n)
		}
	}
	lines := lineReader{r: bufio.NewReaderSize(r, 64<<10)}
	for n := 1; ; n++ {
		line, whole, err := lines.next()
		if err == io.EOF {
			break
		}
		if errors.Is(err, errLineTooLong) {
			return nil, &CorruptError{Line: n, Err: err}
		}
		if err != nil {
			return nil, err
		}
		if err := rec.take(n, line); err != nil {
			// A header cut short leaves nothing to go on with.
			if whole || n == 1 {
				return nil, &CorruptError{Line: n, Err: err}
			}
			rec.Torn = &Torn{Line: n, Bytes: int64(len(line)), Reason: err.Error()}
			break
		}
		if !rec.taken() {
			break
		}
		rec.size += int64(len(line))
		if whole {
			rec.size++
		}
		rec.unterminated = !whole
	}
	if err := rec.readPutOff(); err != nil {
		return nil, err
	}
	if rec.size == 0 {
		return nil, &CorruptError{Line: 1, Err: errors.New("the log is empty: it has no session header")}
	}
	return rec, nil
}

// take adds one line; on error nothing was added.
func (rec *Recording) take(n int, line []byte) error {
	if n > 1 && rec.settle && rec.putOff(line) {
		return nil
	}
	if n > 1 {
		if e, ok := plainEvent(&rec.parse, line, rec.next); ok {
			rec.add(e)
			return nil
		}
	}
	v, err := rec.parse.Parse(line)
	if err != nil {
		return err
	}
	if !v.IsObject() {
		return fmt.Errorf("a line must be an object, not %s", v.Kind())
	}
	if n == 1 {
		rec.Header, err = headerFromValue(v)
		return err
	}
	if isPacked(v.GetString("type")) {
		events, err := unpack(v, rec.next)
		if err != nil {
			return err
		}
		rec.add(events...)
		return nil
	}
	e, err := eventFromValue(v, rec.next)
	if err != nil {
		return err
	}
	rec.add(e)
	return nil
}

func (rec *Recording) add(events ...Event) {
	rec.Events = append(rec.Events, events...)
	rec.next += int64(len(events))
}

// taken sees to the events of a line that was taken; it reports whether reading
// goes on.
func (rec *Recording) taken() bool {
	switch {
	case rec.each != nil:
		for _, e := range rec.Events {
			if !rec.each(e) {
				return false
			}
		}
		rec.Events = rec.Events[:0]
	case rec.settle && len(rec.Events) > 0 && settles(rec.Events[len(rec.Events)-1]):
		fresh := slices.DeleteFunc(rec.Events[rec.settled:], isChunk)
		rec.dropped = rec.dropped || rec.settled+len(fresh) < len(rec.Events)
		rec.settled += len(fresh)
		rec.Events = rec.Events[:rec.settled]
		rec.put, rec.putData = rec.put[:0], rec.putData[:0]
	}
	return true
}

func eventFromValue(v jsonvalue.Value, want int64) (Event, error) {
	var e Event
	var extra []jsonvalue.Member
	var hasSeq, hasTime bool
	for key, x := range v.Members() {
		switch key {
		case "type":
			s, ok := x.Str()
			if !ok {
				return e, errors.New("the event's type is not a string")
			}
			e.Type = intern(s)
		case "seq":
			e.Seq, hasSeq = x.Int64()
		case "time":
			var ms int64
			ms, hasTime = x.Int64()
			e.Time = time.UnixMilli(ms).UTC()
		case "data":
			e.Data = x
		case "surfaceOp":
			e.SurfaceOp = x
			if s, _ := x.Str(); s == "append" {
				e.SurfaceOp = surfaceAppend
			}
		case "sourceEventSeqs":
			if !x.IsArray() {
				return e, errors.New("sourceEventSeqs is not an array")
			}
			e.SourceEventSeqs = make([]int64, 0, x.Len())
			for _, y := range x.Elements() {
				seq, ok := y.Int64()
				if !ok || seq < 0 || seq >= want {
					return e, fmt.Errorf("sourceEventSeqs holds %s, which is not the seq of an earlier event", y)
				}
				e.SourceEventSeqs = append(e.SourceEventSeqs, seq)
			}
		default:
			extra = append(extra, jsonvalue.Member{Key: key, Value: x})
		}
	}
	switch {
	case e.Type == "":
		return e, errors.New("the line has no type")
	case !hasSeq && !hasTime:
		return e, errors.New("the event has no seq and no time: logs of the newest harness, which leave them out, cannot be read")
	case !hasSeq:
		return e, errors.New("the event's seq is not a whole number")
	case !hasTime:
		return e, errors.New("the event's time is not a whole number of milliseconds")
	case e.Seq != want:
		return e, fmt.Errorf("the event's seq is %d where %d must follow", e.Seq, want)
	case e.Data.IsUndefined():
		return e, errors.New("the event has no data")
	}
	if len(extra) > 0 {
		e.Extra = jsonvalue.Object(extra...)
	}
	return e, nil
}

// intern gives known type names one copy, so that a loaded log does not keep
// each line's text alive only for its type.
func intern(s string) string {
	if known, ok := knownTypes[s]; ok {
		return known
	}
	return s
}

var knownTypes = func() map[string]string {
	m := make(map[string]string)
	for _, t := range []string{
		TypeTurnStart, TypeTurnEnd, TypeStepStart, TypeStepEnd, TypeUserMessage, TypePromptBlocked,
		TypeContextMessage, TypeSteeringMessage, TypeRequestHeader, TypeAssistantChunk,
		TypeAssistantMessage, TypeToolCall, TypeToolResult, TypeCodeDispatch, TypeTodoWrite, TypeTitle,
		TypeApprovalAsked, TypeApprovalDecided, TypeApprovalPolicy, TypeSandboxMode, TypePermissionPreset,
		TypePlanMode, TypeHookInvoked, TypeHookResult, TypeFSObserved, TypeRetry, TypeCompactStart,
		TypeCompactChunk, TypeCompactSummary, TypeCompactEnd,
	} {
		m[t] = t
	}
	return m
}()

var errLineTooLong = fmt.Errorf("the line is longer than %d bytes", MaxLine)

// lineReader splits a stream at newlines without an upper bound of the
// buffered reader's, but with MaxLine's.
type lineReader struct {
	r    *bufio.Reader
	long []byte
}

// next returns a line without its newline, valid until the next call, and
// whether it had one; io.EOF when there is none.
func (l *lineReader) next() (line []byte, whole bool, err error) {
	l.long = l.long[:0]
	for {
		part, err := l.r.ReadSlice('\n')
		if len(l.long)+len(part) > MaxLine {
			return nil, false, errLineTooLong
		}
		switch {
		case err == nil:
			part = part[:len(part)-1]
			if len(l.long) == 0 {
				return part, true, nil
			}
			l.long = append(l.long, part...)
			return l.long, true, nil
		case errors.Is(err, bufio.ErrBufferFull):
			l.long = append(l.long, part...)
		case err == io.EOF:
			l.long = append(l.long, part...)
			if len(l.long) == 0 {
				return nil, false, io.EOF
			}
			return l.long, false, nil
		default:
			return nil, false, err
		}
	}
}
