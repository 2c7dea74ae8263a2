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
that is no terminal; of a line such as NAME="KEY" the key alone is taken. A key
in the environment still wins over the stored one.

  --remove           forget the stored key
  --model PROVIDER   for this provider: deepseek, openai or anthropic
`

func runLogin(ctx context.Context, e env, args []string) error {
	f := newFlags("login")
	remove := f.Bool("remove", false, "")
	if err := f.parse(args, 0); err != nil {
		return err
	}
	return login(ctx, e, f.options, *remove)
}

// login stores a key, or removes the stored one.
func login(ctx context.Context, e env, options config.Options, remove bool) error {
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
	var key, around string
	if !remove {
		if key, around, err = readKey(ctx, e, provider); err != nil {
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
		if around != "" {
			fmt.Fprintf(e.stdout, "%s was not stored.\n", around)
		}
	}
	if os.Getenv(cfg.Model.APIKeyEnv) != "" {
		fmt.Fprintf(e.stdout, "%s is set and wins over it.\n", cfg.Model.APIKeyEnv)
	}
	return nil
}

// readKey reads a key without ever printing it, and says what was left out
// around it.
func readKey(ctx context.Context, e env, provider string) (key, around string, err error) {
	var line string
	if fd := int(e.stdin.Fd()); term.IsTerminal(fd) {
		fmt.Fprintf(e.stderr, "Key for %s (not shown): ", provider)
		raw, err := readHidden(ctx, fd)
		fmt.Fprintln(e.stderr)
		if err != nil {
			return "", "", err
		}
		line = string(raw)
	} else {
		text, err := bufio.NewReader(io.LimitReader(e.stdin, maxKey+2)).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return "", "", err
		}
		line = text
	}
	key, around = pasted(line)
	switch {
	case key == "":
		return "", "", errors.New("no key was given")
	case len(key) > maxKey:
		return "", "", errors.New("that is no key: it is too long")
	}
	if key[0] == '$' {
		return "", "", errors.New("that is no key but the name of a variable: paste what it is set to")
	}
	if strings.ContainsAny(key, "\"'`<>") || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", "", errors.New("that is no key: it holds blanks, quotation marks or characters that no key has; paste the key alone, or NAME=KEY")
	}
	return key, around, nil
}

// maxKey is the length of the longest key that is taken, in bytes.
const maxKey = 8 << 10

// readHidden reads a line without showing it. When ctx ends first, as it does
// for Ctrl-C, the terminal is set back and the reader left behind: the program is
// about to end.
func readHidden(ctx context.Context, fd int) ([]byte, error) {
	before, err := term.GetState(fd)
	if err != nil {
		return nil, err
	}
	type answer struct {
		line []byte
		err  error
	}
	got := make(chan answer, 1)
	go func() {
		line, err := term.ReadPassword(fd)
		got <- answer{line, err}
	}()
	select {
	case a := <-got:
		return a.line, a.err
	case <-ctx.Done():
		_ = term.Restore(fd, before)
		return nil, errors.New("interrupted; no key was stored")
	}
}
