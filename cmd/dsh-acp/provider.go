package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/credentials"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/anthropic"
	"github.com/dsh-acp/dsh-acp/internal/model/local"
	"github.com/dsh-acp/dsh-acp/internal/model/openai"
	"github.com/dsh-acp/dsh-acp/internal/model/prepare"
	"github.com/dsh-acp/dsh-acp/internal/model/replay"
	"github.com/dsh-acp/dsh-acp/internal/proc"
)

// keyCommandTimeout bounds the command that prints a key.
const keyCommandTimeout = 30 * time.Second

// newProvider makes the provider that the configuration names, and says which of
// its models to use. It asks nobody: a key or a server is looked for when the
// first request comes.
func newProvider(cfg *config.Config, key *credentials.Source, logger *slog.Logger) (model.Provider, string, error) {
	m := cfg.Model
	note := func(session string, n prepare.Note) {
		logger.Info("a model request was adapted", "session", session, "code", n.Code, "note", n.Message)
	}
	header := http.Header{}
	for name, value := range m.Headers {
		header.Set(name, value)
	}
	var images *bool
	if m.Images != "auto" {
		yes := m.Images == "yes"
		images = &yes
	}
	switch m.Provider {
	case "local":
		return local.New(), local.ID, nil
	case "replay":
		name := m.Name
		if name == "" && len(m.Replay.Models) > 0 {
			name = m.Replay.Models[0]
		}
		return replay.New(replay.Config{
			Script: m.Replay.Script, Override: m.Replay.Override, Children: m.Replay.Children, Models: m.Replay.Models,
		}), name, nil
	case "anthropic":
		return anthropic.New(anthropic.Config{
			BaseURL: m.BaseURL, Model: m.Name, APIKey: lateKey(key), KeyHint: keyHint(key), OnNote: note, Header: header,
			ContextWindow: int64(m.ContextWindow), MaxOutput: int64(m.MaxOutput), Images: images, FirstByteTimeout: m.Timeout,
		}), m.Name, nil
	case "deepseek", "openai":
		return openai.New(openai.Config{
			ProviderID: m.Provider, BaseURL: m.BaseURL, Model: m.Name, APIKey: lateKey(key), KeyHint: keyHint(key), OnNote: note, Header: header,
			ContextWindow: int64(m.ContextWindow), MaxOutput: int64(m.MaxOutput), Images: images, FirstByteTimeout: m.Timeout,
		}), m.Name, nil
	}
	return nil, "", fmt.Errorf("model.provider %q is not known", m.Provider)
}

// keyHint says how to give a key; without a source the editor has to.
func keyHint(src *credentials.Source) string {
	if src == nil {
		return "authenticate again in the editor"
	}
	return src.Hint()
}

// keySource says where the configured provider's key comes from.
func keySource(cfg *config.Config, procs *proc.Supervisor) *credentials.Source {
	src := &credentials.Source{
		Provider: cfg.Model.Provider, EnvName: cfg.Model.APIKeyEnv, Store: credentials.NewStore(cfg.CredentialsFile()),
	}
	if words := cfg.Model.APIKeyCommand; len(words) > 0 {
		src.Command = func(ctx context.Context) (string, error) {
			out, err := procs.Run(ctx, proc.Command{Spec: proc.Spec{Args: words, Env: os.Environ()}}, proc.RunOptions{Timeout: keyCommandTimeout})
			switch {
			case err != nil:
				return "", err
			case out.TimedOut:
				return "", fmt.Errorf("%s did not end within %s", words[0], keyCommandTimeout)
			case out.Code != 0:
				return "", fmt.Errorf("%s ended with %s", words[0], out.Exit)
			}
			return out.Stdout.Text, nil
		}
	}
	return src
}

// lateKey looks for the key when a request is made. A server of one's own may
// want none, so a missing key is no error here: a server that wants one says so,
// and the answer tells how to give it.
func lateKey(src *credentials.Source) func() (string, error) {
	if src == nil {
		return nil
	}
	return func() (string, error) {
		key, err := src.Key(context.Background())
		if err != nil && !errors.Is(err, credentials.ErrNone) {
			return "", err
		}
		return key, nil
	}
}
