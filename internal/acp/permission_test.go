package acp

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Whoever is asked reads why, whatever the card of the call shows besides, and a
// diff stays the first piece of content.
func TestThePermissionRequestSaysWhy(t *testing.T) {
	old, text := "old", content.Text("Build everything")
	described := []cards.ToolContent{{Block: &text}}
	for name, call := range map[string]cards.ToolCall{
		"an empty card":       {ID: "c", Title: "x"},
		"a described card":    {ID: "c", Title: "make", Content: described},
		"a diff":              {ID: "c", Title: "Edit a", Content: []cards.ToolContent{{Diff: &cards.FileDiff{Path: "/w/a", OldText: &old, NewText: "new"}}}},
		"a call of a program": {ID: "c/1", ParentID: "c", Title: "make", Content: described},
	} {
		const why = "escalate sandbox to danger-full-access: it installs a package"
		raw, err := json.Marshal(permissionCall(call, jsonvalue.Object(), why))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Content []struct {
				Type    string
				Content struct{ Text string }
			}
		}
		if err := json.Unmarshal(raw, &got); err != nil {
			t.Fatal(err)
		}
		if len(got.Content) != len(call.Content)+1 || got.Content[len(call.Content)].Content.Text != why {
			t.Errorf("%s: the request does not end with the reason: %s", name, raw)
		}
		if strings.Contains(name, "diff") && got.Content[0].Type != "diff" {
			t.Errorf("%s: begins with %s", name, got.Content[0].Type)
		}
	}
}
