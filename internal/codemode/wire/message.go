package wire

import (
	"encoding/binary"
	"fmt"
	"time"
)

// Position is a place in the program as the model wrote it: 1-based line and
// column, zero when unknown. Columns count UTF-16 units.
type Position struct{ Line, Column uint32 }

// Run is the program and what it may use.
type Run struct {
	Source    []byte   // JavaScript: a script whose value is an async function
	SourceMap []byte   // its source map, as JSON; may be empty
	Tools     []string // the tools' names, in the order the program sees them
	Compute   time.Duration
	Wall      time.Duration
	Memory    uint64 // bytes of heap the worker may hold
	MaxOutput uint64 // bytes of output the parent keeps
	MaxFrame  uint64 // bytes of the largest call, log or done payload
	Pending   uint32 // calls that may be unanswered at once
}

// Settle is the outcome of a call: the tool's canonical value as JSON, or the
// message the rejection carries.
type Settle struct {
	ID      uint32
	OK      bool
	Payload []byte
}

// Call is a tool call: the tool by its index in Run.Tools, the arguments as
// lossless JSON, and where the program made it.
type Call struct {
	ID   uint32
	Tool uint32
	At   Position
	Args []byte
}

// Status says how a program ended.
type Status byte

// The ways a program ends. All but StatusOK are failures.
const (
	StatusOK            Status = iota
	StatusException            // it threw, or did not compile
	StatusCompute              // its compute budget is used up
	StatusDeadlock             // it waits on something nothing can settle
	StatusMemory               // it holds more memory than it may
	StatusOutput               // its result is above the output limit
	StatusInvalidOutput        // its result is not lossless JSON
	StatusAbort                // it was cancelled
	statusEnd
)

// Frame is one entry of a stack trace. Function is empty for the program's own
// top level.
type Frame struct {
	Function string
	At       Position
}

// Pending is a call that the program did not wait for.
type Pending struct {
	Tool uint32
	At   Position
}

// Done is a program's end.
type Done struct {
	Status  Status
	Value   []byte // JSON, with StatusOK; empty when the program returned nothing
	Message string // what went wrong, first line "<Name>: <message>" for an Error
	Detail  string // more about it, for whoever has to correct the program
	Stack   []Frame
	Pending []Pending
	Busy    time.Duration // how long the program computed
}

// Limits of repeated fields, so that a count cannot be made to cost memory.
const (
	maxTools   = 1 << 16
	maxFrames  = 64
	maxPending = 1 << 10
)

// Append appends the message's payload to dst.
func (m *Run) Append(dst []byte) []byte {
	dst = appendBytes(dst, m.Source)
	dst = appendBytes(dst, m.SourceMap)
	dst = binary.AppendUvarint(dst, uint64(len(m.Tools)))
	for _, t := range m.Tools {
		dst = appendBytes(dst, t)
	}
	for _, n := range []uint64{
		uint64(m.Compute), uint64(m.Wall), m.Memory, m.MaxOutput, m.MaxFrame, uint64(m.Pending),
	} {
		dst = binary.AppendUvarint(dst, n)
	}
	return dst
}

// DecodeRun reads a Run's payload.
func DecodeRun(b []byte) (*Run, error) {
	d := decoder{b: b}
	m := &Run{Source: d.bytes(), SourceMap: d.bytes()}
	m.Tools = make([]string, 0, min(d.count(maxTools), 1024))
	for range d.last {
		m.Tools = append(m.Tools, string(d.bytes()))
	}
	m.Compute = time.Duration(d.bounded(1 << 62))
	m.Wall = time.Duration(d.bounded(1 << 62))
	m.Memory = d.uint()
	m.MaxOutput = d.uint()
	m.MaxFrame = d.uint()
	m.Pending = d.uint32()
	return m, d.end(KindRun)
}

// Append appends the message's payload to dst.
func (m *Settle) Append(dst []byte) []byte {
	dst = m.AppendHead(dst)
	return append(dst, m.Payload...)
}

// AppendHead appends everything but Payload, which ends the frame: a large
// value need not be copied to be sent.
func (m *Settle) AppendHead(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(m.ID))
	return append(dst, boolByte(m.OK))
}

