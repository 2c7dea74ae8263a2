package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// The bounds of what a server may offer.
const (
	maxTools       = 5_000
	maxPages       = 500
	maxToolName    = 256
	maxDescription = 16 << 10
	maxSchemaBytes = 256 << 10
	maxSchemaDepth = 100
)

// rawTool is a tool as its server describes it.
type rawTool struct {
	name, description string
	input, output     jsonvalue.Value // schemas; output Undefined when there is none
	annotations       jsonvalue.Value
	problem           string // why it cannot be offered; "" when it can
}

// furtherTools stands for what is not read of a list that is too long.
var furtherTools = rawTool{
	name:    "(further tools)",
	problem: fmt.Sprintf("the server lists more than %d tools, or more than %d pages of them", maxTools, maxPages),
}

// equal says whether nothing that the model sees has changed.
func (t rawTool) equal(u rawTool) bool {
	return t.name == u.name && t.description == u.description && t.problem == u.problem &&
		t.input.Equal(u.input) && t.output.Equal(u.output) && t.annotations.Equal(u.annotations)
}

// tools asks for the whole list, page by page.
func (l *link) tools(ctx context.Context) ([]rawTool, error) {
	var out []rawTool
	seen := map[string]bool{}
	cursor := ""
	for page := 0; ; page++ {
		asking, answer := withAnswer(ctx)
		_, err := l.session.ListTools(asking, &mcp.ListToolsParams{Cursor: cursor})
		raw := answer.get()
		if raw == nil {
			if err == nil {
				err = errors.New("the answer could not be read")
			}
			return nil, fmt.Errorf("its tools could not be listed: %w", err)
		}
		// What came is read here, whatever the library thought of it, and every
		// entry by itself.
		var list struct {
			Tools      *[]json.RawMessage `json:"tools"`
			NextCursor any                `json:"nextCursor"`
		}
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, fmt.Errorf("its list of tools is broken: %w", err)
		}
		if list.Tools == nil {
			return nil, errors.New("its list of tools is broken: there is no array \"tools\"")
		}
		for _, t := range *list.Tools {
			if len(out) == maxTools {
				return append(out, furtherTools), nil
			}
			out = append(out, readTool(t))
		}
		cursor, _ = list.NextCursor.(string)
		switch {
		case cursor == "" || seen[cursor]:
			return out, nil
		case page+1 == maxPages:
			return append(out, furtherTools), nil
		}
		seen[cursor] = true
	}
}

// readTool reads one entry of a list. A bad one is kept with its problem.
func readTool(raw json.RawMessage) rawTool {
	v, err := jsonvalue.Parse(raw)
	if err != nil {
		var named struct {
			Name string `json:"name"`
		}
		_ = json.Unmarshal(raw, &named)
		return rawTool{name: cmp.Or(oneLine(named.Name, 60), noName), problem: "its description is broken: " + err.Error()}
	}
	t := rawTool{name: v.GetString("name"), output: v.Get("outputSchema"), annotations: v.Get("annotations")}
	t.description = cmp.Or(v.GetString("description"), v.GetString("title"), t.annotations.GetString("title"))
	if len(t.description) > maxDescription {
		t.description = strings.ToValidUTF8(t.description[:maxDescription], "") + "…"
	}
	switch {
	case !v.IsObject():
		t.name, t.problem = noName, "it is no object"
	case t.name == "":
		t.name, t.problem = noName, "it has no name"
	case len(t.name) > maxToolName:
		t.name, t.problem = oneLine(t.name, 60), fmt.Sprintf("its name has more than %d bytes", maxToolName)
	case v.Get("execution").GetString("taskSupport") == "required":
		t.problem = "it runs only as a task, which is not supported"
	default:
		if t.input, err = inputSchema(v.Get("inputSchema")); err != nil {
			t.problem = "the schema of its arguments cannot be used: " + err.Error()
		}
	}
	return t
}

// noName stands for a tool without a name in messages.
const noName = "(no name)"
