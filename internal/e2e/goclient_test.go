package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

// goClient is a client made with another implementation of the protocol, so that
// a misreading of it that our own client shares is seen.
type goClient struct {
	permit string // the beginning of the kind of option to choose, "" to dismiss

	mu      sync.Mutex
	updates []acp.SessionUpdate
	asked   int
	read    []string // base names
	written []string
}

func (c *goClient) choose(permit string) { c.mu.Lock(); defer c.mu.Unlock(); c.permit = permit }

// shown counts the updates.
func (c *goClient) shown() int { c.mu.Lock(); defer c.mu.Unlock(); return len(c.updates) }

// RequestPermission chooses an option.
func (c *goClient) RequestPermission(_ context.Context, p acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked++
	for _, o := range p.Options {
		if c.permit != "" && strings.HasPrefix(string(o.Kind), c.permit) {
			return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeSelected(o.OptionId)}, nil
		}
	}
	return acp.RequestPermissionResponse{Outcome: acp.NewRequestPermissionOutcomeCancelled()}, nil
}

// SessionUpdate keeps an update.
func (c *goClient) SessionUpdate(_ context.Context, p acp.SessionNotification) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.updates = append(c.updates, p.Update)
	return nil
}

// ReadTextFile reads from the disk.
func (c *goClient) ReadTextFile(_ context.Context, p acp.ReadTextFileRequest) (acp.ReadTextFileResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.read = append(c.read, filepath.Base(p.Path))
	b, err := os.ReadFile(p.Path)
	return acp.ReadTextFileResponse{Content: string(b)}, err
}

// WriteTextFile writes to the disk.
func (c *goClient) WriteTextFile(_ context.Context, p acp.WriteTextFileRequest) (acp.WriteTextFileResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.written = append(c.written, filepath.Base(p.Path))
	return acp.WriteTextFileResponse{}, os.WriteFile(p.Path, []byte(p.Content), 0o644)
}

// CreateTerminal is not offered, nor are the other terminal methods.
func (*goClient) CreateTerminal(context.Context, acp.CreateTerminalRequest) (acp.CreateTerminalResponse, error) {
	return acp.CreateTerminalResponse{}, acp.NewMethodNotFound("terminal/create")
}

// KillTerminal is not offered.
func (*goClient) KillTerminal(context.Context, acp.KillTerminalRequest) (acp.KillTerminalResponse, error) {
	return acp.KillTerminalResponse{}, acp.NewMethodNotFound("terminal/kill")
}

// TerminalOutput is not offered.
func (*goClient) TerminalOutput(context.Context, acp.TerminalOutputRequest) (acp.TerminalOutputResponse, error) {
	return acp.TerminalOutputResponse{}, acp.NewMethodNotFound("terminal/output")
}

// ReleaseTerminal is not offered.
func (*goClient) ReleaseTerminal(context.Context, acp.ReleaseTerminalRequest) (acp.ReleaseTerminalResponse, error) {
	return acp.ReleaseTerminalResponse{}, acp.NewMethodNotFound("terminal/release")
}

// WaitForTerminalExit is not offered.
func (*goClient) WaitForTerminalExit(context.Context, acp.WaitForTerminalExitRequest) (acp.WaitForTerminalExitResponse, error) {
	return acp.WaitForTerminalExitResponse{}, acp.NewMethodNotFound("terminal/wait_for_exit")
}

// calls gives the titles of the calls and how each ended.
func (c *goClient) calls() (titles []string, ends []acp.ToolCallStatus) {
	c.mu.Lock()
	defer c.mu.Unlock()
	at := map[acp.ToolCallId]int{}
	for _, u := range c.updates {
		switch {
		case u.ToolCall != nil:
			at[u.ToolCall.ToolCallId] = len(titles)
			titles = append(titles, u.ToolCall.Title)
			ends = append(ends, u.ToolCall.Status)
		case u.ToolCallUpdate != nil && u.ToolCallUpdate.Status != nil:
			ends[at[u.ToolCallUpdate.ToolCallId]] = *u.ToolCallUpdate.Status
		}
	}
	return titles, ends
}

