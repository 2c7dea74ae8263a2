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
)

// Logins keeps what logins at http servers gave: one file a server's address,
// readable by this user alone, in a folder of ours. Its zero value keeps nothing.
type Logins struct {
	Dir string

	mu sync.Mutex // one refresh at a time
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
	l.mu.Lock()
	defer l.mu.Unlock()
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
	ctx, cancel := context.WithTimeout(context.WithValue(ctx, oauth2.HTTPClient, &http.Client{Timeout: refreshTimeout}), refreshTimeout)
	defer cancel()
	fresh, err := in.config().TokenSource(ctx, token).Token()
	if err != nil {
		// Another process may have been first, which makes our renewal worthless.
		if again, _ := l.read(c); again.AccessToken != in.AccessToken && again.token().Valid() {
			return again.AccessToken, nil
		}
		return "", fmt.Errorf("the login at %s could not be renewed (%s): run dsh-acp mcp --login %s", c.URL, oneLine(err.Error(), 300), shellWord(c.Name))
	}
	if err := l.save(in.URL, in.config(), fresh); err != nil {
		return "", err
	}
	return fresh.AccessToken, nil
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

// save writes a login, whole or not at all.
func (l *Logins) save(url string, c *oauth2.Config, t *oauth2.Token) error {
	if l.Dir == "" {
		return errors.New("there is no folder to keep logins in")
	}
	data, err := json.MarshalIndent(login{
		URL: url, ClientID: c.ClientID, ClientSecret: c.ClientSecret, TokenURL: c.Endpoint.TokenURL, AuthStyle: int(c.Endpoint.AuthStyle), Scopes: c.Scopes,
		AccessToken: t.AccessToken, TokenType: t.TokenType, RefreshToken: t.RefreshToken, Expiry: t.Expiry,
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.Dir, 0o700); err != nil {
		return fmt.Errorf("the login cannot be kept: %w", err)
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
func (l *Logins) Forget(url string) (bool, error) {
	if l.Dir == "" {
		return false, nil
	}
	err := os.Remove(l.path(url))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
