package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fixtures are what aimock answers with: the first that matches.
const fixtures = `{"fixtures": [
  {"match": {"userMessage": "break", "sequenceIndex": 0}, "response": {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}},
  {"match": {"userMessage": "break"}, "response": {"content": "It went well the second time."}},
  {"match": {"userMessage": "denied"}, "response": {"error": {"message": "Incorrect API key", "type": "authentication_error", "code": "invalid_api_key"}, "status": 401}},
  {"match": {"userMessage": "notes", "hasToolResult": false}, "response": {"toolCalls": [
    {"name": "read", "arguments": "{\"file_path\": \"notes.txt\"}"}, {"name": "read", "arguments": "{\"file_path\": \"other.txt\"}"}]}},
  {"match": {"userMessage": "notes", "hasToolResult": true}, "response": {"content": "Both files were read.", "reasoning": "They were short."}},
  {"match": {"userMessage": "long"}, "response": {"content": "cut sho", "finishReason": "length"}},
  {"match": {"userMessage": "hello"}, "response": {"content": "Hello from a server that nobody here wrote: é, 你好, 🌍."}}
]}`

// startAimock runs @copilotkit/aimock, an implementation of several providers'
// protocols by others, and gives its address.
func startAimock(t *testing.T) string {
	t.Helper()
	dir := needClients(t)
	cli := filepath.Join(dir, "node_modules", "@copilotkit", "aimock", "dist", "cli.js")
	if !exists(cli) {
		skipOutsideCI(t, "aimock is not installed: run make clients")
	}
	file := filepath.Join(t.TempDir(), "fixtures.json")
	write(t, file, fixtures)
	home := t.TempDir()
	return fmt.Sprintf("http://127.0.0.1:%d", startServer(t, func(port int) *exec.Cmd {
		cmd := exec.Command("node", cli, "--port", itoa(port), "--fixtures", file, "--chunk-size", "3", "--strict", "--log-level", "warn")
		cmd.Env = append(os.Environ(), "HOME="+home)
		return cmd
	}, func(port int) bool {
		resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/health", port))
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
		return err == nil
	}))
}

// A server that was written by others answers through the program, in both
// protocols: words, thoughts, calls, a repeated failure, one that is final, and an
// answer that was cut.
func TestAServerOfOthers(t *testing.T) {
	url := startAimock(t)
	for provider, config := range map[string]string{
		"openai":    fmt.Sprintf("{provider: openai, name: gpt-4o, base_url: %q}", url+"/v1"),
		"deepseek":  fmt.Sprintf("{provider: deepseek, name: deepseek-chat, base_url: %q}", url+"/v1"),
		"anthropic": fmt.Sprintf("{provider: anthropic, name: claude-sonnet-4-5, base_url: %q}", url),
	} {
		t.Run(provider, func(t *testing.T) {
			c := start(t, setup{
				config: "model: " + config + "\npermissions: {preset: danger-full-access}\n",
				cwd:    workspace(t, map[string]string{"notes.txt": "alpha\n", "other.txt": "beta\n"}),
				env:    []string{"OPENAI_API_KEY=any", "DEEPSEEK_API_KEY=any", "ANTHROPIC_API_KEY=any", "NO_PROXY=127.0.0.1"},
			})
			id := c.open(nil)
			if stop := c.prompt(id, "hello"); stop != "end_turn" || !strings.Contains(c.message(id), "é, 你好, 🌍.") {
				t.Errorf("%s: %q", stop, c.message(id))
			}
			if stop := c.prompt(id, "read the notes"); stop != "end_turn" || !strings.Contains(c.message(id), "Both files were read.") {
				t.Errorf("%s: %q", stop, c.message(id))
			}
			calls := c.calls(id)
			if len(calls) != 2 || calls[0].Status != "completed" || calls[1].Status != "completed" || !strings.Contains(string(calls[1].Content), "beta") {
				t.Errorf("calls: %+v", calls)
			}
			if stop := c.prompt(id, "a long one"); stop != "max_tokens" {
				t.Errorf("a cut answer: %s", stop)
			}
			f := c.call("session/prompt", textPrompt(id, "denied"))
			if f.Error == nil || !strings.Contains(f.Error.Message, "API key") {
				t.Errorf("%+v", f.Error)
			}
			if provider == "openai" { // once: the server counts over all of its clients
				if stop := c.prompt(id, "break"); stop != "end_turn" || !strings.Contains(c.message(id), "retrying 2/4") || !strings.Contains(c.message(id), "second time") {
					t.Errorf("%s: %q", stop, c.message(id))
				}
			}
			if thoughts := thoughtsOf(c, id); provider == "deepseek" && thoughts != "They were short." {
				t.Errorf("thoughts: %q", thoughts)
			}
		})
	}
}

