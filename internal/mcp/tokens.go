package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/dsh-acp/dsh-acp/internal/filelock"
)

// Logins keeps what logins at http servers gave: one file a server's address,
// readable by this user alone, in a folder of ours. Its zero value keeps nothing.
type Logins struct {
	Dir string

	mu sync.Mutex // one at a time changes something
}

// login is one of them, with what is needed to refresh it.
type login struct {
	URL          string    `json:"url"`
	ClientID     string    `json:"client_id"`
	ClientSecret string    `json:"client_secret,omitempty"`
	TokenURL     string    `json:"token_url"`
	AuthStyle    int       `json:"auth_style,omitempty"`
	Scopes       []string  `json:"scopes,omitempty"`
	AccessToken  string    `json:"access_token"`
	TokenType    string    `json:"token_type,omitempty"`
	RefreshToken string    `json:"refresh_token,omitempty"`
	Expiry       time.Time `json:"expiry,omitzero"`
}

// refreshTimeout bounds the request for a new token.
const refreshTimeout = 30 * time.Second

const (
	// refreshGrace is how long that request goes on when its caller has left.
	refreshGrace = 2 * time.Second
	// lockTimeout is how long another process may be busy with a login.
	lockTimeout = refreshTimeout + 5*time.Second
	lockPause   = 20 * time.Millisecond
)

// path is named after the address, so that a token only ever goes where it came
// from.
func (l *Logins) path(url string) string {
	sum := sha256.Sum256([]byte(url))
	return filepath.Join(l.Dir, hex.EncodeToString(sum[:16])+".json")
}

// Token gives a token for a server, refreshed when it has expired; "" when nobody
// has logged in there. The error says how to log in again.
func (l *Logins) Token(ctx context.Context, c Config) (string, error) {
	if l.Dir == "" || c.URL == "" {
		return "", nil
	}
	in, err := l.read(c)
	if err != nil || in.URL == "" {
		return "", err
	}
	if token := in.token(); token.Valid() {
		return token.AccessToken, nil
	}
	fresh := ""
	err = l.alone(ctx, c.URL, func() (err error) {
		fresh, err = l.renew(ctx, c)
		return err
	})
	return fresh, err
}

// renew gets a new token, unless somebody else has done so meanwhile: many servers
// take a refresh token once, and end the login when it comes again.
func (l *Logins) renew(ctx context.Context, c Config) (string, error) {
	in, err := l.read(c)
	if err != nil || in.URL == "" {
		return "", err
	}
	token := in.token()
	if token.Valid() {
		return token.AccessToken, nil
	}
	if in.RefreshToken == "" {
		return "", fmt.Errorf("the login at %s has expired: run dsh-acp mcp --login %s", c.URL, shellWord(c.Name))
	}
	asking, cancel := context.WithTimeout(context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Timeout: refreshTimeout}), refreshTimeout)
	defer cancel()
	// An answer that is under way is worth a moment when nobody waits for it any
	// more: without it the login is lost.
	defer context.AfterFunc(ctx, func() { time.AfterFunc(refreshGrace, cancel) })()
	fresh, err := in.config().TokenSource(asking, token).Token()
	if err != nil {
		return "", fmt.Errorf("the login at %s could not be renewed (%s): run dsh-acp mcp --login %s", c.URL, oneLine(err.Error(), 300), shellWord(c.Name))
	}
	if err := l.save(in.URL, in.config(), fresh); err != nil {
		return "", err
	}
	return fresh.AccessToken, nil
}

// alone does something to the login at a server while nobody else does, in this
// process or another. It waits for them at most as long as they may take.
func (l *Logins) alone(ctx context.Context, url string, do func() error) error {
	if l.Dir == "" {
		return errors.New("there is no folder to keep logins in")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return fmt.Errorf("the login cannot be kept: %w", err)
	}
	// The file stays: one that is removed could be locked twice.
	f, err := os.OpenFile(l.path(url)+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("the login at %s cannot be locked: %w", url, err)
	}
	defer f.Close() // unlocks
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	for {
		switch err := filelock.Try(f); {
		case err == nil:
			return do()
		case !errors.Is(err, filelock.ErrLocked):
			return fmt.Errorf("the login at %s cannot be locked: %w", url, err)
		}
		select {
		case <-time.After(lockPause):
		case <-ctx.Done():
			return fmt.Errorf("another process is busy with the login at %s: try again (%w)", url, ctx.Err())
		}
	}
}

// read gives the login at a server; one without a URL when there is none.
func (l *Logins) read(c Config) (login, error) {
	var in login
	data, err := os.ReadFile(l.path(c.URL))
	if errors.Is(err, fs.ErrNotExist) {
		return in, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &in)
	}
	if err == nil && in.URL != c.URL {
		err = errors.New("it is that of another server")
	}
	if err != nil {
		return login{}, fmt.Errorf("the login at %s cannot be read (%w): run dsh-acp mcp --login %s", c.URL, err, shellWord(c.Name))
	}
	return in, nil
}

func (in login) token() *oauth2.Token {
	return &oauth2.Token{AccessToken: in.AccessToken, TokenType: in.TokenType, RefreshToken: in.RefreshToken, Expiry: in.Expiry}
}

func (in login) config() *oauth2.Config {
	return &oauth2.Config{
		ClientID: in.ClientID, ClientSecret: in.ClientSecret, Scopes: in.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: in.TokenURL, AuthStyle: oauth2.AuthStyle(in.AuthStyle)},
	}
}

// save writes a login, whole or not at all. It is for one who is alone.
func (l *Logins) save(url string, c *oauth2.Config, t *oauth2.Token) error {
	data, err := json.MarshalIndent(login{
		URL: url, ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenURL: c.Endpoint.TokenURL, AuthStyle: int(c.Endpoint.AuthStyle), Scopes: c.Scopes,
		AccessToken: t.AccessToken, TokenType: t.TokenType, RefreshToken: t.RefreshToken, Expiry: t.Expiry,
	}, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(l.Dir, ".login-*") // mode 0600
	if err != nil {
		return fmt.Errorf("the login cannot be kept: %w", err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), l.path(url))
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("the login cannot be kept: %w", err)
	}
	return nil
}

// Forget removes the login at a server; it says whether there was one.
func (l *Logins) Forget(url string) (was bool, err error) {
	if _, err := os.Lstat(l.path(url)); l.Dir == "" || errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	err = l.alone(context.Background(), url, func() error {
		err := os.Remove(l.path(url))
		was = err == nil
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
	return was, err
}
