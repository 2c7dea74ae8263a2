package openai

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// raw answers with bytes in these pieces, each flushed.
func raw(pieces ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, p := range pieces {
			_, _ = io.WriteString(w, p)
			w.(http.Flusher).Flush()
		}
	}
}

func split(s string) (out []string) {
	for i := range len(s) {
		out = append(out, s[i:i+1])
	}
	return out
}

func stream(end string, data ...string) string {
	return "data:" + strings.Join(data, end+end+"data:") + end + end
}

// What servers have been seen to send that no manual speaks of.
func TestOddAnswers(t *testing.T) {
	text := func(s string) string { return `[{"type":"text","text":"` + s + `"}] stop` }
	call := func(args string) string {
		return `[{"type":"tool-call","id":"c","name":"get_weather","arguments":"` + args + `"}] tool-calls`
	}
	named := func(name, more string) string {
		return delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"` + name + `"` + more + `}}]}`)
	}
	hello := stream("\n", delta(`{"content":"héllo 😀"}`), fin("stop"), done)
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"cut inside characters", raw(split(hello)...), text("héllo 😀")},
		{"no blank after the colon, CRLF", raw(strings.ReplaceAll(hello, "\n", "\r\n")), text("héllo 😀")},
		{"CR alone", raw(split(strings.ReplaceAll(hello, "\n", "\r"))...), text("héllo 😀")},
		{"a byte order mark", raw("\xEF\xBB\xBF" + hello), text("héllo 😀")},
		{"other fields", raw("id: 1\nretry: 10\nevent: message\n" + hello), text("héllo 😀")},
		{"several choices", events(
			`{"choices":[{"index":0,"delta":{"content":"a"}}]}`, `{"choices":[{"index":1,"delta":{"content":"X"}}]}`, `{"choices":[{"index":1,"delta":{},"finish_reason":"length"},{"index":0,"delta":{"content":"b"}}]}`,
			`{"choices":[{"index":0,"delta":{"content":"c"},"finish_reason":"stop"}]}`, done,
		), text("abc")},
		{"one choice with another number", events(`{"choices":[{"index":1,"delta":{"content":"a"}}]}`, `{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}`, done), text("a")},
		{"a finish that says nothing", events(`{"choices":[{"delta":{"content":"a"},"finish_reason":"null"}]}`, `{"choices":[{"delta":{"content":"b"},"finish_reason":""}]}`, fin("stop"), done), text("ab")},
		{"a name in three pieces", events(named("get", ""), named("_wea", ""), named("ther", `,"arguments":"{}"`), fin("tool_calls"), done), call("{}")},
		{"a name in three pieces without its id", events(named("get", ""), delta(`{"tool_calls":[{"index":0,"function":{"name":"_wea"}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"name":"ther","arguments":"{}"}}]}`), fin("tool_calls"), done), call("{}")},
		{"a name that grows", events(named("get_", ""), named("get_wea", ""), named("get_weather", `,"arguments":"{}"`), fin("tool_calls"), done), call("{}")},
		{"the old way to call", events(delta(`{"function_call":{"name":"get_weather","arguments":""}}`), delta(`{"function_call":{"arguments":"{\"a\""}}`), delta(`{"function_call":{"arguments":":1}"}}`), fin("function_call"), done), strings.Replace(call(`{\"a\":1}`), `"c"`, `"call_0"`, 1)},
		{"reasoning in details alone", events(delta(`{"reasoning_details":[{"type":"reasoning.text","text":"h","index":0}]}`), delta(`{"reasoning_details":[{"type":"reasoning.text","text":"m","index":0}]}`), delta(`{"content":"a"}`), fin("stop"), done), `[{"type":"reasoning","text":"hm"},{"type":"text","text":"a"},{"type":"reasoning","text":"","reasoning_details":[{"type":"reasoning.text","text":"hm","index":0}]}] stop`},
		{"usage and nothing else in between", events(delta(`{"content":"a"}`), `{"choices":[],"usage":{"prompt_tokens":1}}`, `{"choices":null}`, `null`, `[]`, fin("stop"), done), text("a")},
		{"compressed", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = io.WriteString(z, hello)
			_ = z.Close()
		}, text("héllo 😀")},
		{"no content type", func(w http.ResponseWriter, r *http.Request) {
			w.Header()["Content-Type"] = nil
			_, _ = io.WriteString(w, hello)
		}, text("héllo 😀")},
		{"not streamed, as text", status(200, `{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`, "Content-Type", "text/plain"), text("a")},
	} {
		got, _, err := play(t, serve(t, c.handler).provider(), ask())
		if err != nil || got != c.want {
			t.Errorf("%s:\ngot  %s %v\nwant %s", c.name, got, err, c.want)
		}
	}
}

