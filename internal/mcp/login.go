package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// LoginOptions are how a person logs in at a server. Show is required.
type LoginOptions struct {
	// Show gives the person the address to open, in whatever browser they have.
	Show func(address string)
	// Paste is where the person may paste the address that the browser ended at,
	// when that browser cannot reach this machine; nil for nowhere.
	Paste io.Reader
	// Port is where the browser is sent back to on this machine; 0 is any.
	Port int
	// ClientID and ClientSecret are those of a client that was registered by hand,
	// for servers that register none by themselves.
	ClientID, ClientSecret string
	Version                string // of this program
}

// loginTimeout is how long a person may take.
const loginTimeout = 10 * time.Minute

// Login lets a person log in at an http server and keeps what that gives. A
// server that wants no login is an error.
func (l *Logins) Login(ctx context.Context, c Config, o LoginOptions) error {
	if c = c.normal(); c.Transport != HTTP {
		return fmt.Errorf("%s is of type %s: only http servers have logins; give it what it needs by headers or env", c.Name, c.Transport)
	}
	ctx, cancel := context.WithTimeout(ctx, loginTimeout)
	defer cancel()
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", o.Port))
	if err != nil {
		return fmt.Errorf("nothing can listen for the browser: %w", err)
	}
	back := newCallback(listener)
	defer back.close()
	redirect := fmt.Sprintf("http://%s/callback", listener.Addr())

	done := false
	h := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, RequestRefreshToken: true, AcceptUnadvertisedIss: true,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			o.Show(args.URL)
			return back.wait(ctx, o.Paste)
		},
		NewTokenSource: func(ctx context.Context, conf *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			done = true
			src := &savingSource{next: conf.TokenSource(ctx, t), last: t, save: func(t *oauth2.Token) error {
				return l.alone(ctx, c.URL, func() error { return l.save(c.URL, conf, t) })
			}}
			return src, src.save(t)
		},
	}
	if o.ClientID != "" {
		h.PreregisteredClient = &oauthex.ClientCredentials{ClientID: o.ClientID}
		if o.ClientSecret != "" {
			h.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: o.ClientSecret}
		}
	} else {
		h.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "dsh-acp", SoftwareID: "dsh-acp", SoftwareVersion: o.Version, RedirectURIs: []string{redirect},
			GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none",
		}}
	}
	handler, err := auth.NewAuthorizationCodeHandler(h)
	if err != nil {
		return err
	}
	link, err := newHTTPLink(c)
	if err != nil {
		return err
	}
	defer link.close()
	client := mcp.NewClient(&mcp.Implementation{Name: "dsh-acp", Version: o.Version}, nil)
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: c.URL, HTTPClient: link.client(), OAuthHandler: handler, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: handshake})
	if session != nil {
		_ = session.Close()
	}
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("nobody logged in: %w", context.Cause(ctx))
	case err != nil:
		return fmt.Errorf("the login at %s failed: %w", c.URL, err)
	case !done:
		return fmt.Errorf("%s wants no login: it answers without", c.URL)
	}
	return nil
}

// savingSource keeps every token that a source gives: a renewed one may make the
// one before it worthless.
type savingSource struct {
	next oauth2.TokenSource
	save func(*oauth2.Token) error

	mu   sync.Mutex
	last *oauth2.Token
}

// Token gives a token that has been kept.
func (s *savingSource) Token() (*oauth2.Token, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.next.Token()
	if err == nil && t.AccessToken != s.last.AccessToken {
		s.last, err = t, s.save(t)
	}
	return t, err
}

// callback waits for the browser to come back.
type callback struct {
	server *http.Server
	came   chan url.Values
	served chan struct{}
}

func newCallback(listener net.Listener) *callback {
	c := &callback{came: make(chan url.Values, 1), served: make(chan struct{})}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /callback", func(w http.ResponseWriter, r *http.Request) {
		c.take(r.URL.Query())
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintln(w, "Done. You may close this page and go back to the terminal.")
	})
	c.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(c.served)
		_ = c.server.Serve(listener)
	}()
	return c
}

func (c *callback) take(q url.Values) {
	select {
	case c.came <- q:
	default: // once is enough
	}
}

func (c *callback) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if c.server.Shutdown(ctx) != nil {
		_ = c.server.Close()
	}
	<-c.served
}

func (c *callback) wait(ctx context.Context, paste io.Reader) (*auth.AuthorizationResult, error) {
	if paste != nil {
		go func() { // ends with the input, or with the process
			sc := bufio.NewScanner(paste)
			for sc.Scan() {
				if u, err := url.Parse(strings.TrimSpace(sc.Text())); err == nil && u.Query().Get("state") != "" {
					c.take(u.Query())
					return
				}
			}
		}()
	}
	select {
	case q := <-c.came:
		if e := q.Get("error"); e != "" {
			return nil, fmt.Errorf("the server says no: %s", oneLine(strings.TrimSpace(e+" "+q.Get("error_description")), 300))
		}
		if q.Get("code") == "" {
			return nil, errors.New("the browser came back without a code")
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