// DecodeSettle reads a Settle's payload; Payload aliases b.
func DecodeSettle(b []byte) (*Settle, error) {
	d := decoder{b: b}
	m := &Settle{ID: d.uint32(), OK: d.bool()}
	m.Payload = d.rest()
	return m, d.end(KindSettle)
}

// Append appends the message's payload to dst.
func (m *Call) Append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(m.ID))
	dst = binary.AppendUvarint(dst, uint64(m.Tool))
	dst = m.At.append(dst)
	return append(dst, m.Args...)
}

// DecodeCall reads a Call's payload; Args aliases b.
func DecodeCall(b []byte) (*Call, error) {
	d := decoder{b: b}
	m := &Call{ID: d.uint32(), Tool: d.uint32(), At: d.position()}
	m.Args = d.rest()
	return m, d.end(KindCall)
}

// Append appends the message's payload to dst.
func (m *Done) Append(dst []byte) []byte {
	dst = append(dst, byte(m.Status))
	dst = appendBytes(dst, m.Value)
	dst = appendBytes(dst, m.Message)
	dst = appendBytes(dst, m.Detail)
	frames := m.Stack[:min(len(m.Stack), maxFrames)]
	dst = binary.AppendUvarint(dst, uint64(len(frames)))
	for _, f := range frames {
		dst = f.At.append(appendBytes(dst, f.Function))
	}
	pending := m.Pending[:min(len(m.Pending), maxPending)]
	dst = binary.AppendUvarint(dst, uint64(len(pending)))
	for _, p := range pending {
		dst = p.At.append(binary.AppendUvarint(dst, uint64(p.Tool)))
	}
	return binary.AppendUvarint(dst, uint64(max(m.Busy, 0)))
}

// DecodeDone reads a Done's payload; Value aliases b.
func DecodeDone(b []byte) (*Done, error) {
	d := decoder{b: b}
	m := &Done{Status: Status(d.byte())}
	if m.Status >= statusEnd {
		d.fail("status %d", m.Status)
	}
	m.Value = d.bytes()
	m.Message = string(d.bytes())
	m.Detail = string(d.bytes())
	d.count(maxFrames)
	for range d.last {
		m.Stack = append(m.Stack, Frame{Function: string(d.bytes()), At: d.position()})
	}
	d.count(maxPending)
	for range d.last {
		m.Pending = append(m.Pending, Pending{Tool: d.uint32(), At: d.position()})
	}
	m.Busy = time.Duration(d.bounded(1 << 62))
	return m, d.end(KindDone)
}

func (p Position) append(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(p.Line))
	return binary.AppendUvarint(dst, uint64(p.Column))
}

func appendBytes[T ~string | ~[]byte](dst []byte, b T) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}

func boolByte(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// decoder reads a payload field by field and remembers the first thing wrong
// with it; what follows then reads as zero.
type decoder struct {
	b    []byte
	last int // the last count read
	err  error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("%w: "+format, append([]any{ErrMalformed}, args...)...)
	}
	d.b, d.last = nil, 0
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail("payload ends early")
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) bool() bool {
	v := d.byte()
	if v > 1 {
		d.fail("flag is %d", v)
	}
	return v == 1
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 {
		d.fail("bad number")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) bounded(limit uint64) uint64 {
	v := d.uint()
	if v > limit {
		d.fail("number %d is above %d", v, limit)
		return 0
	}
	return v
}

func (d *decoder) uint32() uint32 { return uint32(d.bounded(1<<32 - 1)) }

func (d *decoder) count(limit uint64) int {
	d.last = int(d.bounded(limit))
	return d.last
}

func (d *decoder) bytes() []byte {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.fail("field of %d bytes in a payload with %d left", n, len(d.b))
		return nil
	}
	v := d.b[:n:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) rest() []byte {
	v := d.b
	d.b = nil
	return v
}

func (d *decoder) position() Position {
	return Position{Line: d.uint32(), Column: d.uint32()}
}

func (d *decoder) end(k Kind) error {
	if len(d.b) > 0 {
		d.fail("%d bytes too many", len(d.b))
	}
	if d.err != nil {
		return fmt.Errorf("%s: %w", k, d.err)
	}
	return nil
}
