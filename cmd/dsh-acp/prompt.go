package main

import (
	_ "embed" // the system prompt's text

	"github.com/dsh-acp/dsh-acp/internal/registry"
)

//go:embed prompt.md
var identity string

// addPrompt adds what every session's model is told about itself.
func addPrompt(global *registry.Scope) error {
	_, err := global.AddSection(registry.Section{
		Name: "identity", Order: registry.OrderIdentity, Verbatim: true, Text: registry.StaticText(identity),
	})
	return err
}
