package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// guarded is an MCP server that wants a token, and the server that gives it one.
type guarded struct {
	*httptest.Server
	mu      sync.Mutex
	valid   string // the token that is good now
	granted int
	expires int
	denied  bool
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{expires: 3600}
	s := mcp.NewServer(&mcp.Implementation{Name: "guarded", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "secret"}, func(context.Context, *mcp.CallToolRequest, struct{}) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "swordfish"}}}, nil, nil
	})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		good := g.valid != "" && r.Header.Get("Authorization") == "Bearer "+g.valid
		g.mu.Unlock()
		if !good {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.URL+`/.well-known/oauth-protected-resource"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"resource": g.URL + "/mcp", "authorization_servers": []string{g.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{
			"issuer": g.URL, "authorization_endpoint": g.URL + "/authorize", "token_endpoint": g.URL + "/token", "registration_endpoint": g.URL + "/register",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"},
		})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		in["client_id"] = "client-1"
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(in)
	})
	mux.HandleFunc("/authorize", func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		back := url.Values{"state": {q.Get("state")}, "code": {"code-1"}}
		if g.denied {
			back = url.Values{"state": {q.Get("state")}, "error": {"access_denied"}, "error_description": {"not you"}}
		}
		http.Redirect(w, r, q.Get("redirect_uri")+"?"+back.Encode(), http.StatusFound)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		g.mu.Lock()
		defer g.mu.Unlock()
		if r.Form.Get("client_id") != "client-1" || r.Form.Get("grant_type") == "refresh_token" && r.Form.Get("refresh_token") != fmt.Sprintf("refresh-%d", g.granted) {
			w.WriteHeader(http.StatusBadRequest)
			answer(w, map[string]any{"error": "invalid_grant"})
			return
		}
		g.granted++
		g.valid = fmt.Sprintf("token-%d", g.granted)
		answer(w, map[string]any{"access_token": g.valid, "token_type": "Bearer", "expires_in": g.expires, "refresh_token": fmt.Sprintf("refresh-%d", g.granted)})
	})
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.Close)
	return g
}

func (g *guarded) config() Config {
	return Config{Name: "guarded", Origin: FromUser, URL: g.URL + "/mcp"}
}

// browser opens an address as a person would.
func browser(t *testing.T) func(string) {
	var open sync.WaitGroup
	t.Cleanup(open.Wait)
	return func(address string) {
		open.Go(func() {
			// The page at the end may be gone before it was read: the login is
			// what counts.
			if resp, err := http.Get(address); err == nil {
				_ = resp.Body.Close()
			}
		})
	}
}

func TestLogin(t *testing.T) {
	g := newGuarded(t)
	logins := &Logins{Dir: filepath.Join(t.TempDir(), "logins")}

	w := newWorld(t)
	w.mcp.opt.Token = logins.Token
	w.start(g.config())
	if st := w.mcp.Status()[0]; st.State != Failed || !strings.Contains(st.Error, "refuses access (HTTP 401): run dsh-acp mcp --login guarded, or give it a header") {
		t.Fatalf("%s", st.Line())
	}

	if err := logins.Login(context.Background(), g.config(), LoginOptions{Show: browser(t)}); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(filepath.Join(logins.Dir, "*.json"))
	info, err := os.Stat(files[0])
	if err != nil || len(files) != 1 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", files, info.Mode())
	}
	if dir, _ := os.Stat(logins.Dir); dir.Mode().Perm() != 0o700 {
		t.Errorf("%v", dir.Mode())
	}

	w = newWorld(t)
	w.mcp.opt.Token = logins.Token
	w.start(g.config())
	w.wants("mcp__guarded__secret", `{}`, "swordfish")

	// An address that is not the login's gets nothing.
	other := g.config()
	other.URL += "?x"
	if token, err := logins.Token(context.Background(), other); token != "" || err != nil {
		t.Errorf("%q %v", token, err)
	}
	// A token of the configuration comes first.
	withHeader := g.config()
	withHeader.Headers = map[string]string{"Authorization": "Bearer wrong"}
	w = newWorld(t)
	w.mcp.opt.Token = logins.Token
	w.start(withHeader)
	if st := w.mcp.Status()[0]; st.State != Failed {
		t.Errorf("%s", st.Line())
	}
	if was, err := logins.Forget(g.config().URL); !was || err != nil {
		t.Error(was, err)
	}
	if token, err := logins.Token(context.Background(), g.config()); token != "" || err != nil {
		t.Errorf("%q %v", token, err)
	}
}

func TestLoginIsRenewed(t *testing.T) {
	g := newGuarded(t)
	g.expires = 1
	logins := &Logins{Dir: t.TempDir()}
	if err := logins.Login(context.Background(), g.config(), LoginOptions{Show: browser(t)}); err != nil {
		t.Fatal(err)
	}
	token, err := logins.Token(context.Background(), g.config()) // within the margin of its end
	if err != nil || token != g.valid || token == "token-1" {
		t.Errorf("%q %v", token, err)
	}
	g.mu.Lock()
	g.granted = 99 // nothing that was given is good any more
	g.mu.Unlock()
	if _, err := logins.Token(context.Background(), g.config()); err == nil || !strings.Contains(err.Error(), "run dsh-acp mcp --login guarded") {
		t.Errorf("%v", err)
	}
}

// Several processes (here: several openings of the folder, which lock each other
// out in the same way) that find the token expired renew it once: the server takes
// each refresh token a single time.
func TestLoginIsRenewedOnce(t *testing.T) {
	g := newGuarded(t)
	g.expires = 1
	dir := t.TempDir()
	if err := (&Logins{Dir: dir}).Login(context.Background(), g.config(), LoginOptions{Show: browser(t)}); err != nil {
		t.Fatal(err)
	}
	g.mu.Lock()
	g.expires = 3600
	before := g.granted
	g.mu.Unlock()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if token, err := (&Logins{Dir: dir}).Token(context.Background(), g.config()); err != nil || token != fmt.Sprintf("token-%d", before+1) {
				t.Errorf("%q %v", token, err)
			}
		})
	}
	wg.Wait()
	if g.granted != before+1 {
		t.Errorf("renewed %d times", g.granted-before)
	}
}

func TestLoginByPasting(t *testing.T) {
	g := newGuarded(t)
	logins := &Logins{Dir: t.TempDir()}
	paste, typed, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer paste.Close()
	defer typed.Close()
	err = logins.Login(context.Background(), g.config(), LoginOptions{Paste: paste, Show: func(address string) {
		client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
		resp, err := client.Get(address)
		if err != nil {
			t.Error(err)
			return
		}
		_ = resp.Body.Close()
		fmt.Fprintf(typed, "what is this\n%s\n", resp.Header.Get("Location"))
	}})
	if err != nil {
		t.Fatal(err)
	}
}

func TestLoginFails(t *testing.T) {
	g := newGuarded(t)
	g.denied = true
	logins := &Logins{Dir: t.TempDir()}
	if err := logins.Login(context.Background(), g.config(), LoginOptions{Show: browser(t)}); err == nil || !strings.Contains(err.Error(), "the server says no: access_denied not you") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if err := logins.Login(ctx, g.config(), LoginOptions{Show: func(string) { cancel() }}); err == nil || !strings.Contains(err.Error(), "nobody logged in") {
		t.Errorf("%v", err)
	}
	if err := logins.Login(context.Background(), role("ok"), LoginOptions{}); err == nil || !strings.Contains(err.Error(), "only http servers have logins") {
		t.Errorf("%v", err)
	}
	if files, _ := filepath.Glob(filepath.Join(logins.Dir, "*")); len(files) != 0 {
		t.Errorf("%v", files)
	}
}
