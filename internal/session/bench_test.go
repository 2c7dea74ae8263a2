package session

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// longLog is a log of n events, most of them chunks, as a long session has.
func longLog(n int) []byte {
	out := Header{ID: "long", Version: Version, Cwd: "/w"}.AppendLine(nil)
	start := time.UnixMilli(1783600629539)
	seq := int64(0)
	add := func(e Event) {
		e.Seq, e.Time = seq, start.Add(time.Duration(seq)*20*time.Millisecond)
		out = e.AppendLine(out)
		seq++
	}
	for step := 1; seq < int64(n); step++ {
		add(Event{Type: TypeStepStart, Data: Data("turn", 1, "step", step)})
		var sources []int64
		for i := range 80 {
			sources = append(sources, seq)
			add(Event{Type: TypeAssistantChunk, Data: Data("turn", 1, "step", step,
				"chunk", model.TextChunk(1, fmt.Sprint(" word", i)).Value())})
		}
		id := fmt.Sprint("call_00_Rn2Mz1y8uZN62ukEXiNO", step)
		call := model.Part{Type: model.PartToolCall, ID: id, Name: "bash", Arguments: `{"command": "ls -l"}`}
		add(Event{
			Type: TypeAssistantMessage, SourceEventSeqs: sources, SurfaceOp: Append(),
			Data: Data("turn", 1, "step", step, "content", model.PartsValue([]model.Part{call})),
		})
		add(Event{Type: TypeToolCall, Data: Data("turn", 1, "step", step, "callId", id, "name", "bash", "arguments", call.Arguments)})
		add(Event{
			Type: TypeToolResult, SourceEventSeqs: []int64{seq - 1}, SurfaceOp: Append(),
			Data: Data("turn", 1, "step", step, "callId", id, "content", model.PartsValue([]model.Part{model.Text("file\n")}), "isError", false),
		})
		add(Event{Type: TypeStepEnd, Data: Data("turn", 1, "step", step)})
	}
	return out
}

// BenchmarkLoad100k loads 100,000 events; heap-MiB is what they keep.
func BenchmarkLoad100k(b *testing.B) {
	data := longLog(100_000)
	b.SetBytes(int64(len(data)))
	var events []Event
	for b.Loop() {
		var err error
		if _, events, err = Decode(bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	var with, without runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&with)
	runtime.KeepAlive(events)
	events = nil
	runtime.GC()
	runtime.ReadMemStats(&without)
	b.ReportMetric(float64(with.HeapAlloc-without.HeapAlloc)/(1<<20), "heap-MiB")
}

func BenchmarkFold100k(b *testing.B) {
	_, events, err := Decode(bytes.NewReader(longLog(100_000)))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		_ = Messages(events)
	}
}

// BenchmarkList lists 200 sessions of about 1,000 events.
func BenchmarkList(b *testing.B) {
	s := NewStore(b.TempDir(), Options{Sync: SyncNever})
	data := longLog(1000)
	for i := range 200 {
		id := fmt.Sprint("s", i)
		if err := os.MkdirAll(s.Dir(id), 0o700); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(s.Path(id), data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("unindexed", func(b *testing.B) {
		for b.Loop() {
			s.writeIndex(nil)
			if list, err := s.List(context.Background()); err != nil || len(list) != 200 {
				b.Fatal(err)
			}
		}
	})
	b.Run("indexed", func(b *testing.B) {
		for b.Loop() {
			if list, err := s.List(context.Background()); err != nil || len(list) != 200 {
				b.Fatal(err)
			}
		}
	})
}