// connect starts the agent, whose pipes and process c holds, and does the
// handshake with the other implementation.
func (c *goClient) connect(t *testing.T, cwd string) (*acp.ClientSideConnection, acp.SessionId) {
	t.Helper()
	in, out := startPipes(t, cwd)
	conn := acp.NewClientSideConnection(c, in, out)
	init, err := conn.Initialize(t.Context(), acp.InitializeRequest{
		ProtocolVersion:    acp.ProtocolVersionNumber,
		ClientCapabilities: acp.ClientCapabilities{Fs: acp.FileSystemCapabilities{ReadTextFile: true, WriteTextFile: true}},
	})
	if err != nil || init.ProtocolVersion != 1 || !init.AgentCapabilities.LoadSession {
		t.Fatalf("%+v, %v", init, err)
	}
	s, err := conn.NewSession(t.Context(), acp.NewSessionRequest{Cwd: cwd, McpServers: []acp.McpServer{}})
	if err != nil || s.SessionId == "" || s.Modes == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	return conn, s.SessionId
}

func TestGoClient(t *testing.T) {
	cwd := t.TempDir()
	write(t, filepath.Join(cwd, "a.txt"), "one\n")
	c := &goClient{permit: "allow_once"}
	conn, s := c.connect(t, cwd)
	prompt := func(text string) (acp.PromptResponse, error) {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return conn.Prompt(ctx, acp.PromptRequest{SessionId: s, Prompt: []acp.ContentBlock{acp.TextBlock(text)}})
	}

	t.Run("a turn with tools, files and a permission", func(t *testing.T) {
		r, err := prompt(readA + "\n/then\n" + tool("edit", editOf("one", "two")) + "\n/then\n" + bashPrompt)
		if err != nil || r.StopReason != acp.StopReasonEndTurn {
			t.Fatalf("%+v, %v", r, err)
		}
		titles, ends := c.calls()
		if len(titles) != 3 || titles[0] != "Read a.txt" || ends[0] != acp.ToolCallStatusCompleted || ends[1] != acp.ToolCallStatusCompleted || ends[2] != acp.ToolCallStatusCompleted {
			t.Errorf("%q ended %q", titles, ends)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if data, _ := os.ReadFile(filepath.Join(cwd, "a.txt")); string(data) != "two\n" || len(c.read) == 0 || len(c.written) != 1 || c.asked == 0 {
			t.Errorf("file %q, read %v, written %v, %d questions", data, c.read, c.written, c.asked)
		}
	})
	t.Run("rejected", func(t *testing.T) {
		c.choose("reject")
		if _, err := prompt(tool("edit", editOf("two", "three"))); err != nil {
			t.Fatal(err)
		}
		if _, ends := c.calls(); ends[len(ends)-1] != acp.ToolCallStatusFailed {
			t.Errorf("ended %q", ends)
		}
	})
	t.Run("dismissed", func(t *testing.T) {
		c.choose("")
		if _, err := prompt(tool("edit", editOf("two", "three"))); err != nil {
			t.Fatal(err)
		}
		if _, ends := c.calls(); ends[len(ends)-1] != acp.ToolCallStatusFailed {
			t.Errorf("ended %q", ends)
		}
		if data, _ := os.ReadFile(filepath.Join(cwd, "a.txt")); string(data) != "two\n" {
			t.Errorf("file %q", data)
		}
	})
	t.Run("cancelled", func(t *testing.T) {
		before := c.shown()
		ctx, over := context.WithCancel(t.Context())
		var canceller sync.WaitGroup
		defer canceller.Wait()
		defer over()
		canceller.Go(func() {
			for c.shown() == before && ctx.Err() == nil { // until the turn runs
				time.Sleep(time.Millisecond)
			}
			_ = conn.Cancel(ctx, acp.CancelNotification{SessionId: s})
		})
		if r, err := prompt(slowPrompt); err != nil || r.StopReason != acp.StopReasonCancelled {
			t.Errorf("%+v, %v", r, err)
		}
	})
	t.Run("an error", func(t *testing.T) {
		if _, err := prompt("/fail no luck"); err == nil || !strings.Contains(err.Error(), "no luck") {
			t.Errorf("%v", err)
		}
	})
	t.Run("settings", func(t *testing.T) {
		if _, err := conn.SetSessionMode(t.Context(), acp.SetSessionModeRequest{SessionId: s, ModeId: "plan"}); err != nil {
			t.Error(err)
		}
		if _, err := conn.SetSessionMode(t.Context(), acp.SetSessionModeRequest{SessionId: s, ModeId: "nowhere"}); err == nil {
			t.Error("an unknown mode was accepted")
		}
	})
}
