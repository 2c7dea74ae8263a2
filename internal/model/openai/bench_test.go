package openai

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// local answers without a network, so that the codec alone is measured.
type local struct{ body string }

func (l local) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: io.NopCloser(strings.NewReader(l.body))}, nil
}

// BenchmarkChunks measures how many pieces of text a second the codec takes.
func BenchmarkChunks(b *testing.B) {
	const n = 2000
	var body strings.Builder
	for range n {
		fmt.Fprintf(&body, "data: %s\n\n", delta(`{"content":" word"}`))
	}
	fmt.Fprintf(&body, "data: %s\n\ndata: [DONE]\n\n", fin("stop"))
	p := New(Config{ProviderID: "deepseek", BaseURL: "http://x", Model: "m", HTTPClient: &http.Client{Transport: local{body.String()}}})
	for b.Loop() {
		got := 0
		for c, err := range p.Stream(b.Context(), ask()) {
			if err != nil {
				b.Fatal(err)
			}
			if c.Type == model.ChunkTextDelta {
				got++
			}
		}
		if got != n {
			b.Fatalf("%d chunks", got)
		}
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "chunks/s")
}

// BenchmarkLatency measures the time from the server's write of an event to the
// chunk, over a real connection to this machine.
func BenchmarkLatency(b *testing.B) {
	const n = 500
	sent := make([]time.Time, n)
	next := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range n {
			sent[i] = time.Now()
			fmt.Fprintf(w, "data: %s\n\n", delta(`{"content":" word"}`))
			w.(http.Flusher).Flush()
			<-next
		}
		fmt.Fprintf(w, "data: %s\n\n", fin("stop"))
	}))
	defer s.Close()
	p := New(Config{ProviderID: "deepseek", BaseURL: s.URL, Model: "m", HTTPClient: s.Client()})
	var waits []time.Duration
	for b.Loop() {
		i := 0
		for c, err := range p.Stream(b.Context(), ask()) {
			if err != nil {
				b.Fatal(err)
			}
			if c.Type == model.ChunkTextDelta {
				waits = append(waits, time.Since(sent[i]))
				i++
				next <- struct{}{}
			}
		}
	}
	slices.Sort(waits)
	b.ReportMetric(float64(waits[len(waits)/2].Microseconds()), "µs/median")
	b.ReportMetric(float64(waits[len(waits)*99/100].Microseconds()), "µs/p99")
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		New(Config{ProviderID: "deepseek"})
	}
}

// Whatever a server sends, the codec ends, and its chunks fit together.
func FuzzStream(f *testing.F) {
	f.Add("data: " + delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{"}},{"function":{"arguments":"}"}}]}`) + "\n\ndata: " + fin("tool_calls") + "\n\n")
	f.Add("data: " + delta(`{"content":"<｜DSML｜invoke name=\"read\"></｜DSML｜invoke>","reasoning_details":[{"index":0,"text":"x"}]}`) + "\n\ndata: " + fin("stop") + "\n\n")
	f.Add("{\"error\":{\"message\":\"x\"}}\n")
	f.Fuzz(func(t *testing.T, body string) {
		p := New(Config{ProviderID: "deepseek", BaseURL: "http://x", Model: "m", HTTPClient: &http.Client{Transport: local{body}}})
		var acc model.Accumulator
		failed := false
		for c, err := range p.Stream(t.Context(), ask()) {
			if failed {
				t.Fatal("something came after the failure")
			}
			if err != nil {
				failed = true
				continue
			}
			if err := acc.Add(c); err != nil {
				t.Fatalf("%s: %v", c.Value(), err)
			}
		}
		if failed != (acc.Finish() == nil) {
			t.Fatalf("failed %v, finish %v", failed, acc.Finish())
		}
		if acc.Finish() != nil && strings.Contains(acc.Text(), "\xED\xA0") {
			t.Fatal("half a character")
		}
	})
}
