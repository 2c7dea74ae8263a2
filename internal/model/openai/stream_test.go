package openai

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/prepare"
)

const dsmlCall = `<｜DSML｜function_calls><｜DSML｜invoke name=\"read\"><｜DSML｜parameter name=\"path\" string=\"true\">a</｜DSML｜parameter></｜DSML｜invoke></｜DSML｜function_calls>`

// What comes of each stream.
func TestAnswers(t *testing.T) {
	write := prepare.WireName("fs.write")
	for _, c := range []struct {
		name   string
		stream []string
		want   string
	}{
		{"text", []string{delta(`{"role":"assistant","content":""}`), delta(`{"content":"Hel"}`), delta(`{"content":"lo"}`), fin("stop"), done}, `[{"type":"text","text":"Hello"}] stop`},
		{"reasoning", []string{delta(`{"reasoning_content":"hm","content":null}`), delta(`{"reasoning_content":"!"}`), delta(`{"content":"Hi"}`), fin("stop"), done}, `[{"type":"reasoning","text":"hm!"},{"type":"text","text":"Hi"}] stop`},
		{"reasoning in two spellings", []string{delta(`{"reasoning":"hm","reasoning_content":"hm"}`), delta(`{"reasoning":"!"}`), fin("stop"), done}, `[{"type":"reasoning","text":"hm!"}] stop`},
		{"token limit", []string{delta(`{"content":"a"}`), fin("length"), done}, `[{"type":"text","text":"a"}] max-tokens`},
		{"content filter", []string{delta(`{"content":"a"}`), fin("content_filter"), done}, `[{"type":"text","text":"a"}] content-filter`},
		{"refusal", []string{delta(`{"refusal":"No."}`), fin("stop"), done}, `[{"type":"text","text":"No."}] content-filter`},
		{"no DONE, keep-alives, CRLF", []string{": keep-alive\r\n\r\n", "data: " + delta(`{"content":"a"}`) + "\r\n\r\n", ": keep-alive\n\n", fin("stop")}, `[{"type":"text","text":"a"}] stop`},
		{"content in parts", []string{delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}`), fin("stop"), done}, `[{"type":"reasoning","text":"hm"},{"type":"text","text":"a"}] stop`},
		{"unknown fields and duplicate keys", []string{`{"x":{"y":[1]},"x":2,"choices":[{"delta":{"content":"a","novel":{}},"logprobs":null}]}`, fin("stop"), done}, `[{"type":"text","text":"a"}] stop`},
		{"a character in two pieces", []string{delta(`{"content":"\ud83d"}`), delta(`{"content":"\ude00"}`), fin("stop"), done}, `[{"type":"text","text":"😀"}] stop`},

		// Tool calls.
		{"a call", []string{
			delta(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"` + write + `","arguments":""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"arguments":":1}"}}]}`), fin("tool_calls"), done,
		}, `[{"type":"tool-call","id":"c1","name":"fs.write","arguments":"{\"a\":1}"}] tool-calls`},
		{"parallel and interleaved", []string{
			delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{"}},{"index":1,"id":"c2","function":{"name":"get_weather","arguments":"[1"}}]}`),
			delta(`{"tool_calls":[{"index":1,"function":{"arguments":"]"}},{"index":0,"function":{"arguments":"}"}}]}`), fin("tool_calls"), done,
		}, `[{"type":"tool-call","id":"c1","name":"read","arguments":"{}"},{"type":"tool-call","id":"c2","name":"get_weather","arguments":"[1]"}] tool-calls`},
		{"no index", []string{
			delta(`{"tool_calls":[{"id":"c1","function":{"name":"read","arguments":"{\"a\""}}]}`), delta(`{"tool_calls":[{"function":{"arguments":":1}"}}]}`),
			delta(`{"tool_calls":[{"id":"c2","function":{"name":"read","arguments":"{"}}]}`), delta(`{"tool_calls":[{"id":"c2","function":{"arguments":"}"}}]}`), fin("tool_calls"), done,
		}, `[{"type":"tool-call","id":"c1","name":"read","arguments":"{\"a\":1}"},{"type":"tool-call","id":"c2","name":"read","arguments":"{}"}] tool-calls`},
		{"the same index for all", []string{
			delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\":1}"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"c2","function":{"name":"read","arguments":"{\"a\":2}"}}]}`), fin("stop"), done,
		}, `[{"type":"tool-call","id":"c1","name":"read","arguments":"{\"a\":1}"},{"type":"tool-call","id":"c2","name":"read","arguments":"{\"a\":2}"}] tool-calls`},
		{"the same index, no ids", []string{
			delta(`{"tool_calls":[{"index":0,"function":{"name":"read","arguments":"{}"}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"name":"read","arguments":"{\"b\":1}"}}]}`), fin("stop"), done,
		}, `[{"type":"tool-call","id":"call_0","name":"read","arguments":"{}"},{"type":"tool-call","id":"call_1","name":"read","arguments":"{\"b\":1}"}] tool-calls`},
		{"the same index, ids, no arguments", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":""}}]}`), delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"read","arguments":""}}]}`), fin("stop"), done,
		}, `[{"type":"tool-call","id":"a","name":"read","arguments":""},{"type":"tool-call","id":"b","name":"read","arguments":""}] tool-calls`},
		{"name and id repeated", []string{
			delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":"{\"a\""}}]}`), delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":":1}"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"read","arguments":""}}]}`), fin("tool_calls"), done,
		}, `[{"type":"tool-call","id":"c1","name":"read","arguments":"{\"a\":1}"}] tool-calls`},
		{"an id made up for each piece", []string{
			delta(`{"tool_calls":[{"index":0,"id":"x1","function":{"name":"read","arguments":"{\"a\""}}]}`), delta(`{"tool_calls":[{"index":0,"id":"x2","function":{"name":"read","arguments":":1"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"x3","function":{"arguments":"}"}}]}`), fin("tool_calls"), done,
		}, `[{"type":"tool-call","id":"x1","name":"read","arguments":"{\"a\":1}"}] tool-calls`},
		{"late id and name", []string{
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"name":"read"}}]}`), delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"arguments":":1}"}}]}`), fin("tool_calls"), done,
		}, `[{"type":"tool-call","id":"c1","name":"read","arguments":"{\"a\":1}"}] tool-calls`},
		{"late index", []string{
			delta(`{"tool_calls":[{"id":"c1","function":{"name":"read","arguments":""}}]}`), delta(`{"tool_calls":[{"id":"c2","function":{"name":"get_weather","arguments":""}}]}`),
			delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]}`), delta(`{"tool_calls":[{"index":1,"function":{"arguments":"{\"b\":2}"}}]}`), fin("tool_calls"), done,
		}, `[{"type":"tool-call","id":"c1","name":"read","arguments":"{\"a\":1}"},{"type":"tool-call","id":"c2","name":"get_weather","arguments":"{\"b\":2}"}] tool-calls`},
		{"indexes from 1, late", []string{
			delta(`{"tool_calls":[{"id":"c1","function":{"name":"read","arguments":"{"}}]}`), delta(`{"tool_calls":[{"index":1,"function":{"arguments":"}"}}]}`), fin("tool_calls"), done,
		}, `[{"type":"tool-call","id":"c1","name":"read","arguments":"{}"}] tool-calls`},
		{"late index, then another call whose name is late", []string{
			delta(`{"tool_calls":[{"id":"c1","function":{"name":"read","arguments":""}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`),
			delta(`{"tool_calls":[{"index":1,"function":{"arguments":"{\"b\":2}"}}]}`), delta(`{"tool_calls":[{"index":1,"id":"c2","function":{"name":"get_weather"}}]}`), fin("tool_calls"), done,
		}, `[{"type":"tool-call","id":"c1","name":"read","arguments":"{}"},{"type":"tool-call","id":"c2","name":"get_weather","arguments":"{\"b\":2}"}] tool-calls`},
		{"one id for all, told apart by index", []string{
			delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"read","arguments":"{}"}}]}`), delta(`{"tool_calls":[{"index":1,"id":"c","function":{"name":"read","arguments":"{\"a\":1}"}}]}`), fin("tool_calls"), done,
		}, `[{"type":"tool-call","id":"c","name":"read","arguments":"{}"},{"type":"tool-call","id":"c","name":"read","arguments":"{\"a\":1}"}] tool-calls`},
		{"a name in pieces", []string{
			delta(`{"tool_calls":[{"index":0,"id":"c","function":{"name":"get_"}}]}`), delta(`{"tool_calls":[{"index":0,"function":{"name":"weather","arguments":"{}"}}]}`), fin("tool_calls"), done,
		}, `[{"type":"tool-call","id":"c","name":"get_weather","arguments":"{}"}] tool-calls`},
		{"arguments as an object", []string{delta(`{"tool_calls":[{"function":{"name":"read","arguments":{"path":"x"}}}]}`), fin("tool_calls"), done}, `[{"type":"tool-call","id":"call_0","name":"read","arguments":"{\"path\":\"x\"}"}] tool-calls`},
		{"arguments that are no object, invalid, or empty", []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"[1]"}},{"index":1,"id":"b","function":{"name":"read","arguments":"{oops"}},{"index":2,"id":"c","function":{"name":"read"}},{"index":3,"id":"d","function":{"name":"read","arguments":" "}}]}`), fin("tool_calls"), done,
		}, `[{"type":"tool-call","id":"a","name":"read","arguments":"[1]"},{"type":"tool-call","id":"b","name":"read","arguments":"{oops"},{"type":"tool-call","id":"c","name":"read","arguments":""},{"type":"tool-call","id":"d","name":"read","arguments":""}] tool-calls`},
		{"a call cut by the token limit", []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{\"path\":\"x"}}]}`), fin("length"), done}, `[{"type":"tool-call","id":"a","name":"read","arguments":"{\"path\":\"x"}] max-tokens`},
		{"a call whose server says stop", []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]}`), fin("stop"), done}, `[{"type":"tool-call","id":"a","name":"read","arguments":"{}"}] tool-calls`},
		{"gemini's signature", []string{delta(`{"tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"read","arguments":"{}"}}]}`), fin("stop"), done}, `[{"type":"tool-call","id":"a","name":"read","arguments":"{}","extra_content":{"google":{"thought_signature":"s"}}}] tool-calls`},

		// Markup in the text.
		{"leaked markup", []string{delta(`{"content":"Look."}`), delta(`{"content":"<｜DS"}`), delta(`{"content":"` + strings.TrimPrefix(dsmlCall, "<｜DS") + `"}`), fin("stop"), done}, `[{"type":"text","text":"Look."},{"type":"tool-call","id":"call_1","name":"read","arguments":"{\"path\":\"a\"}"}] tool-calls`},
		{"leaked markup cut by the limit", []string{delta(`{"content":"` + dsmlCall[:60] + `"}`), fin("length"), done}, `[] max-tokens`},

		// Servers that do not stream.
		{"a whole message in the stream", []string{`{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}`}, `[{"type":"text","text":"a"}] stop`},
	} {
		got, _, err := play(t, serve(t, events(c.stream...)).provider(), ask())
		if err != nil || got != c.want {
			t.Errorf("%s:\ngot  %s %v\nwant %s", c.name, got, err, c.want)
		}
	}
}

