package codemode

import (
	_ "embed" // the description the model reads
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/codemode/render"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

//go:embed run_code.md
var description string

const (
	codeHelp        = "The program: the body of an async function, in TypeScript."
	descriptionHelp = `What the program does, for the person who watches: active voice, five to ten words, such as "Count the TODO comments in each package", "Rename the option in all callers" or "Find the tests that are skipped".`
)

// Definition is the tool run_code. It is exclusive and has no time budget of its
// own beside the runtime's (rules C2.1 to C2.4, decision 20).
func (t *Transport) Definition() registry.Definition {
	return registry.Definition{
		Name:        registry.RunCode,
		Description: strings.TrimSpace(description),
		Parameters: schema.Params{
			{Name: "code", Required: true, Spec: schema.Spec{Type: "string", Description: codeHelp}},
			{Name: "description", Spec: schema.Spec{Type: "string", Description: descriptionHelp}},
		},
		Output:      registry.Output{Schema: outputSchema, Render: renderOutput},
		Execute:     t.execute,
		PresentCall: presentCall,
	}
}

// outputSchema is {logs, result?}, closed: an absent result is a program that
// returned nothing (rule C2.3).
var outputSchema = jsonvalue.MustFromGo(map[string]any{
	"type":                 "object",
	"additionalProperties": false,
	"required":             []any{"logs"},
	"properties": map[string]any{
		"logs":   map[string]any{"type": "array", "items": map[string]any{"type": "string"}},
		"result": map[string]any{},
	},
})

// renderOutput is the text that the model reads (rule C6.1).
func renderOutput(_, value jsonvalue.Value) ([]content.Block, error) {
	list := value.Get("logs")
	logs := make([]string, 0, list.Len())
	for _, l := range list.Elements() {
		s, _ := l.Str()
		logs = append(logs, s)
	}
	return []content.Block{content.Text(render.Text(logs, value.Get("result")))}, nil
}

// presentCall is the card: the model's description as its title, else the
// program (decision 20), and the program as its content.
func presentCall(args jsonvalue.Value) *cards.Call {
	code := args.GetString("code")
	title := strings.TrimSpace(args.GetString("description"))
	if title == "" {
		title = code
	}
	return &cards.Call{
		Card: cards.Generic, Title: title, Kind: cards.KindExecute,
		RawInput: jsonvalue.String(code),
		Content:  []content.Block{content.Text(cards.Fence("ts", code))},
	}
}