// Counts that say nothing do not take the place of those that do.
func TestOddUsage(t *testing.T) {
	for _, last := range []string{`{}`, `null`, `{"prompt_tokens":null}`, `{"queue_time":1}`} {
		s := serve(t, events(delta(`{"content":"a"}`), fin("stop"), `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}`, `{"choices":[],"usage":`+last+`}`, done))
		_, acc, err := play(t, s.provider(), ask())
		if err != nil || acc.Usage() == nil || acc.Usage().InputTokens != 5 {
			t.Errorf("%s: %+v %v", last, acc.Usage(), err)
		}
	}
}

// A server that sends events for ever, and nothing in them, is as silent as one
// that sends comments.
func TestEmptyEventsForEver(t *testing.T) {
	// What is waited for is the client's timeout alone; the server only goes on.
	for name, event := range map[string]string{"no delta": `{"choices":[]}`, "an empty delta": delta(`{"content":""}`), "an empty call": delta(`{"tool_calls":[]}`)} {
		s := serve(t, func(w http.ResponseWriter, r *http.Request) {
			events(delta(`{"content":"a"}`))(w, r)
			for r.Context().Err() == nil {
				events(event)(w, r)
			}
		})
		_, _, err := play(t, s.provider(func(c *Config) { c.ProgressTimeout = 200 * time.Millisecond }), ask())
		if code(err) != "TIMEOUT retryable" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// An event that is too large is refused, before all of it is held.
func TestAnEventOfTwentyMegabytes(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, `data: {"choices":[{"delta":{"content":"`)
		chunk := bytes.Repeat([]byte("x"), 1<<20)
		for range 20 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
		_, _ = io.WriteString(w, "\"}}]}\n\n")
	})
	got, _, err := play(t, s.provider(), ask())
	if code(err) != "PROTOCOL" || got != "[]" {
		t.Errorf("%.100s %v", got, err)
	}
}

// Whatever is copied from a manual or a portal leads to the same place.
func TestAddresses(t *testing.T) {
	for _, base := range []string{"/v1", "/v1/", "/v1//", "/v1/chat/completions", "/v1/chat/completions/", " /v1 ", "/v1?api-version=7", "/v1/chat/completions?api-version=7"} {
		paths := make(chan string, 8)
		s := serve(t, func(http.ResponseWriter, *http.Request) {})
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			paths <- r.URL.RequestURI()
			events(fin("stop"), done)(w, r)
		})
		p := s.provider(func(c *Config) {
			c.BaseURL = strings.Repeat(" ", strings.Count(base, " ")/2) + s.URL + strings.TrimLeft(base, " ")
		})
		want := "/v1/chat/completions"
		if strings.Contains(base, "?") {
			want += "?api-version=7"
		}
		if _, _, err := play(t, p, ask()); err != nil {
			t.Errorf("%q: %v", base, err)
		} else if got := <-paths; got != want {
			t.Errorf("%q asks at %s", base, got)
		}
	}
	for base, word := range map[string]string{"localhost:8080/v1": "http://", "ftp://x/v1": "http", "http://": "base_url", "::": "base_url"} {
		_, _, err := play(t, New(Config{ProviderID: "own", BaseURL: base, Model: "m"}), ask())
		if code(err) != "NETWORK" || !strings.Contains(fmt.Sprint(err), word) {
			t.Errorf("%q: %s %v", base, code(err), err)
		}
	}
}
