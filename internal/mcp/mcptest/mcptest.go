// Package mcptest has MCP servers that misbehave, for tests. They are written by
// hand, line by line: no library would let them. A test binary is its own server:
// it starts itself again with a role.
package mcptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The environment of a server. File is where some roles leave a mark.
const (
	RoleVariable = "MCP_TEST_ROLE"
	FileVariable = "MCP_TEST_FILE"
)

// HangsSuffix is of the file, beside File, that says that a call of hang has come.
const HangsSuffix = ".hangs"

// Pixel is the picture that the tool image gives, in base64.
const Pixel = pixel

// hugeAnswer is more than anybody reads.
const hugeAnswer = 32 << 20

// MaybeServe makes this process a server when the environment says so, and does
// not return then. Call it first in TestMain. Every role knows the tools of "ok"
// unless it says otherwise:
//
//	ok        behaves
//	silent    never answers
//	dies      ends at once, with a word on stderr
//	flaky     ends at once the first time; File remembers
//	flood     writes to stderr without end
//	noise     writes to stdout what is no message
//	stays     ignores the end of its input
//	many      has 500 tools, on ten pages
//	looping   gives the same next page for ever
//	bad       has tools with broken descriptions
//	changing  has other tools after a call of change
func MaybeServe() {
	role := os.Getenv(RoleVariable)
	if role == "" {
		return
	}
	(&scripted{role: role, out: bufio.NewWriter(os.Stdout)}).serve()
	os.Exit(0)
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type scripted struct {
	role string

	mu      sync.Mutex
	out     *bufio.Writer
	changed bool
	waiting chan message // answers to our own requests
}

func (s *scripted) write(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, format+"\n", args...)
	_ = s.out.Flush()
}

func (s *scripted) reply(id json.RawMessage, result string) {
	if s.role == "noise" {
		s.write("listening on port 3000")
		s.write(`{"level":"info","msg":"a log line that is JSON"}`)
		s.write("")
	}
	s.write(`{"result":%s,"jsonrpc":"2.0","id":%s}`, strings.ReplaceAll(result, "\n\t", ""), id)
}

func (s *scripted) serve() {
	switch s.role {
	case "dies":
		fmt.Fprintln(os.Stderr, "cannot open the database")
		os.Exit(3)
	case "flaky": // the first start fails
		path := os.Getenv(FileVariable)
		if _, err := os.Stat(path); err != nil {
			_ = os.WriteFile(path, nil, 0o600)
			os.Exit(1)
		}
	case "flood":
		go func() {
			line := strings.Repeat("x", 1000) + "\n"
			for {
				if _, err := os.Stderr.WriteString(line); err != nil {
					return
				}
			}
		}()
	}
	s.waiting = make(chan message, 1)
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			if s.role == "stays" {
				time.Sleep(time.Hour) // ignores the end of its input
			}
			return
		}
		var m message
		if s.role == "silent" || json.Unmarshal([]byte(line), &m) != nil {
			continue
		}
		if m.Method == "" {
			s.waiting <- m
			continue
		}
		go s.handle(m)
	}
}

const noArguments = `{"type":"object","properties":{}}`

