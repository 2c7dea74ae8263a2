package runner

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
)

// pipe is a sender and what comes out of it.
func pipe(t *testing.T) (*sender, *wire.Reader, *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	_ = r.SetReadDeadline(time.Now().Add(time.Minute))
	s := &sender{w: w}
	t.Cleanup(func() {
		_ = r.Close()
		_ = w.Close()
		s.wait()
	})
	return s, wire.NewReader(bufio.NewReader(r), wire.MaxPayload), r
}

func wantFrame(t *testing.T, r *wire.Reader, payload string) {
	t.Helper()
	_, got, err := r.Next()
	if err != nil || string(got) != payload {
		t.Fatalf("%.40q, %v; want %.40q", got, err, payload)
	}
}

// What waits for company goes out by itself, and before what comes after it,
// whatever the sizes: no frame is lost and none overtakes another.
func TestSenderKeepsTheOrder(t *testing.T) {
	s, r, _ := pipe(t)
	if err := s.send(wire.KindSettle, []byte("al"), []byte("one"), true); err != nil {
		t.Fatal(err)
	}
	wantFrame(t, r, "alone")
	var want []string
	go func() {
		for i := range 2000 {
			size := 0
			if i%50 == 0 {
				size = 3 * maxHeld // also more than the pipe takes at once, together
			}
			_ = s.send(wire.KindSettle, fmt.Appendf(nil, "%d,", i), []byte(strings.Repeat("x", size)), i%3 != 0)
		}
	}()
	for i := range 2000 {
		size := 0
		if i%50 == 0 {
			size = 3 * maxHeld
		}
		want = append(want, fmt.Sprintf("%d,", i)+strings.Repeat("x", size))
	}
	for _, w := range want {
		wantFrame(t, r, w)
	}
}

func TestSenderEnds(t *testing.T) {
	s, _, end := pipe(t)
	_ = s.send(wire.KindSettle, nil, []byte("held"), true)
	_ = end.Close()
	s.wait()
	if err := s.send(wire.KindSettle, nil, []byte("late"), true); err == nil {
		t.Error("a frame was taken after the end")
	}
	if err := s.send(wire.KindSettle, nil, make([]byte, wire.MaxPayload+1), false); !errors.Is(err, wire.ErrTooLarge) {
		t.Errorf("a frame above the limit: %v", err)
	}
}
