package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"
)

// measured is an agent with an open session, for measuring.
func measured(b *testing.B, caps string) (*pipeAgent, string) {
	dir := b.TempDir()
	a := spawn(b, dir, bin, "--config", configFile(b, fullAccess))
	b.Cleanup(a.stop)
	a.ask(b, 1, "initialize", `{"protocolVersion":1,"clientCapabilities":`+caps+`}`)
	f := a.ask(b, 2, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, dir))
	var r struct{ SessionID string }
	if err := json.Unmarshal(f.Result, &r); err != nil || r.SessionID == "" {
		b.Fatalf("%v %s", err, f.Result)
	}
	return a, r.SessionID
}

func promptParams(b *testing.B, session, text string) string {
	params, err := json.Marshal(textPrompt(session, text))
	if err != nil {
		b.Fatal(err)
	}
	return string(params)
}

const drawsTerminals = `{"_meta":{"terminal_output":true}}`

// BenchmarkFirstOutput measures from the moment at which a command writes to that
// at which its frame was read from stdout (goal: under 100 ms), for both kinds of
// clients.
func BenchmarkFirstOutput(b *testing.B) {
	if out, err := exec.Command("bash", "-c", "echo $EPOCHREALTIME").Output(); err != nil || len(out) < 10 {
		b.Skip("bash is older than 5.0")
	}
	stamp := regexp.MustCompile(`now ([0-9]+)[.,]([0-9]{6})`)
	for name, caps := range map[string]string{"terminal": drawsTerminals, "content": `{}`} {
		b.Run(name, func(b *testing.B) {
			a, s := measured(b, caps)
			params := promptParams(b, s, runPrompt("echo now $EPOCHREALTIME; sleep 0.15"))
			var delays []float64
			id := 2
			for b.Loop() {
				id++
				fmt.Fprintf(a.in, `{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":%s}`+"\n", id, params)
				seen := false
				for {
					line, err := a.out.ReadBytes('\n')
					if err != nil {
						b.Fatal(err)
					}
					if m := stamp.FindSubmatch(line); m != nil && !seen {
						micros, _ := strconv.ParseInt(string(m[1])+string(m[2]), 10, 64)
						delays, seen = append(delays, float64(time.Now().UnixMicro()-micros)/1000), true
					}
					if bytes.Contains(line, []byte(`"stopReason"`)) {
						break
					}
				}
				if !seen {
					b.Fatal("the output was not shown")
				}
			}
			slices.Sort(delays)
			b.ReportMetric(delays[len(delays)/2], "ms/median")
			b.ReportMetric(delays[len(delays)-1], "ms/worst")
		})
	}
}

// BenchmarkBigOutput measures a command that prints a gigabyte: how fast that
// goes beside the same command into a pipe that is only read, how much memory the
// agent needs more at its peak than before (goal: under 40 MiB), and how many
// bytes the client is sent.
func BenchmarkBigOutput(b *testing.B) {
	const size = 1_000_000_000
	command := fmt.Sprintf("yes 'a line of output that goes on and on, as compilers like to do' | head -c %d", size)
	for name, caps := range map[string]string{"terminal": drawsTerminals, "content": `{}`} {
		b.Run(name, func(b *testing.B) {
			var with, bare time.Duration
			var extra, sent int
			id := 2
			for b.Loop() {
				a, s := measured(b, caps)
				a.ask(b, 3, "session/prompt", promptParams(b, s, runPrompt("echo warm")))
				before := memoryKiB(a.cmd.Process.Pid, "VmHWM")
				begin := time.Now()
				id++
				fmt.Fprintf(a.in, `{"jsonrpc":"2.0","id":%d,"method":"session/prompt","params":%s}`+"\n", id+100, promptParams(b, s, runPrompt(command)))
				for done := false; !done; {
					line, err := a.out.ReadBytes('\n')
					if err != nil {
						b.Fatal(err)
					}
					sent += len(line)
					done = bytes.Contains(line, []byte(`"stopReason"`))
				}
				with += time.Since(begin)
				extra = max(extra, memoryKiB(a.cmd.Process.Pid, "VmHWM")-before)
				begin = time.Now()
				if err := exec.Command("bash", "-c", command+" | cat >/dev/null").Run(); err != nil {
					b.Fatal(err)
				}
				bare += time.Since(begin)
			}
			mb := func(d time.Duration) float64 { return float64(b.N) * size / 1e6 / d.Seconds() }
			b.ReportMetric(mb(with), "MB/s")
			b.ReportMetric(mb(bare), "MB/s-bare")
			b.ReportMetric(float64(extra)/1024, "MiB-extra-peak")
			b.ReportMetric(float64(sent)/float64(b.N)/1024, "KiB-sent")
		})
	}
}

func configFile(b *testing.B, text string) string {
	path := b.TempDir() + "/test.yaml"
	write(b, path, text)
	return path
}
