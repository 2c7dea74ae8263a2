package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

const toolsUsage = `usage: dsh-acp tools [--json | --markdown] [--mode native | code | both]

Prints every tool as the model sees it: its name, its description and the JSON
Schema of its parameters; under Code Mode also the declarations of what a program
can call. MCP servers are started for it, and those that do not start are named on
stderr.

  --json       one JSON array
  --markdown   with the schemas of parameters and values, as docs/tool-catalog.md
`

func runTools(ctx context.Context, e env, args []string) error {
	f := newFlags("tools")
	asJSON := f.Bool("json", false, "")
	asMarkdown := f.Bool("markdown", false, "")
	if err := f.parse(args, 0); err != nil {
		return err
	}
	cfg, err := config.Load(f.options)
	if err != nil {
		return err
	}
	app, err := newApp(cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer app.close()
	if *asMarkdown {
		return writeCatalog(e.stdout, app.registry.Global().Visible())
	}
	scope, closeServers, err := app.toolsScope(ctx, e)
	if err != nil {
		return err
	}
	defer closeServers()
	prompt, err := scope.Assemble(ctx)
	if err != nil {
		return err
	}
	if err := printTools(e.stdout, prompt.Tools, *asJSON); err != nil || *asJSON {
		return err
	}
	// Under Code Mode the model reads most tools as declarations.
	for _, s := range prompt.Sections {
		if s.Name == "tools:sdk" && s.Text != "" {
			fmt.Fprintf(e.stdout, "\n%s\n", strings.TrimSpace(s.Text))
		}
	}
	return nil
}

// printTools writes the catalogue as text or as one JSON array.
func printTools(w io.Writer, tools []registry.ToolSchema, asJSON bool) error {
	if asJSON {
		type entry struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		}
		list := make([]entry, len(tools))
		for i, t := range tools {
			list[i] = entry{t.Name, t.Description, t.Parameters.JSON()}
		}
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return enc.Encode(list)
	}
	for i, t := range tools {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s\n", t.Name)
		for line := range strings.Lines(strings.TrimSpace(t.Description)) {
			fmt.Fprintf(w, "  %s\n", strings.TrimRight(line, "\n"))
		}
		required := map[string]bool{}
		for _, r := range t.Parameters.Get("required").Elements() {
			name, _ := r.Str()
			required[name] = true
		}
		for name, p := range t.Parameters.Get("properties").Members() {
			typ := p.GetString("type")
			if typ == "" {
				typ = "any"
			}
			if required[name] {
				typ += ", required"
			}
			fmt.Fprintf(w, "    %s (%s)  %s\n", name, typ, p.GetString("description"))
		}
	}
	return nil
}
