package acp

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
)

// fakeClient answers each request with what answer gives: the members behind
// the id, or "" for no answer.
type fakeClient struct {
	mu     sync.Mutex
	answer string
	lines  []string
}

func (c *fakeClient) say(answer string) { c.mu.Lock(); defer c.mu.Unlock(); c.answer = answer }

func (c *fakeClient) got() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Join(c.lines, "\n")
}

// waitFor waits until the client has got n lines with that text.
func (c *fakeClient) waitFor(t *testing.T, text string, n int) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for strings.Count(c.got(), text) != n {
		if time.Now().After(deadline) {
			t.Fatalf("not %d times %s in:\n%s", n, text, c.got())
		}
		time.Sleep(time.Millisecond)
	}
}

// serveFiles connects a server to a client, and gives the client's files to a
// session.
func serveFiles(t *testing.T, patience time.Duration) (*EditorFiles, *fakeClient) {
	t.Helper()
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	s := NewServer(Options{})
	s.editor.readWait, s.editor.writeWait = patience, patience
	s.conn = wire.Serve(t.Context(), inR, outW, s, wire.Options{})
	c := &fakeClient{}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for lines := bufio.NewScanner(outR); lines.Scan(); {
			var m struct{ ID json.RawMessage }
			_ = json.Unmarshal(lines.Bytes(), &m)
			c.mu.Lock()
			c.lines = append(c.lines, lines.Text())
			answer := c.answer
			c.mu.Unlock()
			if m.ID != nil && answer != "" {
				_, _ = io.WriteString(inW, `{"jsonrpc":"2.0","id":`+string(m.ID)+","+answer+"}\n")
			}
		}
	}()
	t.Cleanup(func() {
		_ = s.conn.Close()
		_ = outW.Close()
		<-done
	})
	return (&EditorFiles{server: s, reads: true, writes: true}).ForSession("s1"), c
}

func TestEditorFilesAnswers(t *testing.T) {
	for _, c := range []struct {
		answer, text, readErr, writeErr string
	}{
		{`"result":{"content":"hello"}`, "hello", "", ""},
		{`"result":{"content":""}`, "", "", ""},
		{`"result":{}`, "", "its answer holds no text", ""},
		{`"result":null`, "", "its answer holds no text", ""},
		{`"result":{"content":7}`, "", "its answer holds no text", ""},
		{`"result":{"error":{"message":"disk full"}}`, "", "its answer holds no text", "it answered: disk full"},
		{`"result":{"error":"disk full"}`, "", "its answer holds no text", "it answered: disk full"},
		{`"result":{"error":null}`, "", "its answer holds no text", ""},
		{`"error":{"code":-32603,"message":"no"}`, "", "it answered: no", "it answered: no"},
	} {
		f, client := serveFiles(t, time.Minute)
		client.say(c.answer)
		text, err := f.ReadTextFile(t.Context(), "/a")
		if text != c.text || errText(err) != c.readErr {
			t.Errorf("%s: read %q, %v", c.answer, text, err)
		}
		if err := f.WriteTextFile(t.Context(), "/a", "x"); errText(err) != c.writeErr {
			t.Errorf("%s: write %v", c.answer, err)
		}
		if !f.Reads() || !f.Writes() {
			t.Errorf("%s: the client is not asked any more", c.answer)
		}
		if !strings.Contains(client.got(), `"params":{"sessionId":"s1","path":"/a","content":"x"}`) {
			t.Errorf("sent:\n%s", client.got())
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A client that never answers is asked twice, then not again; each question is
// withdrawn.
func TestEditorThatNeverAnswers(t *testing.T) {
	synctest.Test(t, neverAnswers)
}

func neverAnswers(t *testing.T) {
	f, client := serveFiles(t, 300*time.Millisecond)
	if _, err := f.ReadTextFile(t.Context(), "/a"); errText(err) != "it did not answer within 300ms" || !f.Reads() {
		t.Errorf("%v, asked again: %v", err, f.Reads())
	}
	// One answer in between counts.
	client.say(`"result":{"content":""}`)
	if _, err := f.ReadTextFile(t.Context(), "/a"); err != nil {
		t.Error(err)
	}
	client.say("")
	_, _ = f.ReadTextFile(t.Context(), "/a")
	if err := f.WriteTextFile(t.Context(), "/a", "x"); err == nil || f.Reads() || f.Writes() || f.ForSession("s2").Reads() {
		t.Errorf("%v; the client is still asked", err)
	}
	client.waitFor(t, "$/cancel_request", 3)
}

func TestEditorThatDoesNotKnowTheMethod(t *testing.T) {
	f, client := serveFiles(t, time.Minute)
	client.say(`"error":{"code":-32601,"message":"Method not found"}`)
	if err := f.WriteTextFile(t.Context(), "/a", "x"); err == nil || f.Writes() || !f.Reads() {
		t.Errorf("%v, writes %v, reads %v", err, f.Writes(), f.Reads())
	}
}

func TestCancelledFileRequest(t *testing.T) {
	synctest.Test(t, cancelledFileRequest)
}

func cancelledFileRequest(t *testing.T) {
	f, client := serveFiles(t, time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	// The request waits for its answer then.
	time.AfterFunc(10*time.Millisecond, cancel)
	if _, err := f.ReadTextFile(ctx, "/a"); err != context.Canceled { //nolint:errorlint // the cause itself
		t.Error(err)
	}
	// It was the turn that ended, not the client's patience.
	if f.server.editor.silent.Load() != 0 {
		t.Error("the client counts as silent")
	}
	client.waitFor(t, "$/cancel_request", 1)
}

func TestNobodyOffersFiles(t *testing.T) {
	var none *EditorFiles
	if f := none.ForSession("s"); f.Reads() || f.Writes() {
		t.Error("files out of nowhere")
	}
}
