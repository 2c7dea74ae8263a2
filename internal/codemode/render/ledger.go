package render

import (
	"fmt"
	"math"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// MinOutputBytes is the smallest limit that means anything: an empty list of
// log entries and an empty message (C6.4).
const MinOutputBytes = 4

// Ledger counts what a program puts out against a limit (C6.5): the JSON of the
// list of log entries plus the JSON of the result, or of the failure message.
// What the program receives from tools is not counted. A Ledger belongs to one
// run and is not safe for concurrent use.
type Ledger struct {
	max  int
	used int // bytes of the JSON of logs
	logs []string
	seen int // bytes of text that came in
	over bool
}

// NewLedger starts counting. It refuses a limit below MinOutputBytes.
func NewLedger(maxBytes int) (*Ledger, error) {
	if maxBytes < MinOutputBytes {
		return nil, fmt.Errorf("max_output_bytes must be at least %d, got %d", MinOutputBytes, maxBytes)
	}
	return &Ledger{max: maxBytes, used: len("[]")}, nil
}

// Log takes in one entry. It returns false when the entries alone exceed the
// limit: the run should end, and entries from then on are counted but not kept.
func (l *Ledger) Log(entry string) bool {
	l.seen += len(entry)
	if l.over {
		return false
	}
	comma := min(len(l.logs), 1)
	size, ok := StringBytes(entry, l.max-l.used-comma)
	if !ok {
		// What still fits is kept: its beginning may be all there is to
		// see of a program that printed one huge line.
		l.over = true
		entry = TruncateString(entry, l.max-l.used-comma)
		if entry == "" {
			return false
		}
		size, _ = StringBytes(entry, math.MaxInt)
	}
	l.used += comma + size
	l.logs = append(l.logs, entry)
	return !l.over
}

// Logs returns the entries kept so far. The caller must not change them.
func (l *Ledger) Logs() []string { return l.logs[:len(l.logs):len(l.logs)] }

// Complete settles a run that returned a value (Undefined: nothing). The error,
// if any, is an *OverflowError.
func (l *Ledger) Complete(result jsonvalue.Value) error {
	_, fits := ValueBytes(result, l.max-l.used)
	if fits && !l.over {
		return nil
	}
	size, _ := ValueBytes(result, math.MaxInt)
	return l.overflow(size)
}

// Fail settles a run that failed with a message. The error, if any, is an
// *OverflowError, which takes the place of that failure.
func (l *Ledger) Fail(message string) error {
	if _, fits := StringBytes(message, l.max-l.used); fits && !l.over {
		return nil
	}
	return l.overflow(0)
}

// overflow makes the failure and cuts the entries down to what leaves room for
// its fixed message.
func (l *Ledger) overflow(result int) error {
	err := &OverflowError{Max: l.max, Total: l.seen, Result: result}
	message, _ := StringBytes(err.Error(), math.MaxInt)
	left := l.max - message - len("[]")
	for i, entry := range l.logs {
		left -= min(i, 1) // the comma
		size, ok := StringBytes(entry, left)
		if !ok {
			if entry = TruncateString(entry, left); entry != "" {
				err.Logs = append(err.Logs, entry)
				err.Kept += len(entry)
			}
			break
		}
		left -= size
		err.Logs = append(err.Logs, entry)
		err.Kept += len(entry)
	}
	return err
}

// OverflowError is the failure of a run whose output exceeded the limit.
type OverflowError struct {
	Max    int      // the limit, in bytes of JSON
	Logs   []string // the entries that are kept, the last one perhaps cut
	Kept   int      // bytes of text in Logs
	Total  int      // bytes of text the program had printed by then
	Result int      // bytes of JSON of the result that was dropped, if any
}

// Error is the fixed message (C6.3).
func (e *OverflowError) Error() string {
	return fmt.Sprintf("outer output exceeded %d bytes", e.Max)
}

// Notice says how much of the output is left and what to do about it, for a
// line after the message.
func (e *OverflowError) Notice() string {
	lost := fmt.Sprintf("kept %d of %d bytes of console output", e.Kept, e.Total)
	if e.Result > 0 {
		lost += fmt.Sprintf("; the result, %d bytes as JSON, was dropped", e.Result)
	}
	return "(" + lost + "; print or return less, or write the rest to a file)"
}
