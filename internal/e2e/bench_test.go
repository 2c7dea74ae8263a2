package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// updatePrefix begins every session update.
const updatePrefix = `{"jsonrpc":"2.0","method":"session/update"`

// pipeAgent is an agent without the checks of client, for measuring.
type pipeAgent struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader

	frames int // read so far
}

func spawn(b *testing.B, home, program string, args ...string) *pipeAgent {
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + home, "XDG_STATE_HOME=" + home}
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	return &pipeAgent{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 1<<20)}
}

func (a *pipeAgent) stop() {
	_ = a.in.Close()
	_ = a.cmd.Wait()
}

func (a *pipeAgent) ask(b *testing.B, id int, method, params string) frame {
	_, err := fmt.Fprintf(a.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
	if err != nil {
		b.Fatal(err)
	}
	for {
		line, err := a.out.ReadBytes('\n')
		if err != nil {
			b.Fatal(err)
		}
		a.frames++
		if bytes.HasPrefix(line, []byte(updatePrefix)) {
			continue // not worth decoding while something is measured
		}
		var f frame
		if err := json.Unmarshal(line, &f); err != nil {
			b.Fatal(err)
		}
		if string(f.ID) == itoa(id) && f.Method == "" {
			return f
		}
	}
}

// BenchmarkStart measures from spawning the process to its answers to initialize
// and to session/new, and the resident memory after the latter, beside a bare
// program on the same JSON-RPC library.
func BenchmarkStart(b *testing.B) {
	dir := b.TempDir()
	bare := filepath.Join(dir, "bare")
	build := exec.Command("go", "build", "-o", bare, "./testdata/bareagent")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	for _, p := range []struct {
		name string
		args []string
	}{{"dsh-acp", []string{bin, "--model", "local"}}, {"bare", []string{bare}}} {
		b.Run(p.name, func(b *testing.B) {
			var init, open time.Duration
			var rss int
			for b.Loop() {
				begin := time.Now()
				a := spawn(b, dir, p.args[0], p.args[1:]...)
				a.ask(b, 1, "initialize", `{"protocolVersion":1}`)
				init += time.Since(begin)
				a.ask(b, 2, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, dir))
				open += time.Since(begin)
				rss += residentKiB(a.cmd.Process.Pid)
				a.stop()
			}
			b.ReportMetric(float64(init.Microseconds())/float64(b.N)/1000, "ms/initialize")
			b.ReportMetric(float64(open.Microseconds())/float64(b.N)/1000, "ms/session-new")
			b.ReportMetric(float64(rss)/float64(b.N)/1024, "MiB-resident")
		})
	}
}

// residentKiB is a process's resident memory, 0 where that cannot be read.
func residentKiB(pid int) int { return memoryKiB(pid, "VmRSS") }

// memoryKiB is a field of a process's status.
func memoryKiB(pid int, field string) int {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	var kib int
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			_, _ = fmt.Sscan(rest, &kib)
		}
	}
	return kib
}

// BenchmarkTurn measures whole turns in one session: a prompt answered in words,
// and one with a read of a small file, from the prompt to its answer.
func BenchmarkTurn(b *testing.B) {
	dir := b.TempDir()
	write(b, filepath.Join(dir, "a.txt"), "alpha\n")
	for name, text := range map[string]string{"say": "/say hello", "read": tool("read", map[string]any{"file_path": "a.txt"})} {
		b.Run(name, func(b *testing.B) {
			a := spawn(b, dir, bin, "--model", "local")
			defer a.stop()
			a.ask(b, 1, "initialize", `{"protocolVersion":1}`)
			f := a.ask(b, 2, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, dir))
			var r struct{ SessionID string }
			if err := json.Unmarshal(f.Result, &r); err != nil {
				b.Fatal(err)
			}
			params, err := json.Marshal(textPrompt(r.SessionID, text))
			if err != nil {
				b.Fatal(err)
			}
			id := 2
			for b.Loop() {
				id++
				a.ask(b, id, "session/prompt", string(params))
			}
		})
	}
}

// BenchmarkFrames measures how many small requests a second are answered over
// the pipes of the running program.
func BenchmarkFrames(b *testing.B) {
	dir := b.TempDir()
	a := spawn(b, dir, bin, "--model", "local")
	defer a.stop()
	a.ask(b, 1, "initialize", `{"protocolVersion":1}`)
	go func() {
		w := bufio.NewWriterSize(a.in, 1<<16)
		for i := range b.N {
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%d,"method":"no/such","params":{}}`+"\n", i+2)
		}
		_ = w.Flush()
	}()
	b.ResetTimer()
	for range b.N {
		if _, err := a.out.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
}
