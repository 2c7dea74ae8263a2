package wire

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestFramesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		kinds := rapid.SliceOfN(rapid.IntRange(int(KindRun), int(KindDone)), 1, 5).Draw(t, "kinds")
		var stream []byte
		var payloads [][]byte
		for _, k := range kinds {
			p := rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload")
			payloads = append(payloads, p)
			stream = AppendFrame(stream, Kind(k), p)
		}
		r := NewReader(bytes.NewReader(stream), 1000)
		rest := stream
		for i, k := range kinds {
			kind, payload, err := r.Next()
			if err != nil || kind != Kind(k) || !bytes.Equal(payload, payloads[i]) {
				t.Fatalf("frame %d: %v %v %v", i, kind, payload, err)
			}
			var ok bool
			kind, payload, rest, _, ok, err = Split(rest, 1000)
			if err != nil || !ok || kind != Kind(k) || !bytes.Equal(payload, payloads[i]) {
				t.Fatalf("split frame %d: %v %v %v %v", i, kind, payload, ok, err)
			}
		}
		if _, _, err := r.Next(); err != io.EOF {
			t.Fatalf("at the end: %v", err)
		}
	})
}

func TestReaderRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		stream []byte
		want   error
	}{
		"cut header":   {[]byte{0, 0}, io.ErrUnexpectedEOF},
		"cut payload":  {append(AppendHeader(nil, KindLog, 10), "abc"...), io.ErrUnexpectedEOF},
		"no payload":   {AppendHeader(nil, KindLog, 10), io.ErrUnexpectedEOF},
		"too large":    {AppendHeader(nil, KindLog, 101), ErrTooLarge},
		"absurd":       {[]byte{0xFF, 0xFF, 0xFF, 0xFF, byte(KindLog)}, ErrTooLarge},
		"unknown kind": {AppendHeader(nil, 99, 0), ErrMalformed},
		"kind zero":    {AppendHeader(nil, 0, 0), ErrMalformed},
		"empty":        {nil, io.EOF},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := NewReader(bytes.NewReader(c.stream), 100).Next(); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

// TestReaderTrustsNoLength makes sure a header alone costs no memory.
func TestReaderTrustsNoLength(t *testing.T) {
	stream := append(AppendHeader(nil, KindLog, MaxPayload), "little"...)
	allocated := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := NewReader(bytes.NewReader(stream), MaxPayload).Next(); err != io.ErrUnexpectedEOF {
				b.Fatal(err)
			}
		}
	}).AllocedBytesPerOp()
	if allocated > 2*firstChunk {
		t.Errorf("%d bytes for a frame that did not come", allocated)
	}
}

func TestLargeFrame(t *testing.T) {
	payload := bytes.Repeat([]byte("0123456789"), firstChunk/2)
	kind, got, err := NewReader(bytes.NewReader(AppendFrame(nil, KindSettle, payload)), MaxPayload).Next()
	if err != nil || kind != KindSettle || !bytes.Equal(got, payload) {
		t.Fatalf("%v, %d bytes, %v", kind, len(got), err)
	}
}

func TestMessagesRoundTrip(t *testing.T) {
	run := &Run{
		Source: []byte("s"), SourceMap: []byte("m"), Tools: []string{"a", "", "ü"}, Compute: time.Second,
		Wall: time.Minute, Memory: 1 << 40, MaxOutput: 7, MaxFrame: 8, Pending: 9,
	}
	if got, err := DecodeRun(run.Append(nil)); err != nil || !reflect.DeepEqual(got, run) {
		t.Errorf("run: %+v, %v", got, err)
	}
	settle := &Settle{ID: 1 << 31, OK: true, Payload: []byte("{}")}
	if got, err := DecodeSettle(settle.Append(nil)); err != nil || !reflect.DeepEqual(got, settle) {
		t.Errorf("settle: %+v, %v", got, err)
	}
	call := &Call{ID: 3, Tool: 4, At: Position{5, 6}, Args: []byte("[]")}
	if got, err := DecodeCall(call.Append(nil)); err != nil || !reflect.DeepEqual(got, call) {
		t.Errorf("call: %+v, %v", got, err)
	}
	done := &Done{
		Status: StatusInvalidOutput, Value: []byte("1"), Message: "m", Detail: "d",
		Stack: []Frame{{"f", Position{1, 2}}, {"", Position{3, 4}}}, Pending: []Pending{{5, Position{6, 7}}}, Busy: time.Hour,
	}
	if got, err := DecodeDone(done.Append(nil)); err != nil || !reflect.DeepEqual(got, done) {
		t.Errorf("done: %+v, %v", got, err)
	}
}

