// Package wire is what a Code Mode worker and its parent say to each other:
// frames of four bytes length (big endian, of what follows the kind), one byte
// kind, and the payload as raw bytes.
//
// A worker runs whatever a model wrote, so the parent treats every byte from it
// as hostile: lengths are bounded before anything is allocated, and a payload
// that does not decode to its last byte is refused.
//
// The exchange is short. The worker says Ready. The parent sends one Run. The
// worker sends any number of Log and Call frames, the parent answers each Call
// with one Settle in any order, and the worker ends with one Done. A Cancel may
// come from the parent at any time. Nothing follows Done: a worker runs one
// program and ends.
package wire

// Version is the protocol's version, part of how a worker is recognised: parent
// and worker are the same binary, so a mismatch means a stale process.
const Version = "1"

// Kind says what a frame is.
type Kind byte

// The kinds of frames.
const (
	KindRun    Kind = 1 + iota // parent → worker: the program
	KindSettle                 // parent → worker: the outcome of a call
	KindCancel                 // parent → worker: stop, with the reason
	KindReady                  // worker → parent: prepared, waiting for Run
	KindCall                   // worker → parent: a tool call
	KindLog                    // worker → parent: one console entry
	KindDone                   // worker → parent: the program's end
)

// MaxPayload bounds one frame's payload in bytes, whatever the configuration.
const MaxPayload = 256 << 20

const headerSize = 5

func (k Kind) String() string {
	switch k {
	case KindRun:
		return "run"
	case KindSettle:
		return "settle"
	case KindCancel:
		return "cancel"
	case KindReady:
		return "ready"
	case KindCall:
		return "call"
	case KindLog:
		return "log"
	case KindDone:
		return "done"
	}
	return "unknown"
}
