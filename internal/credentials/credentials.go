// Package credentials finds the key of a model provider: in the environment, in
// the store that `dsh-acp login` writes, or from a command. A key is never part
// of an error, and nothing here logs.
package credentials

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

// ErrNone: there is no key for the provider anywhere.
var ErrNone = errors.New("no key")

// ErrLoggedOut: somebody logged out, and nobody has logged in again since.
var ErrLoggedOut = errors.New("logged out")

// Store is the file that keeps keys, by provider. Its mode is 0600.
type Store struct{ path string }

// NewStore returns the store in a file; nothing is read before it is needed.
func NewStore(path string) *Store { return &Store{path: path} }

// Path is the store's file.
func (s *Store) Path() string { return s.path }

// Get reads a provider's key; "" when it has none. A store that others can read
// is refused: the key in it may be known to them.
func (s *Store) Get(provider string) (string, error) {
	keys, err := s.read()
	return keys[provider], err
}

// Set stores a provider's key; an empty one removes it. The file is replaced as a
// whole, so that an interruption leaves the old one.
func (s *Store) Set(provider, key string) error {
	keys, err := s.read()
	if err != nil {
		return err
	}
	if keys == nil {
		keys = map[string]string{}
	}
	if key == "" {
		delete(keys, provider)
	} else {
		keys[provider] = key
	}
	data, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(s.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(dir, ".credentials-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(append(data, '\n'))
	err = errors.Join(err, tmp.Sync(), tmp.Close())
	if err == nil {
		err = os.Rename(tmp.Name(), s.path)
	}
	if err != nil {
		_ = os.Remove(tmp.Name())
	}
	return err
}

func (s *Store) read() (map[string]string, error) {
	info, err := os.Stat(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if exposed(info.Mode()) {
		return nil, fmt.Errorf("others can read %s: make it private (chmod 600) and, if they may have read it, get a new key", s.path)
	}
	data, err := os.ReadFile(s.path)
	if err != nil {
		return nil, err
	}
	var keys map[string]string
	if err := json.Unmarshal(data, &keys); err != nil {
		// The decoder's text could quote the file, and so a key.
		return nil, fmt.Errorf("%s is not a file that this program wrote: remove it and log in again", s.path)
	}
	return keys, nil
}

// Source finds one provider's key. The environment wins over the store, the
// store over the command.
type Source struct {
	Provider string
	EnvName  string              // "" when the provider has no variable
	Env      func(string) string // nil means os.Getenv
	Store    *Store              // nil: none
	// Command prints the key on its first line; nil: none. It runs once, when a
	// key is first wanted.
	Command func(context.Context) (string, error)
	// Guard learns each key that is found, those of other providers in the store
	// among them; nil: nobody does.
	Guard *Guard

	stored sync.Once
	once   sync.Once
	answer string
	failed error

	loggedOut atomic.Bool
}

// Logout removes the stored key. From then on there is no key, not even one in
// the environment, until LogIn. It concerns this process, and the store.
func (s *Source) Logout() error {
	s.loggedOut.Store(true)
	if s.Store == nil || s.Store.Path() == "" {
		return nil
	}
	if key, err := s.Store.Get(s.Provider); key == "" && err == nil {
		return nil
	}
	return s.Store.Set(s.Provider, "")
}

// LogIn ends what Logout began.
func (s *Source) LogIn() { s.loggedOut.Store(false) }

// Key finds the key now. Errors: ErrNone, wrapped with what to do about it, or
// why the store or the command could not be used.
func (s *Source) Key(ctx context.Context) (string, error) {
	key, err := s.find(ctx)
	if s.Guard != nil && key != "" {
		s.Guard.Learn(key)
	}
	if s.Guard != nil && s.Store != nil {
		// The file is where the model may look, whoever wins. What is written to it
		// later is another process's.
		s.stored.Do(func() {
			keys, _ := s.Store.read()
			for _, key := range keys {
				s.Guard.Learn(key)
			}
		})
	}
	return key, err
}

func (s *Source) find(ctx context.Context) (string, error) {
	if s.loggedOut.Load() {
		return "", fmt.Errorf("%w from %s: authenticate again in the editor", ErrLoggedOut, s.Provider)
	}
	env := s.Env
	if env == nil {
		env = os.Getenv
	}
	if s.EnvName != "" {
		if key := strings.TrimSpace(env(s.EnvName)); key != "" {
			return key, nil
		}
	}
	if s.Store != nil {
		key, err := s.Store.Get(s.Provider)
		if key != "" || err != nil {
			return key, err
		}
	}
	if s.Command != nil {
		return s.fromCommand(ctx)
	}
	return "", fmt.Errorf("%w for %s: %s", ErrNone, s.Provider, s.Hint())
}

// Hint says how to give the program a key.
func (s *Source) Hint() string {
	if s.EnvName == "" {
		return "run `dsh-acp login`"
	}
	return "set " + s.EnvName + ", or run `dsh-acp login`"
}

func (s *Source) fromCommand(ctx context.Context) (string, error) {
	s.once.Do(func() {
		out, err := s.Command(ctx)
		if err != nil {
			s.failed = fmt.Errorf("the command of model.api_key_command failed: %w", err)
			return
		}
		line, _, _ := strings.Cut(out, "\n")
		if s.answer = strings.TrimSpace(line); s.answer == "" {
			s.failed = fmt.Errorf("%w for %s: the command of model.api_key_command printed none", ErrNone, s.Provider)
		}
	})
	return s.answer, s.failed
}
