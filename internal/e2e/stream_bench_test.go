package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// pacedServer streams an answer of numbered chunks and keeps when each was sent.
type pacedServer struct {
	*httptest.Server
	mu     sync.Mutex
	chunks int
	every  time.Duration // between bursts
	burst  int
	sent   []time.Time
	count  atomic.Int64
}

func newPacedServer() *pacedServer {
	s := &pacedServer{}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

func (s *pacedServer) serve(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flusher := w.(http.Flusher)
	flusher.Flush()
	s.mu.Lock()
	s.sent = make([]time.Time, 0, s.chunks)
	s.mu.Unlock()
	begin := time.Now()
	var line []byte
	for i := 0; i < s.chunks; {
		for n := 0; n < s.burst && i < s.chunks; n++ {
			line = fmt.Appendf(line[:0], "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"<%d>\"}}]}\n\n", i)
			s.mu.Lock()
			s.sent = append(s.sent, time.Now())
			s.mu.Unlock()
			_, _ = w.Write(line)
			s.count.Add(1)
			i++
		}
		flusher.Flush()
		time.Sleep(time.Until(begin.Add(time.Duration(i/s.burst) * s.every)))
	}
	fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
}

// streamOnce runs one prompt and gives for each chunk how long it took from the
// server to the frame, and the greatest number of chunks that were on the way.
func (s *pacedServer) streamOnce(b *testing.B, a *pipeAgent, session string, id int) (took []time.Duration, backlog []int64) {
	params, err := json.Marshal(textPrompt(session, "go"))
	if err != nil {
		b.Fatal(err)
	}
	s.count.Store(0)
	if _, err := fmt.Fprintf(a.in, `{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":%s}`+"\n", id, params); err != nil {
		b.Fatal(err)
	}
	answer := fmt.Appendf(nil, `"id":%d,"result"`, id)
	next := int64(0)
	arrived := make([]time.Time, s.chunks)
	for {
		line, err := a.out.ReadSlice('\n')
		now := time.Now()
		if err != nil {
			b.Fatal(err)
		}
		if bytes.Contains(line, answer) {
			break
		}
		if !bytes.Contains(line, []byte("agent_message_chunk")) {
			continue
		}
		// A frame may hold several chunks.
		for rest := line; ; {
			_, after, ok := bytes.Cut(rest, []byte("<"))
			number, tail, ok2 := bytes.Cut(after, []byte(">"))
			n, err := strconv.ParseInt(string(number), 10, 64)
			if !ok || !ok2 || err != nil {
				break
			}
			if n != next {
				b.Fatalf("chunk %d came where %d was due", n, next)
			}
			arrived[n] = now
			next++
			rest = tail
		}
		backlog = append(backlog, s.count.Load()-next)
	}
	if next != int64(s.chunks) {
		b.Fatalf("%d of %d chunks arrived", next, s.chunks)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, t := range arrived {
		took = append(took, t.Sub(s.sent[i]))
	}
	return took, backlog
}

func (s *pacedServer) agent(b *testing.B) (*pipeAgent, string) {
	dir := b.TempDir()
	config := dir + "/c.yaml"
	write(b, config, fmt.Sprintf("model: {provider: openai, name: m, base_url: %q}\n", s.URL))
	a := spawn(b, dir, bin, "--config", config)
	a.out = bufio.NewReaderSize(a.out, 1<<20)
	a.ask(b, 1, "initialize", `{"protocolVersion":1}`)
	f := a.ask(b, 2, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, dir))
	var r struct{ SessionID string }
	if err := json.Unmarshal(f.Result, &r); err != nil || r.SessionID == "" {
		b.Fatalf("%v %+v", err, f)
	}
	return a, r.SessionID
}

func quantile(sorted []time.Duration, q float64) float64 {
	return float64(sorted[int(float64(len(sorted)-1)*q)].Nanoseconds()) / 1e6
}

// BenchmarkChunkLatency measures the time from when a server has written a chunk
// to its frame on stdout, over pipes, for 200 chunks that come one by one.
func BenchmarkChunkLatency(b *testing.B) {
	s := newPacedServer()
	defer s.Close()
	s.chunks, s.every, s.burst = 200, 3*time.Millisecond, 1
	a, session := s.agent(b)
	defer a.stop()
	var all []time.Duration
	id := 10
	for b.Loop() {
		took, _ := s.streamOnce(b, a, session, id)
		all = append(all, took...)
		id++
	}
	slices.Sort(all)
	b.ReportMetric(quantile(all, 0.5), "ms/median")
	b.ReportMetric(quantile(all, 0.99), "ms/p99")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkChunkRate streams 2,000 chunks a second for five seconds and reports
// how many were on the way at most, in the first and in the last second, and the
// resident memory before and after.
func BenchmarkChunkRate(b *testing.B) {
	s := newPacedServer()
	defer s.Close()
	s.chunks, s.every, s.burst = 10_000, 5*time.Millisecond, 10
	a, session := s.agent(b)
	defer a.stop()
	id := 10
	s.streamOnce(b, a, session, id) // the heap finds its size
	before := residentKiB(a.cmd.Process.Pid)
	var first, last, worst int64
	rounds := 0
	begin := time.Now()
	for b.Loop() {
		id++
		rounds++
		_, backlog := s.streamOnce(b, a, session, id)
		fifth := len(backlog) / 5
		worst = max(worst, slices.Max(backlog))
		first = max(first, slices.Max(backlog[:fifth]))
		last = max(last, slices.Max(backlog[len(backlog)-fifth:]))
	}
	b.ReportMetric(float64(s.chunks*rounds)/time.Since(begin).Seconds(), "chunks/s")
	b.ReportMetric(float64(worst), "backlog-max")
	b.ReportMetric(float64(first), "backlog-first-fifth")
	b.ReportMetric(float64(last), "backlog-last-fifth")
	b.ReportMetric(float64(before)/1024, "MiB-before")
	b.ReportMetric(float64(residentKiB(a.cmd.Process.Pid))/1024, "MiB-after")
	b.ReportMetric(0, "ns/op")
}