func (s *scripted) list(cursor string) string {
	switch s.role {
	case "many":
		var from int
		_, _ = fmt.Sscan(cursor, &from)
		var tools []string
		for i := from; i < from+50; i++ {
			tools = append(tools, fmt.Sprintf(`{"name":"tool_%d","description":"Number %d.","inputSchema":%s}`, i, i, noArguments))
		}
		next := ""
		if from+50 < 500 {
			next = fmt.Sprintf(`,"nextCursor":"%d"`, from+50)
		}
		return `{"tools":[` + strings.Join(tools, ",") + `]` + next + `}`
	case "looping":
		return `{"tools":[{"name":"one","inputSchema":` + noArguments + `}],"nextCursor":"again"}`
	case "endless":
		n, _ := strconv.Atoi(cursor)
		return fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":%s}],"nextCursor":"%d"}`, n, noArguments, n+1)
	case "bad":
		return `{"tools":[
			{"name":"good","inputSchema":{"type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}},"$defs":{"t":{"type":"object","properties":{"t":{"$ref":"#/$defs/t"}}}}}},
			{"name":"no_schema"},
			{"name":"empty","inputSchema":{}},
			{"name":"union","inputSchema":{"anyOf":[{"type":"object"},{"type":"null"}]}},
			{"name":"text_schema","inputSchema":"object"},
			{"name":"text_property","inputSchema":{"type":"object","properties":{"a":"string"}}},
			{"name":"array_root","inputSchema":{"type":"array","items":{}}},
			{"name":"odd_type","inputSchema":{"type":"object","properties":{"a":{"type":"str"}}}},
			{"name":"away","inputSchema":{"type":"object","properties":{"a":{"$ref":"https://example.org/x.json"}}}},
			{"name":"nowhere","inputSchema":{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}}}},
			{"name":7,"inputSchema":{}},
			{"inputSchema":{}},
			null,
			{"name":"twice","inputSchema":{}},
			{"name":"twice","inputSchema":{}},
			{"name":"keys_twice","inputSchema":{"type":"object","type":"object"}},
			{"name":"weather.today/now","description":"A name that no provider takes.","inputSchema":{}}
		]}`
	case "changing":
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.changed {
			return `{"tools":[{"name":"change","inputSchema":{}},{"name":"new","inputSchema":{}}]}`
		}
		return `{"tools":[{"name":"change","inputSchema":{}},{"name":"old","inputSchema":{}}]}`
	}
	var tools []string
	for _, name := range []string{"echo", "slow", "die", "big", "huge", "image", "progress", "elicit", "fail", "refuse", "structured", "lie", "link", "sample", "env", "hang", "roots"} {
		tools = append(tools, `{"name":"`+name+`","inputSchema":`+noArguments+`}`)
	}
	tools = append(tools,
		`{"name":"look","inputSchema":{},"annotations":{"readOnlyHint":true}}`,
		`{"name":"wipe","inputSchema":{},"annotations":{"destructiveHint":true}}`,
		`{"name":"unclear","inputSchema":{},"annotations":{"readOnlyHint":true,"destructiveHint":true}}`,
		`{"name":"typed","inputSchema":{},"outputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}}`,
	)
	return `{"tools":[` + strings.Join(tools, ",") + `]}`
}

