package main

import (
	"context"
	"os"

	"github.com/dsh-acp/dsh-acp/internal/acp"
)

var _ acp.AuthBackend = (*app)(nil)

// LogIn looks for the key again, and for the provider's own server in place of a
// gateway if there is one.
func (a *app) LogIn(ctx context.Context) error {
	a.key.LogIn()
	if !a.gateway.Load() {
		return a.CheckAuth(ctx)
	}
	if _, err := a.key.Key(ctx); err != nil {
		return err
	}
	return a.leaveGateway()
}

// leaveGateway asks the server of the provider again.
func (a *app) leaveGateway() error {
	if !a.gateway.Swap(false) {
		return nil
	}
	p, _, err := newProvider(a.cfg, a.key, a.logger)
	if err == nil {
		a.swapProvider(p)
	}
	return err
}

// CanLogout says whether the model's server wants a key.
func (a *app) CanLogout() bool {
	return a.cfg.Model.APIKeyEnv != "" && a.cfg.Model.BaseURL == ""
}

// Logout forgets the stored key and the editor's gateway. The server of the
// provider is asked again from here on, for which there is no key.
func (a *app) Logout(context.Context) error {
	if err := a.leaveGateway(); err != nil {
		return err
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
