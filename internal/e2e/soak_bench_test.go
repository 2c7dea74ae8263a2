package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// soakTime is how long BenchmarkSoak goes on: DSH_ACP_SOAK, such as "10m".
func soakTime(b *testing.B) time.Duration {
	text := os.Getenv("DSH_ACP_SOAK")
	if text == "" {
		return 5 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		b.Fatal(err)
	}
	return d
}

// soakModel is a model server: it streams pieces of a session's name and of the
// time at which each was sent, forty a second, for two seconds.
func soakModel(b *testing.B) *httptest.Server {
	const piece = `data: {"choices":[{"index":0,"delta":{"content":%q}}]}` + "\n\n"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		var body struct {
			Messages []struct {
				Role    string
				Content json.RawMessage
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		name := ""
		for _, m := range body.Messages {
			if _, rest, ok := strings.Cut(string(m.Content), "I am <"); ok && m.Role == "user" {
				name, _, _ = strings.Cut(rest, ">")
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		tick := time.NewTicker(25 * time.Millisecond)
		defer tick.Stop()
		for range 80 {
			select {
			case <-tick.C:
			case <-r.Context().Done():
				return
			}
			fmt.Fprintf(w, piece, fmt.Sprintf("%s %d;", name, time.Now().UnixNano()))
			w.(http.Flusher).Flush()
		}
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":10,"completion_tokens":80,"total_tokens":90}}`+"\n\ndata: [DONE]\n\n")
	}))
	b.Cleanup(server.Close)
	return server
}

// soak is the client's side: what it has seen of every session.
type soak struct {
	agent *pipeAgent
	write sync.Mutex

	mu      sync.Mutex
	id      int
	waiting map[string]chan struct{}
	names   map[string]string // of sessions, by id
	late    []time.Duration   // of each piece, from the server to here
	crossed int               // pieces that came to another session
	failed  string            // an answer that was an error
}

// read takes every frame until the agent is gone.
func (s *soak) read() {
	lines := bufio.NewReaderSize(s.agent.out, 1<<20)
	for {
		line, err := lines.ReadSlice('\n')
		if err != nil {
			return
		}
		now := time.Now()
		var f struct {
			ID     json.RawMessage
			Error  json.RawMessage
			Params struct {
				SessionID string
				Update    struct {
					SessionUpdate string
					Content       struct{ Text string }
				}
			}
		}
		if json.Unmarshal(line, &f) != nil {
			continue
		}
		s.mu.Lock()
		if f.Params.Update.SessionUpdate == "agent_message_chunk" {
			for piece := range strings.SplitSeq(strings.TrimSuffix(f.Params.Update.Content.Text, ";"), ";") {
				name, sent, _ := strings.Cut(piece, " ")
				nanos, err := strconv.ParseInt(sent, 10, 64)
				if err != nil || name != s.names[f.Params.SessionID] {
					s.crossed++
					continue
				}
				s.late = append(s.late, now.Sub(time.Unix(0, nanos)))
			}
		}
		if done := s.waiting[string(f.ID)]; done != nil {
			if f.Error != nil {
				s.failed = string(line)
			}
			delete(s.waiting, string(f.ID))
			close(done)
		}
		s.mu.Unlock()
	}
}

// prompt plays one turn.
func (s *soak) prompt(session, name string) {
	s.mu.Lock()
	s.id++
	id := strconv.Itoa(s.id)
	done := make(chan struct{})
	s.waiting[id] = done
	s.mu.Unlock()
	params, _ := json.Marshal(textPrompt(session, "I am <"+name+">"))
	s.write.Lock()
	_, err := fmt.Fprintf(s.agent.in, `{"jsonrpc":"2.0","id":%s,"method":"session/prompt","params":%s}`+"\n", id, params)
	s.write.Unlock()
	if err == nil {
		<-done
	}
}

// BenchmarkSoak has 200 sessions in one process, 20 of them streaming at any
// time, for DSH_ACP_SOAK (5 s). It reports how late pieces of text come from the
// model server to the client, and the resident memory after the first fifth of
// the time and at the end. A piece in the wrong session fails it.
func BenchmarkSoak(b *testing.B) {
	const sessions, streams = 200, 20
	server := soakModel(b)
	config := fmt.Sprintf("model: {provider: openai, name: soak, base_url: %q}\n", server.URL)
	for b.Loop() {
		cwd := b.TempDir()
		s := &soak{agent: spawn(b, b.TempDir(), bin, withConfig(b, config)...), waiting: map[string]chan struct{}{}, names: map[string]string{}, id: 10_000}
		s.agent.ask(b, 1, "initialize", `{"protocolVersion":1}`)
		ids := make([]string, sessions)
		for i := range ids {
			f := s.agent.ask(b, i+2, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, cwd))
			var r struct{ SessionID string }
			if err := json.Unmarshal(f.Result, &r); err != nil || r.SessionID == "" {
				b.Fatal(err, string(f.Result), f.Error)
			}
			ids[i] = r.SessionID
			s.names[r.SessionID] = "s" + strconv.Itoa(i)
		}
		var reading, playing sync.WaitGroup
		reading.Go(s.read)
		begin, length := time.Now(), soakTime(b)
		for w := range streams {
			playing.Go(func() {
				for i := w; time.Since(begin) < length; i += streams {
					n := i % sessions
					s.prompt(ids[n], "s"+strconv.Itoa(n))
				}
			})
		}
		time.Sleep(length / 5)
		early := residentKiB(s.agent.cmd.Process.Pid)
		playing.Wait()
		end := residentKiB(s.agent.cmd.Process.Pid)
		s.agent.stop()
		reading.Wait()
		if s.crossed > 0 || s.failed != "" || len(s.late) == 0 {
			b.Fatalf("%d of %d pieces came to another session; %s", s.crossed, len(s.late), s.failed)
		}
		slices.Sort(s.late)
		at := func(share float64) float64 {
			return float64(s.late[int(share*float64(len(s.late)-1))].Microseconds()) / 1000
		}
		b.ReportMetric(at(0.5), "ms/median")
		b.ReportMetric(at(0.99), "ms/p99")
		b.ReportMetric(float64(len(s.late))/length.Seconds(), "pieces/s")
		b.ReportMetric(float64(early)/1024, "MiB/early")
		b.ReportMetric(float64(end)/1024, "MiB/end")
	}
}
