package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
)

// FuzzFrames sends arbitrary bytes, cut into writes of arbitrary size, and a
// good request behind them: it is answered, within a bound, and every line that
// came out is a JSON-RPC message.
func FuzzFrames(f *testing.F) {
	files, _ := filepath.Glob("testdata/transcripts/*.txtar")
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(txtar.Parse(raw).Files[0].Data) {
			f.Add(line, uint8(7))
		}
	}
	f.Add([]byte("{\"id\":0,\"result\":[1]}\n{\"id\":0,\"error\":3}\n"), uint8(255))
	f.Add(bytes.Repeat([]byte("["), 5000), uint8(0))
	f.Fuzz(func(t *testing.T, data []byte, step uint8) {
		inR, inW := io.Pipe()
		outR, outW := io.Pipe()
		c := Serve(context.Background(), inR, outW, HandlerFunc(scripted),
			Options{MaxLine: 4096, Logger: slog.New(slog.DiscardHandler)})
		timer := time.AfterFunc(2*patience, func() { panic("the connection hangs") })
		defer timer.Stop()

		lines := make(chan []byte)
		go func() {
			defer close(lines)
			r := bufio.NewReader(outR)
			for {
				line, err := r.ReadBytes('\n')
				if err != nil {
					return
				}
				lines <- line
			}
		}()
		called := make(chan struct{})
		go func() { // whose answer the data may hold
			defer close(called)
			_, _ = c.Call(context.Background(), "call", nil)
		}()
		go func() {
			all := append(bytes.Clone(data), "\n{\"id\":\"sentinel\",\"method\":\"echo\",\"params\":{\"n\":1}}\n"...)
			for len(all) > 0 {
				n := min(int(step)+1, len(all))
				if _, err := inW.Write(all[:n]); err != nil {
					return
				}
				all = all[n:]
			}
			_ = inW.Close()
			<-c.Done()
			_ = c.Wait(context.Background())
			<-called
			_ = c.Close()
		}()

		answered := false
		for line := range lines {
			var m struct {
				Version string `json:"jsonrpc"`
				Method  string
				ID      json.RawMessage
				Result  json.RawMessage
				Error   *protocol.Error
			}
			if err := json.Unmarshal(line, &m); err != nil || m.Version != "2.0" {
				t.Errorf("wrote %q: %v", line, err)
			}
			kinds := 0
			for _, is := range []bool{m.Method != "", m.Result != nil, m.Error != nil} {
				if is {
					kinds++
				}
			}
			if kinds != 1 {
				t.Errorf("wrote %q, which is no message", line)
			}
			if string(m.ID) == `"sentinel"` && string(m.Result) == `{"n":1}` {
				answered = true
			}
		}
		if !answered {
			t.Error("the request behind the data was not answered")
		}
	})
}
