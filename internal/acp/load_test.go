package acp

import (
	"context"
	"encoding/json"
	"strconv"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// A client that cancels the loading of a session is shown no more of it, and can
// load it later.
func TestLoadingCanBeCancelled(t *testing.T) {
	h := newHarness(t, `{}`)
	present := func() {}
	_, err := h.backend.reg.Global().Register(registry.Definition{
		Name: "touch", Description: "Touch.", RawParameters: jsonvalue.MustFromGo(map[string]any{"type": "object"}),
		Output: registry.Output{
			Schema: jsonvalue.MustFromGo(map[string]any{"type": "string"}),
			Render: func(_, _ jsonvalue.Value) ([]content.Block, error) { return nil, nil },
		},
		Execute: func(context.Context, jsonvalue.Value, registry.Run) (jsonvalue.Value, error) {
			return jsonvalue.Value{}, nil
		},
		PresentCall: func(jsonvalue.Value) *cards.Call { present(); return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	says := session.Draft{Type: session.TypeAssistantChunk, Data: session.Data("chunk", model.TextChunk(0, "x").Value())}
	h.backend.before = []session.Draft{
		says,
		{Type: session.TypeToolCall, Data: session.Data("callId", "c", "name", "touch", "arguments", "{}")},
		says,
	}
	h.backend.stored = "stored"
	var closed []string
	h.backend.closed = func(id string) { closed = append(closed, id) }
	params := `{"sessionId":"stored","cwd":` + strconv.Quote(t.TempDir()) + `,"mcpServers":[]}`

	// The client cancels while the call is being shown. The server has read the
	// first of two messages when it takes the second.
	h.mu.Lock()
	id := strconv.Itoa(h.nextID + 1)
	h.mu.Unlock()
	present = func() {
		h.notify("$/cancel_request", `{"requestId":`+id+`}`)
		h.notify("x/none", `{}`)
	}
	f := h.call("session/load", params)
	var fault struct{ Code int }
	if json.Unmarshal(f["error"], &fault) != nil || fault.Code != -32800 {
		t.Errorf("the answer is %s %s", f["result"], f["error"])
	}
	if n := len(h.updates("agent_message_chunk")); n != 1 {
		t.Errorf("%d pieces were shown", n)
	}
	if len(closed) != 1 || closed[0] != "stored" {
		t.Errorf("closed: %q", closed)
	}

	present = func() {}
	if f := h.call("session/load", params); f["error"] != nil {
		t.Errorf("later: %s", f["error"])
	}
	if n := len(h.updates("agent_message_chunk")); n != 3 {
		t.Errorf("%d pieces were shown", n)
	}
}
