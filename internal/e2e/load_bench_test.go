package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// longSession stores a session of about n events, most of them chunks, as long
// sessions have them.
func longSession(b *testing.B, dir, cwd string, n int) (id string) {
	b.Helper()
	id = "long"
	out := session.Header{ID: id, Version: session.Version, Cwd: cwd}.AppendLine(nil)
	begin := time.Now().Add(-time.Hour)
	var seq int64
	add := func(e session.Event) {
		e.Seq, e.Time = seq, begin.Add(time.Duration(seq)*20*time.Millisecond)
		out = e.AppendLine(out)
		seq++
	}
	for turn := 1; seq < int64(n); turn++ {
		add(session.Event{Type: session.TypeTurnStart, Data: session.Data("turn", turn)})
		add(session.Event{Type: session.TypeUserMessage, SurfaceOp: session.Append(), Data: session.Data("turn", turn, "content", model.PartsValue([]model.Part{model.Text("go on")}))})
		for step := 1; step <= 10; step++ {
			add(session.Event{Type: session.TypeStepStart, Data: session.Data("turn", turn, "step", step)})
			var sources []int64
			for i := range 80 {
				sources = append(sources, seq)
				add(session.Event{Type: session.TypeAssistantChunk, Data: session.Data("turn", turn, "step", step, "chunk", model.TextChunk(0, fmt.Sprint(" word", i)).Value())})
			}
			call := model.Part{Type: model.PartToolCall, ID: fmt.Sprintf("call_%d_%d", turn, step), Name: "bash", Arguments: `{"command":"ls -l","description":"List"}`}
			add(session.Event{
				Type: session.TypeAssistantMessage, SourceEventSeqs: sources, SurfaceOp: session.Append(),
				Data: session.Data("turn", turn, "step", step, "content", model.PartsValue([]model.Part{model.Text("words"), call})),
			})
			add(session.Event{Type: session.TypeToolCall, Data: session.Data("turn", turn, "step", step, "callId", call.ID, "name", "bash", "arguments", call.Arguments)})
			add(session.Event{
				Type: session.TypeToolResult, SourceEventSeqs: []int64{seq - 1}, SurfaceOp: session.Append(),
				Data: session.Data("turn", turn, "step", step, "callId", call.ID, "content", model.PartsValue([]model.Part{model.Text("file\n")}), "isError", false),
			})
			add(session.Event{Type: session.TypeStepEnd, Data: session.Data("turn", turn, "step", step)})
		}
		add(session.Event{Type: session.TypeTurnEnd, Data: session.Data("turn", turn, "reason", session.Data("kind", "completed"))})
	}
	folder := filepath.Join(dir, id)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		b.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "events.jsonl"), out, 0o600); err != nil {
		b.Fatal(err)
	}
	return id
}

// withConfig writes a configuration file and gives the arguments for it.
func withConfig(b *testing.B, text string) []string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "bench.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
	return []string{"--config", path}
}

// BenchmarkLoadSession loads a stored session of 100,000 events in a fresh
// process, to the answer; peak-MiB is the most memory that the process had.
func BenchmarkLoadSession(b *testing.B) {
	dir, cwd := b.TempDir(), b.TempDir()
	id := longSession(b, dir, cwd, 100_000)
	args := withConfig(b, withSessions(dir))
	var took time.Duration
	var peak, frames int
	for b.Loop() {
		a := spawn(b, b.TempDir(), bin, args...)
		a.ask(b, 1, "initialize", `{"protocolVersion":1}`)
		begin := time.Now()
		f := a.ask(b, 2, "session/load", fmt.Sprintf(`{"sessionId":%q,"cwd":%q,"mcpServers":[]}`, id, cwd))
		took += time.Since(begin)
		if f.Error != nil {
			b.Fatal(f.Error)
		}
		peak += memoryKiB(a.cmd.Process.Pid, "VmHWM")
		frames = a.frames
		a.stop()
	}
	b.ReportMetric(took.Seconds()*1000/float64(b.N), "ms/load")
	b.ReportMetric(float64(peak)/float64(b.N)/1024, "peak-MiB")
	b.ReportMetric(float64(frames), "frames")
}

// BenchmarkIdleSessions is the resident memory of a process with 100 sessions in
// which one short turn has been held.
func BenchmarkIdleSessions(b *testing.B) {
	var rss int
	for b.Loop() {
		cwd := b.TempDir()
		a := spawn(b, b.TempDir(), bin, "--model", "local")
		a.ask(b, 1, "initialize", `{"protocolVersion":1}`)
		for i := range 100 {
			f := a.ask(b, 2*i+2, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, cwd))
			var r struct{ SessionID string }
			if err := json.Unmarshal(f.Result, &r); err != nil {
				b.Fatal(err)
			}
			params, _ := json.Marshal(textPrompt(r.SessionID, "/say hello"))
			a.ask(b, 2*i+3, "session/prompt", string(params))
		}
		rss += residentKiB(a.cmd.Process.Pid)
		a.stop()
	}
	b.ReportMetric(float64(rss)/float64(b.N)/1024, "MiB-resident")
}