func TestAnswerThatIsNotStreamed(t *testing.T) {
	s := serve(t, status(200, `{"choices":[{"message":{"role":"assistant","content":"a","tool_calls":[{"id":"c","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":2}}`, "Content-Type", "application/json; charset=utf-8"))
	got, acc, err := play(t, s.provider(), ask())
	if want := `[{"type":"text","text":"a"},{"type":"tool-call","id":"c","name":"read","arguments":"{}"}] tool-calls`; err != nil || got != want || acc.Usage().OutputTokens != 2 {
		t.Error(got, err)
	}
}

func TestStreamWithTheWrongLabel(t *testing.T) {
	s := serve(t, status(200, "data: "+delta(`{"content":"a"}`)+"\n\ndata: "+fin("stop")+"\n\n", "Content-Type", "application/json"))
	if got, _, err := play(t, s.provider(), ask()); err != nil || got != `[{"type":"text","text":"a"}] stop` {
		t.Error(got, err)
	}
}

func TestUsage(t *testing.T) {
	for in, want := range map[string]string{
		`{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":8,"prompt_cache_miss_tokens":2,"completion_tokens_details":{"reasoning_tokens":3}}`: `{"inputTokens":2,"outputTokens":5,"cacheReadTokens":8,"reasoningTokens":3}`,
		`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4}}`:                                                                 `{"inputTokens":6,"outputTokens":5,"cacheReadTokens":4}`,
		`{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":null}`:                                                                                `{"inputTokens":10,"outputTokens":5}`,
		`{"prompt_tokens":1,"completion_tokens":null,"prompt_cache_hit_tokens":9}`:                                                                               `{"inputTokens":0,"outputTokens":0,"cacheReadTokens":1}`,
	} {
		s := serve(t, events(delta(`{"content":"a"}`), `{"choices":[],"usage":null}`, fin("stop"), `{"choices":[],"usage":`+in+`}`, done))
		_, acc, err := play(t, s.provider(), ask())
		if err != nil || acc.Usage() == nil || acc.Usage().Value().String() != want {
			t.Errorf("%s: %v %v", in, acc.Usage(), err)
		}
	}
	_, acc, err := play(t, serve(t, events(fin("stop"), done)).provider(), ask())
	if err != nil || acc.Usage() != nil {
		t.Error("usage out of nothing", err)
	}
}

