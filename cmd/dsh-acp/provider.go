package main

import (
	"fmt"

	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/local"
	"github.com/dsh-acp/dsh-acp/internal/model/replay"
)

// newProvider makes the provider that the configuration names, and says which of
// its models to use.
func newProvider(cfg *config.Config) (model.Provider, string, error) {
	m := cfg.Model
	switch m.Provider {
	case "local":
		return local.New(), local.ID, nil
	case "replay":
		p := replay.New(replay.Config{
			Script: m.Replay.Script, Override: m.Replay.Override, Children: m.Replay.Children, Models: m.Replay.Models,
		})
		name := m.Name
		if name == "" && len(m.Replay.Models) > 0 {
			name = m.Replay.Models[0]
		}
		return p, name, nil
	default:
		return nil, "", fmt.Errorf("model.provider %q is not built into this version; use \"local\" (no model: the prompt is the program) or \"replay\"", m.Provider)
	}
}
