package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/config"
)

func TestCheckLooksAtTheSearchService(t *testing.T) {
	status := http.StatusOK
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"results":[{"url":"https://x.example"}]}`)
	}))
	defer s.Close()
	t.Setenv("SEARCH_KEY_OF_A_TEST", "k")
	for _, tt := range []struct {
		name   string
		search config.WebSearch
		status int
		want   string
	}{
		{"none", config.WebSearch{}, 200, "note  web search     no service"},
		{"a server", config.WebSearch{Provider: "searxng", BaseURL: s.URL}, 200, "ok    web search     searxng at " + s.URL + ", which found 1 pages"},
		{"a server without the format", config.WebSearch{Provider: "searxng", BaseURL: s.URL}, 403, "FAIL  web search     searxng: the server refuses"},
		{"a key", config.WebSearch{Provider: "brave", APIKeyEnv: "SEARCH_KEY_OF_A_TEST"}, 200, "ok    web search     brave, with a key from SEARCH_KEY_OF_A_TEST"},
		{"no key", config.WebSearch{Provider: "tavily", APIKeyEnv: "NO_SUCH_KEY_OF_A_TEST"}, 200, "FAIL  web search     tavily: there is no key: the user has to set NO_SUCH_KEY_OF_A_TEST"},
		{"an unknown one", config.WebSearch{Provider: "altavista"}, 200, "FAIL  web search     the search service"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status = tt.status
			var out strings.Builder
			a := &app{cfg: &config.Config{Web: config.Web{Search: tt.search}}}
			a.checkWeb(t.Context(), &report{out: &out})
			if !strings.HasPrefix(out.String(), tt.want) {
				t.Errorf("%q", out.String())
			}
		})
	}
}
