package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/mcp/mcptest"
)

// npmServer is a real MCP server from npm, as a command.
func npmServer(t *testing.T, name string) []string {
	t.Helper()
	dir := needClients(t)
	path := filepath.Join(dir, "node_modules", "@modelcontextprotocol", name, "dist", "index.js")
	if _, err := os.Stat(path); err != nil {
		skipOutsideCI(t, "the npm servers are not installed: run make clients")
	}
	return []string{"node", path}
}

// stdioServer is a server as session/new names it.
func stdioServer(name string, command []string, env ...string) map[string]any {
	program, err := exec.LookPath(command[0])
	if err != nil {
		program = command[0]
	}
	vars := []any{}
	for i := 0; i+1 < len(env); i += 2 {
		vars = append(vars, map[string]any{"name": env[i], "value": env[i+1]})
	}
	return map[string]any{"name": name, "command": program, "args": command[1:], "env": vars}
}

// scriptedServer is this test binary in a role, marked as belonging to the test.
func scriptedServer(t *testing.T, role string) map[string]any {
	return stdioServer(role, []string{os.Args[0]}, mcptest.RoleVariable, role, "MCP_TEST_RUN", markOf(t))
}

// markOf tells the servers of a test from those of others on the machine.
func markOf(t *testing.T) string { return fmt.Sprintf("%d-%s-%p", os.Getpid(), t.Name(), t) }

// noServer makes sure that no scripted server of the test goes on.
func noServer(t *testing.T) {
	t.Helper()
	waitUntil(t, "the end of all servers", func() bool { return running(t, "MCP_TEST_RUN="+markOf(t)) == 0 })
}

// openWith makes a session with servers.
func (c *client) openWith(caps map[string]any, servers ...any) string {
	c.t.Helper()
	if caps == nil {
		caps = map[string]any{}
	}
	if f := c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": caps}); f.Error != nil {
		c.t.Fatalf("initialize: %+v", f.Error)
	}
	begin := time.Now()
	f := c.call("session/new", map[string]any{"cwd": c.cwd, "mcpServers": servers})
	var r struct{ SessionID string }
	if f.Error != nil || json.Unmarshal(f.Result, &r) != nil {
		c.t.Fatalf("session/new: %+v", f.Error)
	}
	if d := time.Since(begin); d > soon { // a silent server has a minute
		c.t.Errorf("session/new took %s: it waits for the servers", d)
	}
	return r.SessionID
}

// slowServers waits for servers on a slow machine as well.
const slowServers = "limits: {mcp_wait: 60s}\n"

// ready waits until servers of the editor have listed their tools, for a session
// that does not wait for all of them because some never will.
func (c *client) ready(session string, names ...string) {
	c.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		before := len(c.message(session))
		c.prompt(session, "/tools")
		listed := c.message(session)[before:]
		if !slices.ContainsFunc(names, func(name string) bool {
			return !strings.Contains(listed, name+" (stdio, from the editor): ready")
		}) {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("not all of %v are ready: %s", names, listed)
		}
	}
}

// last is the newest call of a session.
func (c *client) last(session string) update {
	c.t.Helper()
	calls := c.calls(session)
	if len(calls) == 0 {
		c.t.Fatal("no call")
	}
	return calls[len(calls)-1]
}

// wantCall makes one call and looks for texts in what its card shows at the end.
func (c *client) wantCall(session, name string, args any, status string, want ...string) {
	c.t.Helper()
	c.prompt(session, tool(name, args))
	u := c.last(session)
	if u.Status != status {
		c.t.Errorf("%s: %s, want %s: %s", name, u.Status, status, u.Content)
	}
	for _, w := range want {
		if !strings.Contains(string(u.Content), w) {
			c.t.Errorf("%s: no %q in %.600s", name, w, u.Content)
		}
	}
}