// Streams that must not be taken for an answer, and what they are called.
func TestBrokenStreams(t *testing.T) {
	s := serve(t, nil)
	call := delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":"{}"}}]}`)
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		code    string
		words   string
	}{
		{"ends without a finish", events(delta(`{"content":"a"}`)), "PROTOCOL retryable", "complete"},
		{"DONE without a finish", events(call, done), "PROTOCOL retryable", "complete"},
		{"nothing at all", events(), "PROTOCOL retryable", "without an answer"},
		{"breaks midway", breakOff(delta(`{"content":"a"}`), call), "NETWORK retryable", "broke off"},
		{"cut inside an event", events(call, "data: {\"choices\":[{\"del\n\n"), "PROTOCOL retryable", "no part of an answer"},
		{"an error midway", events(delta(`{"content":"a"}`), `{"error":{"message":"Server overloaded","type":"server_error","code":"503"}}`), "OVERLOADED retryable", "Server overloaded"},
		{"a bare error midway", events(call, "{\"error\":{\"message\":\"boom\"}}\n"), "PROTOCOL retryable", "boom"},
		{"an error event", events("event: error\ndata: {\"message\":\"x\",\"type\":\"error\",\"code\":429}\n\n"), "RATE_LIMITED retryable", "limits"},
		{"an error event of words alone", events("event: error\ndata: {\"message\":\"bad thing\"}\n\n"), "PROTOCOL retryable", "bad thing"},
		{"an error event that is no JSON", events("event: error\ndata: bad thing\n\n"), "PROTOCOL retryable", "bad thing"},
		{"an error as text", events(`{"error":"out of memory"}`), "PROTOCOL retryable", "out of memory"},
		{"an error in the choice", events(`{"choices":[{"delta":{},"finish_reason":"error","error":{"code":502,"message":"upstream"}}]}`), "OVERLOADED retryable", "upstream"},
		{"out of resources", events(call, fin("insufficient_system_resource"), done), "OVERLOADED retryable", "resources"},
		{"context too long, midway", events(`{"error":{"message":"This model's maximum context length is 10 tokens","code":"context_length_exceeded"}}`), "CONTEXT_LENGTH", "does not fit"},
		{"broken markup", events(delta(`{"content":"Done! <｜DSML｜function_calls>\n<｜DSML｜invoke name=\"read\">"}`), fin("stop"), done), "PROTOCOL retryable", "tool call into its text"},
		{"calls announced, none made", events(delta(`{"content":"a"}`), fin("tool_calls"), done), "PROTOCOL retryable", "made none"},
		{"a call without a name", events(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]}`), fin("tool_calls"), done), "PROTOCOL retryable", "naming"},
		{"stalls", s.hang(delta(`{"content":"a"}`), call), "TIMEOUT retryable", "stopped in the middle"},
		{"never begins", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, "TIMEOUT retryable", "did not begin"},
		{"never begins behind its header", s.hang(), "TIMEOUT retryable", "did not begin"},
		{"only keep-alives", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				events(": keep-alive\n\n")(w, r)
				time.Sleep(5 * time.Millisecond)
			}
		}, "TIMEOUT retryable", "no part of an answer"},
		{"a web page", status(200, "<html><head><title>Log in</title></head></html>", "Content-Type", "text/html"), "PROTOCOL", "Log in"},
		{"no JSON", status(200, "hello", "Content-Type", "application/json"), "PROTOCOL retryable", "no JSON"},
	} {
		want, words := c.code, c.words
		p := serve(t, c.handler).provider(func(c *Config) {
			switch { // whoever waits for one of them does so for a short time, and nobody else
			case !strings.HasPrefix(want, "TIMEOUT"):
			case words == "stopped in the middle":
				c.IdleTimeout = 150 * time.Millisecond
			case words == "did not begin":
				c.FirstByteTimeout = 150 * time.Millisecond
			default:
				c.ProgressTimeout = 250 * time.Millisecond
			}
		})
		got, acc, err := play(t, p, ask())
		if code(err) != c.code || !strings.Contains(err.Error(), c.words) {
			t.Errorf("%s: %s %v, want %s %q", c.name, code(err), err, c.code, c.words)
		}
		if strings.Contains(got, "DSML") || acc.Finish() != nil {
			t.Errorf("%s: %s", c.name, got)
		}
	}
}

// After the finish nothing that goes wrong can spoil the answer.
func TestFinishedIsFinished(t *testing.T) {
	s := serve(t, nil)
	for name, h := range map[string]http.HandlerFunc{
		"breaks":  breakOff(delta(`{"content":"a"}`), fin("stop")),
		"stalls":  s.hang("data: " + delta(`{"content":"a"}`) + "\n\ndata: " + fin("stop") + "\n\n"),
		"garbage": events(delta(`{"content":"a"}`), fin("stop"), "data: {oops\n\n"),
		"error":   events(delta(`{"content":"a"}`), fin("stop"), `{"error":{"message":"late"}}`),
	} {
		p := serve(t, h).provider(func(c *Config) {
			if name == "stalls" {
				c.IdleTimeout = 100 * time.Millisecond
			}
		})
		if got, _, err := play(t, p, ask()); err != nil || got != `[{"type":"text","text":"a"}] stop` {
			t.Errorf("%s: %s %v", name, got, err)
		}
	}
}

func TestCancelEndsTheRequestAtOnce(t *testing.T) {
	s := serve(t, nil)
	for name, h := range map[string]http.HandlerFunc{
		"in the stream": s.hang(delta(`{"content":"a"}`)),
		"before it": func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
			s.gone <- struct{}{}
		},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		p := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if name == "before it" {
				cancel()
			} else {
				time.AfterFunc(20*time.Millisecond, cancel)
			}
			h(w, r)
		}).provider()
		_, _, err := playCtx(t, ctx, p, ask())
		if !errors.Is(err, context.Canceled) || code(err) != "" {
			t.Errorf("%s: %v", name, err)
		}
		select {
		case <-s.gone:
		case <-time.After(60 * time.Second):
			t.Errorf("%s: the server still waits", name)
		}
	}
	// Whoever stops reading ends the request as well.
	p := serve(t, s.hang(delta(`{"content":"a"}`))).provider()
	for range p.Stream(context.Background(), ask()) {
		break
	}
	select {
	case <-s.gone:
	case <-time.After(60 * time.Second):
		t.Error("the server still waits")
	}
	// A context that has ended sends nothing.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	quiet := serve(t, events(fin("stop")))
	if _, _, err := playCtx(t, ctx, quiet.provider(), ask()); !errors.Is(err, context.Canceled) || quiet.count() != 0 {
		t.Errorf("%v, %d requests", err, quiet.count())
	}
}

// A consumer sees the first piece while the server is still at the second.
func TestPiecesAreNotHeldBack(t *testing.T) {
	next := make(chan struct{})
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		events(delta(`{"content":"a"}`))(w, r)
		<-next
		events(delta(`{"content":"b"}`), fin("stop"), done)(w, r)
	})
	for c, err := range s.provider().Stream(context.Background(), ask()) {
		if err != nil {
			t.Fatal(err)
		}
		if c.Type == model.ChunkTextDelta && c.Text == "a" {
			close(next)
		}
	}
	select {
	case <-next:
	default:
		t.Error("the first piece never came")
	}
}

// A connection serves more than one request. The end of an answer is awaited only
// for a moment, so that a loaded machine gets several tries.
func TestConnectionsAreKept(t *testing.T) {
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-From", r.RemoteAddr)
		okStream(w, r)
		time.Sleep(10 * time.Millisecond) // the end comes after the answer
	})
	seen := map[string]bool{}
	p := s.provider(func(c *Config) {
		c.HTTPClient = &http.Client{Transport: from(func(addr string) { seen[addr] = true })}
	})
	for range 100 {
		clear(seen)
		for range 3 {
			if _, _, err := play(t, p, ask()); err != nil {
				t.Fatal(err)
			}
		}
		if len(seen) == 1 {
			return
		}
	}
	t.Errorf("%d connections for three requests", len(seen))
}

type from func(string)

func (f from) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		f(resp.Header.Get("X-From"))
	}
	return resp, err
}
