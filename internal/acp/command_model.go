package acp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// modelListWait is how long /model waits for the lists of the providers.
const modelListWait = 5 * time.Second

// modelCommand tells the models, or switches to one.
func modelCommand() Command {
	return Command{model.Command{Name: "model", Description: "List the models, or switch to one", Hint: "[name]"}, runModel}
}

func runModel(ctx context.Context, s *agent.Session, args string) (CommandAnswer, error) {
	wait, cancel := context.WithTimeout(ctx, modelListWait)
	s.Catalogue().Fetch(wait)
	cancel()
	lists := s.Models()
	name := strings.TrimSpace(args)
	if name == "" {
		return CommandAnswer{Text: modelList(s.Settings(), lists)}, nil
	}
	found := findModels(lists, name)
	switch len(found) {
	case 0:
		return CommandAnswer{}, fmt.Errorf("no model is called %q; /model lists them", name)
	case 1:
		if err := s.SetModel(found[0].provider, found[0].info.ID); err != nil {
			return CommandAnswer{}, err
		}
		return CommandAnswer{Text: "The model is now " + found[0].String() + " (applies from the next step)."}, nil
	}
	names := make([]string, 0, len(found))
	for _, f := range found[:min(len(found), 10)] {
		names = append(names, f.String())
	}
	return CommandAnswer{}, fmt.Errorf("%q could be %s: say more of the name", name, strings.Join(names, ", "))
}

// modelRef is a model at its provider.
type modelRef struct {
	provider string
	info     model.Info
}

func (r modelRef) String() string {
	id := r.info.ID
	if id == "" { // a provider that chooses the model itself
		id = modeDefault
	}
	return r.provider + "/" + id
}

// findModels finds the models that a person may mean: those of exactly that
// name, else those whose name contains it, however it is written.
func findModels(lists []agent.ProviderModels, name string) []modelRef {
	name = strings.ToLower(name)
	var exact, within []modelRef
	for _, l := range lists {
		for _, m := range l.Models {
			r := modelRef{l.Provider, m}
			words := []string{strings.ToLower(m.ID), strings.ToLower(m.Title()), strings.ToLower(r.String())}
			switch {
			case words[0] == name || words[1] == name || words[2] == name:
				exact = append(exact, r)
			case strings.Contains(words[2], name) || strings.Contains(words[1], name):
				within = append(within, r)
			}
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return within
}

func modelList(set agent.Settings, lists []agent.ProviderModels) string {
	var b strings.Builder
	b.WriteString("Models (switch with `/model NAME`):\n")
	for _, l := range lists {
		for _, m := range l.Models {
			fmt.Fprintf(&b, "\n- `%s`", modelRef{l.Provider, m})
			if m.ContextWindow > 0 {
				fmt.Fprintf(&b, ", %s tokens", thousands(m.ContextWindow))
			}
			if m.Images {
				b.WriteString(", takes images")
			}
			if l.Provider == set.Provider && m.ID == set.Model {
				b.WriteString(" (current)")
			}
		}
	}
	return b.String()
}

// thousands writes a count of tokens for people: 128k, 1M.
func thousands(n int64) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 < 100_000:
		return fmt.Sprintf("%dM", n/1_000_000)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}