func TestServerEverythingNatively(t *testing.T) {
	server := npmServer(t, "server-everything")
	c := start(t, setup{config: fullAccess + slowServers})
	c.elicit = func(params json.RawMessage) any {
		if !strings.Contains(string(params), "The MCP server every thing asks: ") || !strings.Contains(string(params), "toolCallId") {
			t.Errorf("the form: %s", params)
		}
		return map[string]any{"action": "accept", "content": map[string]any{"name": "Ada", "check": true, "email": "ada@example.org", "integer": 42}}
	}
	s := c.openWith(map[string]any{"elicitation": map[string]any{"form": map[string]any{}}}, stdioServer("every thing", append(server, "stdio")))
	// The name has a space, so its tools carry a hash: /tools tells them.
	c.prompt(s, "/tools")
	c.prompt(s, "hello")
	c.prompt(s, "/tools")
	listed := c.message(s)
	full := func(prefix string) string {
		for _, word := range strings.Split(listed, "`") {
			if strings.HasPrefix(word, "mcp__every_thing__"+prefix+"_") {
				return word
			}
		}
		t.Fatalf("no tool %s in %s", prefix, listed)
		return ""
	}
	if !strings.Contains(listed, "every thing (stdio, from the editor): ready, ") {
		t.Errorf("/tools does not tell the server's state:\n%s", listed)
	}
	c.wantCall(s, full("echo"), map[string]any{"message": "from us"}, "completed", "Echo: from us")
	if u := c.last(s); u.Title != "every thing: echo" {
		t.Errorf("title %q", u.Title)
	}
	c.wantCall(s, full("get-sum"), map[string]any{"a": 2, "b": 40}, "completed", "42")
	c.wantCall(s, full("get-tiny-image"), map[string]any{}, "completed", `"type":"image"`, `"mimeType":"image/png"`)
	c.wantCall(s, full("get-structured-content"), map[string]any{"location": "Chicago"}, "completed", "temperature")
	c.wantCall(s, full("get-resource-links"), map[string]any{"count": 2}, "completed", "resource_link name=")
	c.wantCall(s, full("get-resource-reference"), map[string]any{"resourceType": "Text", "resourceId": 1}, "completed", "[resource uri=")
	c.wantCall(s, full("get-sum"), map[string]any{"a": "x"}, "failed", "nvalid")
	c.wantCall(s, full("trigger-elicitation-request"), map[string]any{}, "completed", "Ada")
	c.wantCall(s, full("get-roots-list"), map[string]any{}, "completed", "file://"+c.cwd)
	before := len(c.updates(s))
	c.wantCall(s, full("trigger-long-running-operation"), map[string]any{"duration": 1, "steps": 4}, "completed", "ompleted")
	progress := 0
	for _, u := range c.updates(s)[before:] {
		if u.Status == "" && strings.Contains(string(u.Content), " of 4") {
			progress++
		}
	}
	if progress < 2 {
		t.Errorf("progress was shown %d times", progress)
	}
	if code, took := c.closeInput(); code != 0 || took > soon {
		t.Errorf("exit code %d after %s", code, took)
	}
}

func TestServerFilesystemFromTheConfiguration(t *testing.T) {
	server := npmServer(t, "server-filesystem")
	cwd := t.TempDir()
	write(t, filepath.Join(cwd, "a.txt"), "alpha\n")
	c := start(t, setup{cwd: cwd, env: []string{"ROOT=" + cwd}, config: fmt.Sprintf(
		"model: {provider: local}\n"+slowServers+"mcp_servers:\n  files: {command: node, args: [%q, \"${ROOT}\"]}\n", server[1])})
	asked := 0
	c.permit = func(params json.RawMessage) string {
		asked++
		if text := string(params); !strings.Contains(text, "write_file of the MCP server files says that it may destroy") || strings.Contains(text, "allow_always") {
			t.Errorf("asked: %s", params)
		}
		return "allow_once"
	}
	s := c.openWith(nil)
	path := filepath.Join(cwd, "b.txt")
	// The server says that it only reads, and the user configured it.
	c.wantCall(s, "mcp__files__read_text_file", map[string]any{"path": filepath.Join(cwd, "a.txt")}, "completed", "alpha")
	if asked != 0 {
		t.Error("reading asks")
	}
	c.wantCall(s, "mcp__files__write_file", map[string]any{"path": path, "content": "beta"}, "completed")
	if data, _ := os.ReadFile(path); string(data) != "beta" || asked != 1 {
		t.Errorf("%q, asked %d times", data, asked)
	}
	// It says that writing destroys, so it asks again.
	c.wantCall(s, "mcp__files__write_file", map[string]any{"path": path, "content": "gamma"}, "completed")
	if asked != 2 {
		t.Errorf("asked %d times", asked)
	}
	c.wantCall(s, "mcp__files__read_text_file", map[string]any{"path": "/etc/passwd"}, "failed", "denied")
}