func TestDecodersRefuse(t *testing.T) {
	done := (&Done{Message: "m", Stack: []Frame{{"f", Position{1, 2}}}}).Append(nil)
	for i := range done {
		if _, err := DecodeDone(done[:i]); !errors.Is(err, ErrMalformed) {
			t.Errorf("done cut to %d bytes: %v", i, err)
		}
	}
	if _, err := DecodeDone(append(done, 0)); !errors.Is(err, ErrMalformed) {
		t.Errorf("done with more: %v", err)
	}
	if _, err := DecodeDone([]byte{byte(statusEnd)}); !errors.Is(err, ErrMalformed) {
		t.Errorf("unknown status: %v", err)
	}
	if _, err := DecodeSettle([]byte{1, 2}); !errors.Is(err, ErrMalformed) {
		t.Errorf("flag of two: %v", err)
	}
	// A count that only costs memory.
	if _, err := DecodeRun([]byte{0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F}); !errors.Is(err, ErrMalformed) {
		t.Errorf("absurd count: %v", err)
	}
	long := &Done{Stack: make([]Frame, 500), Pending: make([]Pending, 5000)}
	if got, err := DecodeDone(long.Append(nil)); err != nil || len(got.Stack) != maxFrames || len(got.Pending) != maxPending {
		t.Errorf("long lists: %v", err)
	}
}

// FuzzFrames feeds a stream of anything to everything that reads one.
func FuzzFrames(f *testing.F) {
	f.Add(AppendFrame(nil, KindCall, (&Call{ID: 1, Args: []byte("{}")}).Append(nil)))
	f.Add(AppendFrame(nil, KindDone, (&Done{Status: StatusOK, Value: []byte("1")}).Append(nil)))
	f.Add(AppendFrame(nil, KindRun, (&Run{Tools: []string{"x"}}).Append(nil)))
	f.Add(AppendFrame(nil, KindSettle, (&Settle{ID: 2}).Append(nil)))
	f.Add([]byte(strings.Repeat("\xff", 20)))
	f.Fuzz(func(t *testing.T, stream []byte) {
		r := NewReader(bytes.NewReader(stream), 1<<16)
		rest := stream
		for {
			kind, payload, err := r.Next()
			k2, p2, rest2, _, ok, err2 := Split(rest, 1<<16)
			if (err == nil) != (ok && err2 == nil) {
				t.Fatalf("Next and Split disagree: %v, %v %v", err, ok, err2)
			}
			if err != nil {
				return
			}
			if kind != k2 || !bytes.Equal(payload, p2) {
				t.Fatal("Next and Split read different frames")
			}
			rest = rest2
			// What decodes must encode to what it was, or be refused.
			if m, err := DecodeDone(payload); err == nil {
				if again, err := DecodeDone(m.Append(nil)); err != nil || !reflect.DeepEqual(m, again) {
					t.Fatalf("%+v became %+v: %v", m, again, err)
				}
			}
			if m, err := DecodeCall(payload); err == nil {
				if again, err := DecodeCall(m.Append(nil)); err != nil || !reflect.DeepEqual(m, again) {
					t.Fatalf("%+v became %+v: %v", m, again, err)
				}
			}
			_, _ = DecodeRun(payload)
			_, _ = DecodeSettle(payload)
		}
	})
}
