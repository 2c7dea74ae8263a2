package wire

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
)

var update = flag.Bool("update", false, "write the server sections of the transcripts")

// scripted is what the transcripts talk to.
func scripted(_ context.Context, c *Conn, req *Request) {
	switch req.Method {
	case "echo":
		_ = req.Reply(req.Params)
	case "boom":
		panic("boom")
	case "note":
		_ = c.Notify("noted", req.Params)
	case "hang":
		Go(req, func(ctx context.Context) (any, error) { <-ctx.Done(); return nil, ctx.Err() })
	default:
		_ = req.ReplyError(protocol.MethodNotFound(req.Method))
	}
}

// TestTranscripts plays testdata/transcripts: the client section line by line
// (raw and a Go string: those bytes and nothing else; wait: until an answer to
// something has come that is not answered at once), then the end of input; all
// that was written has to be the server section.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if len(archive.Files) != 2 || archive.Files[0].Name != "client" || archive.Files[1].Name != "server" {
				t.Fatal("a transcript has a client and a server section")
			}
			opts := Options{Logger: slog.New(slog.DiscardHandler)}
			if head, ok := strings.CutPrefix(string(archive.Comment), "max-line: "); ok {
				n, _, _ := strings.Cut(head, "\n")
				if opts.MaxLine, err = strconv.Atoi(n); err != nil {
					t.Fatal(err)
				}
			}
			got := play(t, string(archive.Files[0].Data), opts)
			if *update {
				archive.Files[1].Data = []byte(got)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if want := string(archive.Files[1].Data); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

func play(t *testing.T, client string, opts Options) string {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	c := Serve(t.Context(), inR, outW, HandlerFunc(scripted), opts)
	var got strings.Builder
	lines := make(chan string, 1000)
	read := make(chan struct{})
	go func() {
		defer close(read)
		r := bufio.NewReader(outR)
		for {
			line, err := r.ReadString('\n')
			got.WriteString(line)
			if err != nil {
				return
			}
			lines <- line
		}
	}()
	for line := range strings.Lines(client) {
		text := strings.TrimSuffix(line, "\n")
		switch raw, isRaw := strings.CutPrefix(text, "raw "); {
		case isRaw:
			s, err := strconv.Unquote(raw)
			if err != nil {
				t.Fatalf("%s: %v", raw, err)
			}
			line = s
		case text == "wait":
			for answer := range lines {
				if strings.Contains(answer, fmt.Sprint(protocol.CodeCancelled)) {
					break
				}
			}
			continue
		}
		if _, err := io.WriteString(inW, line); err != nil {
			t.Fatal(err)
		}
	}
	_ = inW.Close()
	<-c.Done()
	if err := c.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	<-read
	return got.String()
}
