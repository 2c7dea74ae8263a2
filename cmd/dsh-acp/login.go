package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/credentials"
)

const loginUsage = `usage: dsh-acp login [--remove] [--model PROVIDER]

Stores the key of the configured model provider for this user alone. The key is
read from the terminal without being shown, or from the first line of stdin when
that is no terminal. A key in the environment still wins over the stored one.

  --remove           forget the stored key
  --model PROVIDER   for this provider: deepseek, openai or anthropic
`

func runLogin(_ context.Context, e env, args []string) error {
	f := newFlags("login")
	remove := f.Bool("remove", false, "")
	if err := f.parse(args, 0); err != nil {
		return err
	}
	return login(e, f.options, *remove)
}

// login stores a key, or removes the stored one.
func login(e env, options config.Options, remove bool) error {
	cfg, err := config.Load(options)
	if err != nil {
		return err
	}
	provider := cfg.Model.Provider
	if cfg.Model.APIKeyEnv == "" {
		return fmt.Errorf("the provider %s needs no key", provider)
	}
	if cfg.CredentialsFile() == "" {
		return errors.New("neither HOME nor XDG_STATE_HOME is set: there is no place to keep a key")
	}
	store := credentials.NewStore(cfg.CredentialsFile())
	key := ""
	if !remove {
		if key, err = readKey(e, provider); err != nil {
			return err
		}
	}
	if err := store.Set(provider, key); err != nil {
		return fmt.Errorf("the key could not be stored: %w", err)
	}
	if remove {
		fmt.Fprintf(e.stdout, "The stored key for %s is gone.\n", provider)
	} else {
		fmt.Fprintf(e.stdout, "The key for %s is stored in %s.\n", provider, store.Path())
	}
	if os.Getenv(cfg.Model.APIKeyEnv) != "" {
		fmt.Fprintf(e.stdout, "%s is set and wins over it.\n", cfg.Model.APIKeyEnv)
	}
	return nil
}

// readKey reads a key without ever printing it.
func readKey(e env, provider string) (string, error) {
	var line string
	if fd := int(e.stdin.Fd()); term.IsTerminal(fd) {
		fmt.Fprintf(e.stderr, "Key for %s (not shown): ", provider)
		raw, err := term.ReadPassword(fd)
		fmt.Fprintln(e.stderr)
		if err != nil {
			return "", err
		}
		line = string(raw)
	} else {
		text, err := bufio.NewReader(io.LimitReader(e.stdin, 64<<10)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", err
		}
		line = text
	}
	key := strings.TrimSpace(line)
	if key == "" {
		return "", errors.New("no key was given")
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("that is no key: it holds blanks or characters that no key has")
	}
	return key, nil
}
