package main

import (
	"slices"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// TakesImages says whether the configured model takes images, or another one
// that is known to be there.
func (a *app) TakesImages() bool {
	if a.providerErr != nil {
		return false
	}
	if d, ok := a.provider.(model.Describer); ok && d.Describe(a.model).Images {
		return true
	}
	return slices.ContainsFunc(a.catalogue.Known(), func(l agent.ProviderModels) bool {
		return slices.ContainsFunc(l.Models, func(m model.Info) bool { return m.Images })
	})
}
