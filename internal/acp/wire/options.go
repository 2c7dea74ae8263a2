package wire

import (
	"log/slog"
	"time"
)

// The bounds a connection has when its Options leave them zero.
const (
	// DefaultMaxLine is the longest line taken from the peer, in bytes.
	DefaultMaxLine = 64 << 20
	// DefaultQueueFrames is how many messages may wait to be written.
	DefaultQueueFrames = 1024
	// DefaultQueueBytes is how many bytes may wait to be written; one message
	// above it is sent all the same, alone.
	DefaultQueueBytes = 32 << 20
	// DefaultStallTimeout is how long a peer may read nothing while senders wait.
	DefaultStallTimeout = 60 * time.Second
	// DefaultFlushTimeout is how long Close waits for what is queued.
	DefaultFlushTimeout = 5 * time.Second
)

// Options bound a connection. The zero value takes the defaults.
type Options struct {
	// MaxLine is the longest line taken from the peer, in bytes without the
	// line end. A longer one is skipped and answered with an error.
	MaxLine int
	// QueueFrames and QueueBytes bound what waits to be written. Our own
	// messages wait at the bound; replies may use as much again.
	QueueFrames, QueueBytes int
	// StallTimeout closes the connection when senders have waited that long and
	// not one message left the queue.
	StallTimeout time.Duration
	// FlushTimeout bounds Close.
	FlushTimeout time.Duration
	// Logger gets what the connection has to say; nil discards it.
	Logger *slog.Logger
	// Trace, if not nil, is called with every line after it was read (in true)
	// and before it is written (in false), without the line end, from two
	// goroutines. It must not keep or change the bytes, and must not block. Lines
	// that were skipped for their length are not shown.
	Trace func(in bool, line []byte)
}

func (o Options) withDefaults() Options {
	if o.MaxLine <= 0 {
		o.MaxLine = DefaultMaxLine
	}
	if o.QueueFrames <= 0 {
		o.QueueFrames = DefaultQueueFrames
	}
	if o.QueueBytes <= 0 {
		o.QueueBytes = DefaultQueueBytes
	}
	if o.StallTimeout <= 0 {
		o.StallTimeout = DefaultStallTimeout
	}
	if o.FlushTimeout <= 0 {
		o.FlushTimeout = DefaultFlushTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}
