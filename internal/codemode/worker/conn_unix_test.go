//go:build unix

package worker

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
)

// connPair is a worker's connection and its parent's ends of the pipes.
func connPair(t *testing.T) (c *pipeConn, toWorker *os.File, fromWorker *wire.Reader) {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range []*os.File{inR, inW, outR, outW} {
			_ = f.Close()
		}
	})
	_ = outR.SetReadDeadline(time.Now().Add(time.Minute))
	return newPipeConn(inR, outW), inW, wire.NewReader(bufio.NewReader(outR), wire.MaxPayload)
}

func wantFrames(t *testing.T, r *wire.Reader, payloads ...string) {
	t.Helper()
	for _, want := range payloads {
		if _, got, err := r.Next(); err != nil || string(got) != want {
			t.Fatalf("%.40q, %v; want %.40q", got, err, want)
		}
	}
}

func TestHeldFramesGoInOrder(t *testing.T) {
	c, toWorker, fromWorker := connPair(t)
	hold := func(text string) {
		t.Helper()
		if err := c.Hold(wire.KindCall, []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	hold("a")
	hold("b")
	if len(c.held) == 0 {
		t.Fatal("nothing was held")
	}
	_ = c.Send(wire.KindLog, []byte("c"))
	wantFrames(t, fromWorker, "a", "b", "c")

	large := strings.Repeat("x", maxHeld)
	hold("d")
	hold(large)
	hold("e")
	c.nudge()
	wantFrames(t, fromWorker, "d", large, "e")

	// What is held goes before a wait, not before a frame that is there.
	_, _ = toWorker.Write(append(wire.AppendFrame(nil, wire.KindSettle, []byte("1")), wire.AppendFrame(nil, wire.KindSettle, []byte("2"))...))
	if _, _, err := c.Recv(time.Time{}); err != nil {
		t.Fatal(err)
	}
	hold("f")
	if _, _, err := c.Recv(time.Time{}); err != nil || len(c.held) == 0 {
		t.Fatalf("%v, %d bytes held", err, len(c.held))
	}
	if _, _, err := c.Recv(time.Now()); err != ErrDeadline {
		t.Fatal(err)
	}
	wantFrames(t, fromWorker, "f")
}

// Frames of every size, however the pipe cuts them, come out whole, and stay
// what they were while later ones are received.
func TestReceivedFramesAreWhole(t *testing.T) {
	c, toWorker, _ := connPair(t)
	var want [][]byte
	var stream []byte
	for i, size := range []int{0, 1, readAhead, 3, readAhead - 1, readAhead + 1, 5, 300_000, 0, 7, 7, 7, 100_000, 100_000, 2} {
		p := bytes.Repeat([]byte{byte('a' + i)}, size)
		want = append(want, p)
		stream = wire.AppendFrame(stream, wire.KindSettle, p)
	}
	for i := range 3000 {
		p := []byte(strings.Repeat("y", i%40))
		want = append(want, p)
		stream = wire.AppendFrame(stream, wire.KindSettle, p)
	}
	go func() {
		for step := 1; len(stream) > 0; step = step*3 + 1 {
			n := min(step%70_000, len(stream))
			_, _ = toWorker.Write(stream[:n])
			stream = stream[n:]
		}
	}()
	var got [][]byte
	for range want {
		_, p, err := c.Recv(time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p)
	}
	for i := range want {
		if !bytes.Equal(got[i], want[i]) {
			t.Fatalf("frame %d: %.20q of %d bytes, want %.20q of %d", i, got[i], len(got[i]), want[i], len(want[i]))
		}
	}
}