func thoughtsOf(c *client, session string) string {
	var b strings.Builder
	for _, u := range c.updates(session) {
		if u.SessionUpdate == "agent_thought_chunk" {
			var block struct{ Text string }
			_ = json.Unmarshal(u.Content, &block)
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// TestAnInferenceServer talks to Ollama with a model that says nothing of
// meaning: what is looked at is that everything gets through. It runs where
// DSH_ACP_OLLAMA names the program; docs/models.md says how to get one.
func TestAnInferenceServer(t *testing.T) {
	ollama := os.Getenv("DSH_ACP_OLLAMA")
	if ollama == "" {
		t.Skip("DSH_ACP_OLLAMA does not name an ollama program")
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "./testdata/tinygguf", filepath.Join(dir, "tiny.gguf")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	host := l.Addr().String()
	_ = l.Close()
	env := append(os.Environ(), "HOME="+dir, "OLLAMA_HOST="+host, "OLLAMA_MODELS="+filepath.Join(dir, "models"), "OLLAMA_CONTEXT_LENGTH=16384", "NO_PROXY=127.0.0.1")
	serve := exec.Command(ollama, "serve")
	out := &syncBuffer{}
	serve.Env, serve.Stdout, serve.Stderr = env, out, out
	serve.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = syscall.Kill(-serve.Process.Pid, syscall.SIGKILL)
		_ = serve.Wait()
		if t.Failed() {
			s := out.String()
			t.Logf("ollama: %s", s[max(0, len(s)-4000):])
		}
	})
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if resp, err := http.Get("http://" + host + "/api/version"); err == nil {
			_ = resp.Body.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("ollama does not answer")
		}
	}
	for name, template := range map[string]string{
		"tiny":  "{{ range .Messages }}{{ .Role }}: {{ .Content }}\n{{ end }}{{ if .Tools }}{{ len .Tools }} tools{{ end }}",
		"plain": "{{ .System }} {{ .Prompt }}",
	} {
		file := filepath.Join(dir, name+".modelfile")
		write(t, file, "FROM "+filepath.Join(dir, "tiny.gguf")+"\nTEMPLATE \"\"\""+template+"\"\"\"\nPARAMETER num_predict 48\nPARAMETER temperature 1\n")
		create := exec.Command(ollama, "create", name, "-f", file)
		create.Env = env
		if out, err := create.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	config := fmt.Sprintf("model: {provider: openai, name: tiny, base_url: \"http://%s/v1\"}\n", host)
	c := start(t, setup{config: config})
	id := c.open(nil)
	begin := time.Now()
	for _, text := range []string{"hello", "and again"} {
		if stop := c.prompt(id, text); stop != "end_turn" && stop != "max_tokens" {
			t.Errorf("%q: %s", text, stop)
		}
	}
	t.Logf("two turns in %s: %.200q", time.Since(begin).Round(time.Millisecond), c.message(id))
	if c.message(id) == "" {
		t.Error("the model said nothing")
	}
	// A model that cannot call tools is refused by the server; the words say so.
	other := start(t, setup{config: strings.Replace(config, "tiny", "plain", 1)})
	id = other.open(nil)
	f := other.call("session/prompt", textPrompt(id, "hello"))
	if f.Error == nil || !strings.Contains(f.Error.Message, "cannot call tools") {
		t.Errorf("a model without tools: %+v", f.Error)
	}
	check := exec.Command(bin, "check")
	check.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, "XDG_CONFIG_HOME="+checkConfig(t, strings.Replace(config, "tiny", "tinny", 1)))
	if out, _ := check.CombinedOutput(); !strings.Contains(string(out), "tiny") {
		t.Errorf("check with a wrong name: %s", out)
	}
}

// checkConfig writes a user's configuration and gives its XDG_CONFIG_HOME.
func checkConfig(t *testing.T, text string) string {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "dsh-acp", "config.yaml"), text)
	return dir
}