func TestRealServersFromAProgram(t *testing.T) {
	everything, files := npmServer(t, "server-everything"), npmServer(t, "server-filesystem")
	cwd := t.TempDir()
	write(t, filepath.Join(cwd, "a.txt"), "alpha\n")
	c := start(t, setup{cwd: cwd, config: codeModeConfig + "permissions: {preset: danger-full-access}\n" + slowServers})
	s := c.openWith(nesting, stdioServer("files", append(files, cwd)), stdioServer("all", append(everything, "stdio")))
	c.prompt(s, fenced(`const file = await tools.mcp__files__read_text_file({ path: `+"`"+filepath.Join(cwd, "a.txt")+"`"+` });
const sum = await tools["mcp__all__get-sum"]({ a: 20, b: 22 });
const image = await tools["mcp__all__get-tiny-image"]({});
const weather = await tools["mcp__all__get-structured-content"]({ location: "Chicago" });
let failure = "";
try { await tools.mcp__files__read_text_file({ path: "/etc/passwd" }) } catch (e) { failure = e.toolName + " " + /denied/.test(e.message) }
return { file: file.content[0].text, sum: sum.content[0].text, image: image.content.map(b => b.type), celsius: typeof weather.structuredContent.temperature, failure };`))
	calls := c.calls(s)
	if len(calls) != 6 {
		t.Fatalf("%d cards: %+v", len(calls), calls)
	}
	for _, want := range []string{`alpha\\n`, "42", `\"image\"`, `\"celsius\": \"number\"`, "mcp__files__read_text_file true"} {
		if !strings.Contains(string(calls[0].Content), want) {
			t.Errorf("no %s in %s", want, calls[0].Content)
		}
	}
	if calls[1].Title != "files: read_text_file" || parentOf(t, calls[1]) == "" {
		t.Errorf("%+v", calls[1])
	}
}

// refusingPort is a port that nobody listens at as long as the test runs.
func refusingPort(t *testing.T) int {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	addr, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return addr.(*syscall.SockaddrInet4).Port
}

// startServer runs a program that listens at the port it is told, until the test
// ends, and gives the port once it is up. A port that was free may be taken when
// the program gets to it: then it ends, and gets another one.
func startServer(t *testing.T, command func(port int) *exec.Cmd, up func(port int) bool) int {
	t.Helper()
	var said string
	for range 5 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		_ = l.Close()
		cmd, out := command(port), &syncBuffer{}
		cmd.Stdout, cmd.Stderr = out, out
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { defer close(ended); _ = cmd.Wait() }()
		t.Cleanup(func() {
			_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
			<-ended
			if t.Failed() {
				t.Logf("the server: %s", out)
			}
		})
		gone := func() bool {
			select {
			case <-ended:
				return true
			default:
				return false
			}
		}
		waitUntil(t, "the server", func() bool { return gone() || up(port) })
		if !gone() {
			return port
		}
		said = out.String()
	}
	t.Fatalf("the server does not start: %s", said)
	return 0
}

func listens(port int) bool {
	conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err == nil {
		_ = conn.Close()
	}
	return err == nil
}

func TestServerEverythingOverHTTP(t *testing.T) {
	server := npmServer(t, "server-everything")
	for _, kind := range []struct{ transport, mode, path string }{{"http", "streamableHttp", "/mcp"}, {"sse", "sse", "/sse"}} {
		t.Run(kind.transport, func(t *testing.T) {
			address := fmt.Sprintf("127.0.0.1:%d", startServer(t, func(port int) *exec.Cmd {
				cmd := exec.Command(server[0], server[1], kind.mode)
				cmd.Env = append(os.Environ(), fmt.Sprintf("PORT=%d", port))
				return cmd
			}, listens))
			c := start(t, setup{config: fullAccess + slowServers})
			s := c.openWith(nil, map[string]any{"type": kind.transport, "name": "web", "url": "http://" + address + kind.path, "headers": []any{}})
			c.wantCall(s, "mcp__web__get-sum", map[string]any{"a": 2, "b": 40}, "completed", "42")
			c.wantCall(s, "mcp__web__get-tiny-image", map[string]any{}, "completed", `"type":"image"`)
			c.wantCall(s, "mcp__web__get-structured-content", map[string]any{"location": "Chicago"}, "completed", "temperature")
			if code, took := c.closeInput(); code != 0 || took > soon {
				t.Errorf("exit code %d after %s", code, took)
			}
		})
	}
}

