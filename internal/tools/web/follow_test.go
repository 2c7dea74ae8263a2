package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/tools/web"
)

// A server cannot lead a call past a rule about paths of its own.
func TestARedirectThatIsNotAllowedIsNotFollowed(t *testing.T) {
	asked := 0
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/private" {
			asked++
			return
		}
		http.Redirect(w, r, "/private", http.StatusFound)
	})
	w := newWorld(t, web.Options{Allow: allow(t, "127.0.0.1"), Follow: func(exec *registry.Execution, to string) bool {
		return exec.Name() != web.FetchName || !strings.HasSuffix(to, "/private")
	}})
	want := "Error: the redirect to " + s.URL + "/private is not followed: the permission rules judge it differently; retry against that URL directly"
	if r := w.fetch(t, s.URL+"/start"); !r.IsError() || r.Text() != want || asked != 0 {
		t.Errorf("asked %d times: %s", asked, r.Text())
	}
}
