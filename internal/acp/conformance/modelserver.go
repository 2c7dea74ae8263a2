package conformance

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// modelServer is a model that does what the prompt says, for agents that can be
// pointed at a server of the chat-completions protocol. The last message of the
// user is its program, one instruction a line; other lines are ignored:
//
//	!new              forget the lines before: an agent may send two messages as one
//	!say TEXT         answer with TEXT
//	!think TEXT       reason with TEXT
//	!call NAME JSON   call a tool
//	!then             wait for the results; what follows is the next answer
//	!slow SECONDS     go on for so long, a word every 100 ms
//	!status CODE      fail with that HTTP status
//	!finish REASON    end with that finish reason
//	!recall           answer with what the user said before
//	!loop NAME JSON   call a tool in every answer, without end
//
// Without instructions it says hello.
type modelServer struct {
	url   string
	serve *http.Server
	calls sync.WaitGroup
	mu    sync.Mutex
	count int
}

func startModelServer() (*modelServer, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	m := &modelServer{url: "http://" + l.Addr().String() + "/v1"}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": []any{map[string]any{"id": "scripted", "object": "model"}}})
	})
	mux.HandleFunc("POST /v1/chat/completions", m.complete)
	m.serve = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	m.calls.Go(func() { _ = m.serve.Serve(l) }) // ends with close
	return m, nil
}

func (m *modelServer) close() {
	_ = m.serve.Close()
	m.calls.Wait()
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

type chatMessage struct {
	Role    string
	Content json.RawMessage
}

// text is the text of a message, whose content is a string or a list of parts.
func (c chatMessage) text() string {
	var s string
	if json.Unmarshal(c.Content, &s) == nil {
		return s
	}
	var parts []struct{ Type, Text string }
	_ = json.Unmarshal(c.Content, &parts) // what is neither has no text
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func (m *modelServer) complete(w http.ResponseWriter, r *http.Request) {
	var req struct{ Messages []chatMessage }
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		writeJSON(w, http.StatusBadRequest, map[string]any{"error": map[string]any{"message": err.Error()}})
		return
	}
	lines, earlier := program(req.Messages)
	a := &answering{w: w, r: r, number: m.next(), prompt: promptSize(req.Messages), finish: "stop"}
	for _, line := range lines {
		if !a.obey(line, earlier) {
			return
		}
	}
	if !a.said && !a.called {
		a.obey("!say Hello, nice to meet you.", "")
	}
	a.end()
}

func (m *modelServer) next() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.count++
	return m.count
}

func promptSize(messages []chatMessage) int {
	n := 0
	for _, msg := range messages {
		n += len(msg.Content)
	}
	return n/4 + 1
}

// program gives the instructions that are due, and what the user said before.
func program(messages []chatMessage) (due []string, earlier string) {
	last := -1
	var said []string
	for i, msg := range messages {
		if msg.Role != "user" {
			continue
		}
		for line := range strings.Lines(msg.text()) {
			if strings.HasPrefix(line, "!") {
				if last >= 0 && last != i {
					said = append(said, messages[last].text())
				}
				last = i
				break
			}
		}
		if last != i {
			said = append(said, msg.text())
		}
	}
	if last < 0 {
		return nil, ""
	}
	step := 0
	for _, msg := range messages[last:] {
		if msg.Role == "assistant" {
			step++
		}
	}
	text := messages[last].text()
	if at := strings.LastIndex("\n"+text, "\n!new"); at >= 0 {
		said = append(said, text[:at])
		text = text[at:]
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case line == "!then":
			step--
		case strings.HasPrefix(line, "!loop "):
			due = append(due, "!call "+strings.TrimPrefix(line, "!loop "))
		case step == 0 && strings.HasPrefix(line, "!"):
			due = append(due, line)
		}
	}
	if due == nil {
		due = []string{"!say Done."}
	}
	return due, strings.ReplaceAll(strings.Join(said, " "), "!", "")
}

// answering is one answer under way.
type answering struct {
	w       http.ResponseWriter
	r       *http.Request
	number  int
	prompt  int
	calls   int
	words   int
	said    bool
	called  bool
	started bool
	finish  string
}

// obey does one instruction; false ends the answer.
func (a *answering) obey(line, earlier string) bool {
	name, rest, _ := strings.Cut(line, " ")
	switch name {
	case "!say":
		a.say(rest)
	case "!think":
		a.delta(map[string]any{"reasoning_content": rest})
	case "!recall":
		a.say(earlier)
	case "!slow":
		seconds, _ := strconv.ParseFloat(rest, 64)
		return a.slowly(seconds)
	case "!call":
		a.call(rest)
	case "!finish":
		a.say("cut")
		a.finish = rest
	case "!status":
		code, _ := strconv.Atoi(rest)
		if code < 400 || code > 599 {
			code = http.StatusInternalServerError
		}
		writeJSON(a.w, code, map[string]any{"error": map[string]any{"message": "scripted failure " + rest, "type": "scripted"}})
		return false
	}
	return true
}

func (a *answering) say(text string) {
	a.said = true
	a.words += len(text)/4 + 1
	a.delta(map[string]any{"content": text})
}

func (a *answering) slowly(seconds float64) bool {
	for end := time.Now().Add(time.Duration(seconds * float64(time.Second))); time.Now().Before(end); {
		a.say("tick ")
		select {
		case <-a.r.Context().Done():
			return false
		case <-time.After(100 * time.Millisecond):
		}
	}
	return true
}

func (a *answering) call(rest string) {
	name, args, _ := strings.Cut(rest, " ")
	a.delta(map[string]any{"tool_calls": []any{map[string]any{
		"index": a.calls, "id": fmt.Sprintf("call-%d-%d", a.number, a.calls), "type": "function",
		"function": map[string]any{"name": name, "arguments": args},
	}}})
	a.calls++
	a.called = true
	a.finish = "tool_calls"
}

func (a *answering) delta(delta map[string]any) {
	if !a.started {
		a.started = true
		a.w.Header().Set("Content-Type", "text/event-stream")
		delta["role"] = "assistant"
	}
	a.event(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": nil}}})
}

func (a *answering) end() {
	a.event(map[string]any{"choices": []any{map[string]any{"index": 0, "delta": map[string]any{}, "finish_reason": a.finish}}})
	a.event(map[string]any{"choices": []any{}, "usage": map[string]any{
		"prompt_tokens": a.prompt, "completion_tokens": a.words + 1, "total_tokens": a.prompt + a.words + 1,
	}})
	fmt.Fprint(a.w, "data: [DONE]\n\n")
}

func (a *answering) event(v map[string]any) {
	v["id"], v["object"], v["model"], v["created"] = fmt.Sprintf("answer-%d", a.number), "chat.completion.chunk", "scripted", time.Now().Unix()
	b, _ := json.Marshal(v) // made of strings and numbers
	fmt.Fprintf(a.w, "data: %s\n\n", b)
	if f, ok := a.w.(http.Flusher); ok {
		f.Flush()
	}
}
