// Package wire carries JSON-RPC messages over a pair of byte streams, one JSON
// object a line, the way ACP asks for.
//
// The pairing of calls with answers and the read loop are those of
// github.com/sourcegraph/jsonrpc2. Everything around them is here, because the
// library gives up the connection over a single bad line, changes ids that are
// no small positive numbers, and lets a peer that does not read block every
// sender for good:
//
//   - frame.go cuts the input into lines, with a ceiling that costs no memory.
//   - envelope.go tells requests, notifications, answers and rubbish apart.
//   - stream.go is the library's ObjectStream: rubbish is answered there and
//     then, ids are swapped for numbers of our own, and the library sees only a
//     stub of each message. Parameters and results pass beside it as the bytes
//     they are.
//   - queue.go is the one ordered, bounded way out.
//   - conn.go and request.go are what the rest of the program uses.
//
// # Order
//
// Messages are handed to the [Handler] one at a time, in the order they came,
// on one goroutine. Messages are written in the order in which Notify, Call and
// Reply were called. $/cancel_request takes effect between the messages it came
// between: its request's context is registered before the handler sees the
// request, so a cancellation always finds it.
//
// # End
//
// A connection ends in two steps. When the input ends, Done is closed and every
// request's context with it, but answers can still be written: a client that
// closes its end still gets what it asked for. Close then flushes, with a bound,
// and lets go of everything. When the output breaks or the peer stops reading,
// Done is closed and every sender gets an error.
package wire
