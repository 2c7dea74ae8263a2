package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dsh-acp/dsh-acp/internal/elicit"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
)

// connected makes a server of this process a ready server of the session, over
// pipes in memory, so that clocks can be tested in a bubble of their own time.
func (w *world) connected(c Config, s *mcp.Server) {
	w.t.Helper()
	v := newServer(w.mcp, c.normal())
	l := &link{relist: make(chan struct{}, 1), gone: make(chan struct{})}
	l.life, l.end = context.WithCancel(context.Background())
	ours, theirs := mcp.NewInMemoryTransports()
	other, err := s.Connect(l.life, theirs, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	if l.session, err = v.client(l).Connect(l.life, tappedTransport{ours}, &mcp.ClientSessionOptions{ProtocolVersion: handshake}); err != nil {
		w.t.Fatal(err)
	}
	tools, err := l.tools(l.life)
	if err != nil {
		w.t.Fatal(err)
	}
	v.offer(tools)
	v.link = l
	v.set(Ready, nil)
	w.t.Cleanup(func() {
		_ = l.session.Close()
		_ = other.Wait()
		l.end()
	})
}

func said(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}
}

// Signs of life keep a call alive that takes longer than its limit; without
// them it ends at the limit. Those that come too fast are not all shown.
func TestSignsOfLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		report := func(pause time.Duration) mcp.ToolHandlerFor[map[string]any, any] {
			return func(ctx context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
				for i := range 4 {
					err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
						ProgressToken: req.Params.GetProgressToken(), Progress: float64(i + 1), Total: 4, Message: "part",
					})
					if err != nil {
						return nil, nil, err
					}
					time.Sleep(pause)
				}
				return said("done"), nil, nil
			}
		}
		mcp.AddTool(s, &mcp.Tool{Name: "steady"}, report(350*time.Millisecond))
		mcp.AddTool(s, &mcp.Tool{Name: "hasty"}, report(150*time.Millisecond))
		mcp.AddTool(s, &mcp.Tool{Name: "late"}, report(450*time.Millisecond))
		w := newWorld(t)
		w.connected(Config{Name: "s", URL: "http://localhost", CallTimeout: 400 * time.Millisecond}, s)

		for name, want := range map[string]struct {
			after time.Duration
			shown string
		}{
			"steady": {1400 * time.Millisecond, "1 2 3 4"},
			"hasty":  {600 * time.Millisecond, "1 3"},
			"late":   {400 * time.Millisecond, "1"},
		} {
			w.events = nil
			began := time.Now()
			r := w.call("mcp__s__"+name, `{}`)
			if took := time.Since(began); took != want.after {
				t.Errorf("%s took %s, want %s", name, took, want.after)
			}
			if name == "late" {
				if r.ErrorInfo().Code != pipeline.CodeToolTimeout || !strings.Contains(r.Text(), "timed out after 400ms without a sign of life") {
					t.Errorf("%s: %+v", name, r.ErrorInfo())
				}
			} else if r.IsError() || r.Text() != "done" {
				t.Errorf("%s: %s", name, r.Text())
			}
			var shown []string
			w.mu.Lock()
			for _, e := range w.events {
				_, number, _ := strings.Cut(e, `mcp/progress {"callId":"c","progress":`)
				shown = append(shown, strings.TrimSuffix(number, `,"total":4,"message":"part"}`))
			}
			w.mu.Unlock()
			if got := strings.Join(shown, " "); got != want.shown {
				t.Errorf("%s: %q is shown, want %q", name, got, want.shown)
			}
		}
	})
}

// The clock of a call stands still while a person thinks, and goes on after.
func TestClockStandsStillForAQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
		mcp.AddTool(s, &mcp.Tool{Name: "ask"}, func(ctx context.Context, req *mcp.CallToolRequest, _ map[string]any) (*mcp.CallToolResult, any, error) {
			r, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: "Who?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)})
			if err != nil {
				return nil, nil, err
			}
			if r.Content["name"] == "slow" {
				<-ctx.Done()
			}
			return said(r.Action), nil, nil
		})
		w := newWorld(t)
		w.connected(Config{Name: "s", URL: "http://localhost", CallTimeout: 300 * time.Millisecond}, s)
		for _, name := range []string{"Ada", "slow"} {
			w.form = func(context.Context, elicit.Form) (map[string]json.RawMessage, error) {
				time.Sleep(30 * time.Second)
				return map[string]json.RawMessage{"name": json.RawMessage(`"` + name + `"`)}, nil
			}
			began := time.Now()
			r := w.callContext(context.Background(), "mcp__s__ask", `{}`)
			took := time.Since(began)
			if name == "Ada" && (took != 30*time.Second || r.Text() != "accept") {
				t.Errorf("%s after %s", r.Text(), took)
			}
			if name == "slow" && (took != 30*time.Second+300*time.Millisecond || r.ErrorInfo().Code != pipeline.CodeToolTimeout) {
				t.Errorf("%s after %s", r.Text(), took)
			}
		}
	})
}