func TestBadServersHarmNobody(t *testing.T) {
	c := start(t, setup{config: fullAccess + "limits: {mcp_wait: 2s}\n"})
	var servers []any
	for _, role := range []string{"silent", "dies", "flood", "noise", "many", "bad", "ok"} {
		servers = append(servers, scriptedServer(t, role))
	}
	servers = append(servers, map[string]any{"name": "missing", "command": "/no/such/program", "args": nil, "env": nil})
	s := c.openWith(nil, servers...)
	c.prompt(s, "hello") // waits as long as a prompt does
	c.ready(s, "flood", "noise", "many", "bad", "ok")
	for _, name := range []string{"flood", "noise", "ok"} {
		c.wantCall(s, "mcp__"+name+"__echo", map[string]any{"a": 1}, "completed", `{\"a\":1}`)
	}
	c.wantCall(s, "mcp__many__tool_499", map[string]any{}, "completed")
	c.wantCall(s, "mcp__ok__die", map[string]any{}, "failed", "exit code: 7", "out of cheese")
	c.ready(s, "ok") // again
	c.wantCall(s, "mcp__ok__echo", map[string]any{"b": 2}, "completed", `{\"b\":2}`)
	for _, want := range []string{
		"silent (stdio, from the editor): starting", "cannot open the database", "many (stdio, from the editor): ready, 500 tools",
		"bad (stdio, from the editor): ready, 6 tools, 11 tools left out", "`text_schema`: the schema of its arguments cannot be used",
		"missing (stdio, from the editor): failed: cannot start",
	} {
		for end := time.Now().Add(patience); !strings.Contains(c.message(s), want); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				t.Errorf("/tools does not tell %q", want)
				break
			}
			c.prompt(s, "/tools")
		}
	}
	if f := c.call("session/close", map[string]any{"sessionId": s}); f.Error != nil {
		t.Errorf("%+v", f.Error)
	}
	noServer(t)
}

func TestTheProgramLeavesInTimeWhateverServersDo(t *testing.T) {
	c := start(t, setup{config: fullAccess + "limits: {mcp_wait: 1s}\n"})
	s := c.openWith(nil, scriptedServer(t, "silent"), scriptedServer(t, "stays"), scriptedServer(t, "flood"), scriptedServer(t, "dies"))
	c.prompt(s, "hello")
	c.ready(s, "stays")
	c.wantCall(s, "mcp__stays__echo", map[string]any{}, "completed")
	if code, took := c.closeInput(); code != 0 || took > soon {
		t.Errorf("exit code %d after %s", code, took)
	}
	noServer(t)
}

func TestCheckNamesARemedyForEachServer(t *testing.T) {
	cfg := filepath.Join(t.TempDir(), "c.yaml")
	write(t, cfg, fmt.Sprintf(`model: {provider: local}
mcp_servers:
  good: {command: %[1]q, env: {MCP_TEST_ROLE: bad}}
  missing: {command: no-such-program-anywhere}
  unset: {command: x, env: {A: "${NOT_SET_ANYWHERE}"}}
  mute: {command: %[1]q, env: {MCP_TEST_ROLE: silent}, start_timeout: 500ms}
  broken: {command: %[1]q, env: {MCP_TEST_ROLE: dies}}
  gone: {url: "http://127.0.0.1:%[2]d/mcp"}
  off: {command: x, disabled: true}
`, os.Args[0], refusingPort(t)))
	out, err := runClient(t, t.TempDir(), bin, "check", "--config", cfg)
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Errorf("%v", err)
	}
	for _, want := range []string{
		"ok    mcp            good: scripted 1.0 answers and has 6 tools",
		`note  mcp            good: the tool "text_schema" is left out: the schema of its arguments cannot be used: it is string, not an object`,
		`FAIL  mcp            missing: cannot start "no-such-program-anywhere"`, "install it, or give its whole path",
		"FAIL  mcp            unset: the environment variable NOT_SET_ANYWHERE is not set: set it where the editor is started",
		"FAIL  mcp            mute: it was not ready after 500ms", "raise its start_timeout",
		"FAIL  mcp            broken: the process ended (exit code: 3); it wrote: cannot open the database",
		"FAIL  mcp            gone: ", "connection refused",
		"note  mcp            off is disabled",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

// running counts the processes whose environment holds a text.
func running(t *testing.T, text string) (n int) {
	t.Helper()
	dirs, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, path := range dirs {
		if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), text) {
			n++
		}
	}
	return n
}