func text(format string, args ...any) string {
	quoted, _ := json.Marshal(fmt.Sprintf(format, args...))
	return `{"content":[{"type":"text","text":` + string(quoted) + `}]}`
}

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func (s *scripted) handle(m message) {
	switch m.Method {
	case "initialize":
		switch s.role {
		case "refuses":
			s.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no licence\n\u001b[31mred"}}`, m.ID)
			return
		case "ancient":
			s.reply(m.ID, `{"protocolVersion":"1999-01-01","capabilities":{"tools":{}},"serverInfo":{"name":"scripted","version":"1.0"}}`)
			return
		}
		s.reply(m.ID, `{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"logging":{}},"serverInfo":{"name":"scripted","version":"1.0"},"instructions":"Be gentle with {{it}}."}`)
	case "ping":
		s.reply(m.ID, `{}`)
	case "tools/list":
		var p struct{ Cursor string }
		_ = json.Unmarshal(m.Params, &p)
		s.reply(m.ID, s.list(p.Cursor))
	case "tools/call":
		s.call(m)
	case "notifications/cancelled":
		var p struct {
			RequestID json.RawMessage `json:"requestId"`
		}
		_ = json.Unmarshal(m.Params, &p)
		if path := os.Getenv(FileVariable); path != "" {
			_ = os.WriteFile(path, p.RequestID, 0o600)
		}
	case "notifications/initialized":
	default:
		if m.ID != nil {
			s.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		}
	}
}

func (s *scripted) call(m message) {
	var p struct {
		Name      string
		Arguments json.RawMessage
		Meta      struct{ ProgressToken json.RawMessage } `json:"_meta"`
	}
	_ = json.Unmarshal(m.Params, &p)
	if s.role == "broken" { // its answers are no valid messages
		s.write(`{"jsonrpc":"2.0","id":%s,"error":"no today"}`, m.ID)
		return
	}
	switch p.Name {
	case "echo", "look", "wipe", "unclear", "tool_499", "new", "old":
		s.reply(m.ID, text("%s", p.Arguments))
	case "hang":
		if path := os.Getenv(FileVariable); path != "" {
			_ = os.WriteFile(path+HangsSuffix, nil, 0o600)
		}
	case "slow":
		time.Sleep(300 * time.Millisecond)
		s.reply(m.ID, text("done"))
	case "die":
		fmt.Fprintln(os.Stderr, "panic: out of cheese")
		os.Exit(7)
	case "big":
		s.reply(m.ID, text("%s", strings.Repeat("x", 5<<20)))
	case "huge":
		s.reply(m.ID, text("%s", strings.Repeat("x", hugeAnswer)))
	case "image":
		s.reply(m.ID, `{"content":[{"type":"text","text":"here"},{"type":"image","data":"`+pixel+`","mimeType":"image/png"},{"type":"audio","data":"AAAA","mimeType":"audio/wav"},{"type":"image","data":"not base64!","mimeType":"image/png"},{"type":"unheard"},5],"structuredContent":{"b":1,"a":12345678901234}}`)
	case "progress":
		for i := range 4 {
			s.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d,"total":4,"message":"part %d"}}`, p.Meta.ProgressToken, i+1, i+1)
			time.Sleep(250 * time.Millisecond)
		}
		s.reply(m.ID, text("done"))
	case "elicit":
		s.write(`{"jsonrpc":"2.0","id":"ask","method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":%s}}`, p.Arguments)
		a := <-s.waiting
		s.reply(m.ID, text("%s%s", a.Result, a.Error))
	case "sample":
		s.write(`{"jsonrpc":"2.0","id":"ask","method":"sampling/createMessage","params":{"messages":[],"maxTokens":5}}`)
		a := <-s.waiting
		s.reply(m.ID, text("%s%s", a.Result, a.Error))
	case "roots":
		s.write(`{"jsonrpc":"2.0","id":"ask","method":"roots/list"}`)
		a := <-s.waiting
		s.reply(m.ID, text("%s%s", a.Result, a.Error))
	case "fail":
		s.reply(m.ID, `{"isError":true,"content":[{"type":"text","text":"the disk is full"},{"type":"image","data":"`+pixel+`","mimeType":"image/png"}]}`)
	case "refuse":
		s.write(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"bad arguments"}}`, m.ID)
	case "structured":
		s.reply(m.ID, `{"content":[{"type":"text","text":"{\"n\": 1}"}],"structuredContent":{"n":1}}`)
	case "typed":
		s.reply(m.ID, `{"content":[],"structuredContent":{"n":2}}`)
	case "lie":
		s.reply(m.ID, `{"content":[],"structuredContent":{"n":9007199254740993}}`)
	case "link":
		s.reply(m.ID, `{"content":[{"type":"resource_link","uri":"file:///a.txt","name":"a"},{"type":"resource","resource":{"uri":"mem:///b","mimeType":"text/plain","text":"inside"}},{"type":"resource","resource":{"uri":"mem:///c","mimeType":"image/png","blob":"`+pixel+`"}},{"type":"resource","resource":{"uri":"mem:///d","blob":"AAAA"}}]}`)
	case "env":
		s.reply(m.ID, text("given=%s token=%s cwd=%s", os.Getenv("GIVEN"), os.Getenv("SOME_TOKEN"), mustGetwd()))
	case "change":
		s.mu.Lock()
		s.changed = true
		s.mu.Unlock()
		s.write(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		s.reply(m.ID, text("changed"))
	default:
		s.reply(m.ID, `{"isError":true,"content":[{"type":"text","text":"unknown tool"}]}`)
	}
}

func mustGetwd() string {
	dir, _ := os.Getwd()
	return dir
}
