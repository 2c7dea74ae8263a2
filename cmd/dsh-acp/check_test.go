package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
)

// checkAgainst runs the check with an OpenAI-compatible server of ours.
func checkAgainst(t *testing.T, handler http.HandlerFunc, modelName string) (string, error) {
	t.Helper()
	srv := httptest.NewServer(handler)
	defer srv.Close()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("XDG_STATE_HOME", home)
	t.Setenv("OPENAI_API_KEY", "sk-check-secret")
	cfg := home + "/c.yaml"
	if err := os.WriteFile(cfg, []byte("model:\n  provider: openai\n  name: "+modelName+"\n  base_url: "+srv.URL+"/v1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	outFile, err := os.Create(home + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer outFile.Close()
	runErr := runCheck(t.Context(), env{stdin: os.Stdin, stdout: outFile, stderr: &bytes.Buffer{}}, []string{"--config", cfg})
	out, err := os.ReadFile(home + "/out")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(out), "sk-check") {
		t.Error("the key is shown")
	}
	return string(out), runErr
}

func TestCheckSaysWhatIsWrongWithTheModel(t *testing.T) {
	status := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}
	}
	for _, tt := range []struct {
		name    string
		handler http.HandlerFunc
		fails   bool
		want    string
	}{
		{"answers", func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/models") {
				status(200, `{"data":[{"id":"m-1"}]}`)(w, r)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"yes\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"))
		}, false, "openai/m-1"},
		{"no tools", func(w http.ResponseWriter, r *http.Request) {
			var body bytes.Buffer
			_, _ = body.ReadFrom(r.Body)
			if strings.Contains(body.String(), `"tools"`) {
				status(400, `{"error":{"message":"m-1 does not support tools"}}`)(w, r)
				return
			}
			status(404, `{}`)(w, r)
		}, true, "cannot call tools"},
		{"bad key", status(401, `{"error":{"message":"invalid api key"}}`), true, "key"},
		{"no credit", status(402, `{"error":{"message":"Insufficient Balance"}}`), true, "Insufficient Balance"},
		{"a web page", status(502, `<html><body>Bad Gateway</body></html>`), true, "502"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := checkAgainst(t, tt.handler, "m-1")
			if (err != nil) != tt.fails || !strings.Contains(out, tt.want) || strings.Contains(out, "FAIL  model") != tt.fails {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
	out, err := checkAgainst(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/models") {
			status(200, `{"data":[{"id":"deepseek-chat"},{"id":"deepseek-reasoner"}]}`)(w, r)
			return
		}
		status(404, `{"error":{"message":"Model Not Exist","code":"model_not_found"}}`)(w, r)
	}, "deepseek-caht")
	if err == nil || !strings.Contains(out, "deepseek-chat") {
		t.Errorf("a wrong model name: %v\n%s", err, out)
	}
}
