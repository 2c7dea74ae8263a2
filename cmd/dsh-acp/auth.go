package main

import (
	"context"
	"os"

	"github.com/dsh-acp/dsh-acp/internal/acp"
)

var _ acp.AuthBackend = (*app)(nil)

// LogIn looks for the key again.
func (a *app) LogIn(ctx context.Context) error {
	a.key.LogIn()
	return a.CheckAuth(ctx)
}

// CanLogout says whether the model's server wants a key.
func (a *app) CanLogout() bool {
	return a.cfg.Model.APIKeyEnv != "" && a.cfg.Model.BaseURL == ""
}

// Logout forgets the stored key and the editor's gateway. The server of the
// provider is asked again from here on, for which there is no key.
func (a *app) Logout(context.Context) error {
	if a.gateway.Swap(false) {
		p, _, err := newProvider(a.cfg, a.key, a.logger)
		if err != nil {
			return err
		}
		a.swapProvider(p)
	}
	return a.key.Logout()
}

// LoginCommand stores a key for the provider that this process uses.
func (a *app) LoginCommand() (program string, all, args []string) {
	program, err := os.Executable()
	if err != nil {
		program = "" // then it cannot be started again by name
	}
	args = []string{"login"}
	return program, append(append([]string(nil), os.Args[1:]...), args...), args
}

// GatewayProtocol is what the provider's own server speaks.
func (a *app) GatewayProtocol() string {
	switch a.cfg.Model.Provider {
	case "anthropic":
		return "anthropic"
	case "openai", "deepseek":
		return "openai"
	}
	return ""
}

// UseGateway sends every later model request to a gateway.
func (a *app) UseGateway(baseURL string, headers map[string]string) error {
	if err := a.useGateway(baseURL, headers); err != nil {
		return err
	}
	a.key.LogIn()
	return nil
}