func TestACancelledTurnEndsItsCall(t *testing.T) {
	c := start(t, setup{config: fullAccess})
	s := c.openWith(nil, scriptedServer(t, "ok"))
	c.prompt(s, "hello") // waits for the server
	id := c.request("session/prompt", textPrompt(s, tool("mcp__ok__hang", map[string]any{})))
	c.waitUpdate("the call", s, func(u update) bool { return u.Status == "in_progress" })
	c.notify("session/cancel", map[string]any{"sessionId": s})
	if stop := stopReason(c.reply(id)); stop != "cancelled" {
		t.Error(stop)
	}
	c.wantCall(s, "mcp__ok__echo", map[string]any{}, "completed")
}

func TestServersOfAWorkspaceNeedConsent(t *testing.T) {
	cwd := t.TempDir()
	text, _ := json.Marshal(map[string]any{"mcpServers": map[string]any{"brought": map[string]any{
		"command": os.Args[0], "env": map[string]any{mcptest.RoleVariable: "${ROLE:-ok}"},
	}}})
	write(t, filepath.Join(cwd, ".mcp.json"), string(text))
	sessions := filepath.Join(t.TempDir(), "sessions")
	config := fullAccess + "sessions: {dir: " + sessions + "}\n"
	c := start(t, setup{cwd: cwd, config: config})
	s := c.openWith(nil)
	c.wantCall(s, "mcp__brought__echo", map[string]any{}, "failed", "unknown tool")
	if !c.logged("dsh-acp mcp --allow " + cwd) {
		t.Errorf("nobody is told how to allow it: %s", c.stderr)
	}
	c.prompt(s, "/tools")
	if text := c.message(s); !strings.Contains(text, "MCP servers:\n\n- those of `.mcp.json` are not started") || !strings.Contains(text, "dsh-acp mcp --allow "+cwd) {
		t.Errorf("/tools says nothing of them: %s", text)
	}
	command := func(args ...string) string {
		cfg := filepath.Join(t.TempDir(), "c.yaml")
		write(t, cfg, config)
		out, err := runClient(t, cwd, bin, append(args, "--config", cfg)...)
		if err != nil {
			t.Errorf("%v: %s", err, out)
		}
		return out
	}
	if out := command("mcp"); !strings.Contains(out, "not allowed, not started") || !strings.Contains(out, `"MCP_TEST_ROLE" = "${ROLE:-ok}"`) {
		t.Errorf("%s", out)
	}
	command("mcp", "--allow")
	c = start(t, setup{cwd: cwd, config: config})
	s = c.openWith(nil)
	c.wantCall(s, "mcp__brought__echo", map[string]any{"a": 1}, "completed", `{\"a\":1}`)
	if out := command("check"); !strings.Contains(out, "brought: scripted 1.0 answers and has 21 tools") {
		t.Errorf("%s", out)
	}
	if out := command("tools"); !strings.Contains(out, "\nmcp__brought__echo\n") {
		t.Errorf("%s", out)
	}
	command("mcp", "--revoke")
	c = start(t, setup{cwd: cwd, config: config})
	s = c.openWith(nil)
	c.wantCall(s, "mcp__brought__echo", map[string]any{}, "failed", "unknown tool")
}

// A session that is loaded shows what was shown live, though its servers are gone.
func TestCallsOfServersReplayAsTheyWereShown(t *testing.T) {
	cwd, sessions := t.TempDir(), filepath.Join(t.TempDir(), "sessions")
	config := fullAccess + "sessions: {dir: " + sessions + "}\n"
	c := start(t, setup{cwd: cwd, config: config})
	odd := scriptedServer(t, "bad")
	s := c.openWith(nil, odd, scriptedServer(t, "ok"))
	c.prompt(s, tool("mcp__ok__progress", map[string]any{}))
	c.prompt(s, tool("mcp__bad__weather_today_now_c8e64b31bc", map[string]any{}))
	live := c.calls(s)
	c.closeInput()
	c = start(t, setup{cwd: cwd, config: config})
	if f := c.call("initialize", map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{}}); f.Error != nil {
		t.Fatal(f.Error.Message)
	}
	if f := c.call("session/load", map[string]any{"sessionId": s, "cwd": cwd, "mcpServers": []any{}}); f.Error != nil {
		t.Fatal(f.Error.Message)
	}
	again := c.calls(s)
	a, _ := json.Marshal(live)
	b, _ := json.Marshal(again)
	if string(a) != string(b) || len(live) != 2 || live[1].Title != "bad: weather.today/now" {
		t.Errorf("live  %s\nagain %s", a, b)
	}
}
