package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// writeCatalog writes the catalogue of tools as docs/tool-catalog.md has it.
func writeCatalog(w io.Writer, tools []*registry.Tool) error {
	var b strings.Builder
	b.WriteString("# Tool catalogue\n\nGenerated from the tools themselves (`go test ./cmd/dsh-acp -run Catalog -update`); do not edit.\n" +
		"This is what a model is told, and the canonical value that a Code Mode program gets.\n")
	for _, t := range tools {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n", t.Name(), strings.TrimSpace(t.Description()))
		if d := t.Timeout(); d > 0 {
			fmt.Fprintf(&b, "Budget: %d ms.\n\n", d.Milliseconds())
		}
		fmt.Fprintf(&b, "Parameters:\n\n```json\n%s\n```\n\nValue:\n\n```json\n%s\n```\n",
			t.Parameters().Indent("  "), t.OutputSchema().Indent("  "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
