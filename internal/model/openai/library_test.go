package openai

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	library "github.com/sashabaranov/go-openai"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// theirs plays a request through the library that this codec stands in for, and
// gives all of what it tells as JSON.
func theirs(t *testing.T, s *server) (string, error) {
	t.Helper()
	cfg := library.DefaultConfig(testKey)
	cfg.BaseURL = s.URL
	cfg.HTTPClient = s.Client()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
	defer cancel()
	stream, err := library.NewClientWithConfig(cfg).CreateChatCompletionStream(ctx, library.ChatCompletionRequest{
		Model: "test-model", Messages: []library.ChatCompletionMessage{{Role: "user", Content: "hi"}},
	})
	if err != nil {
		told, _ := json.Marshal(err)
		return string(told) + err.Error(), err
	}
	defer stream.Close()
	var b strings.Builder
	for {
		resp, err := stream.Recv()
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		told, _ := json.Marshal(resp)
		b.Write(told)
	}
}

// Why the codec is our own: what servers really send, the library loses or
// refuses. Should a version of it carry all of this, the tests fail, and the
// decision in docs/models.md can be looked at again.
func TestWhatTheLibraryLoses(t *testing.T) {
	keepAlives := strings.Repeat(": keep-alive\n\n", 400)
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		theirs  string // what the library's words must hold to be enough
		ours    func(out string, acc *model.Accumulator, err error) bool
	}{
		{
			"the cached tokens of DeepSeek", events(delta(`{"content":"a"}`), fin("stop"), `{"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":1,"prompt_cache_hit_tokens":8}}`, done), `8`,
			func(_ string, acc *model.Accumulator, err error) bool {
				return err == nil && *acc.Usage().CacheReadTokens == 8
			},
		},
		{
			"reasoning under its other name", events(delta(`{"reasoning":"because"}`), fin("stop"), done), "because",
			func(out string, _ *model.Accumulator, err error) bool {
				return err == nil && strings.Contains(out, "because")
			},
		},
		{
			"signatures that must go back", events(delta(`{"tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"sig"}},"function":{"name":"read","arguments":"{}"}}]}`), fin("tool_calls"), done), "sig",
			func(out string, _ *model.Accumulator, err error) bool {
				return err == nil && strings.Contains(out, `"thought_signature":"sig"`)
			},
		},
		{
			"arguments that are an object", events(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"read","arguments":{"path":"x"}}}]}`), fin("tool_calls"), done), `path`,
			func(out string, _ *model.Accumulator, err error) bool {
				return err == nil && strings.Contains(out, `"arguments":"{\"path\":\"x\"}"`)
			},
		},
		{
			"a long queue of keep-alives", events(keepAlives, delta(`{"content":"patience"}`), fin("stop"), done), "patience",
			func(out string, _ *model.Accumulator, err error) bool {
				return err == nil && strings.Contains(out, "patience")
			},
		},
		{
			"how long to wait", status(429, `{"error":{"message":"slow down"}}`, "Retry-After", "17"), "17",
			func(_ string, _ *model.Accumulator, err error) bool {
				return model.AsError(err).RetryAfter == 17*time.Second
			},
		},
		{
			"that an answer broke off", events(delta(`{"content":"a"}`)), "",
			func(_ string, _ *model.Accumulator, err error) bool { return model.AsError(err).Retryable },
		},
	} {
		s := serve(t, c.handler)
		told, err := theirs(t, s)
		t.Logf("%s: %s %v", c.name, told, err)
		if c.theirs != "" && strings.Contains(told, c.theirs) {
			t.Errorf("%s: the library does carry it now: %s %v", c.name, told, err)
		}
		if c.theirs == "" && err != nil {
			t.Errorf("%s: the library notices now: %v", c.name, err)
		}
		if out, acc, err := play(t, s.provider(), ask()); !c.ours(out, acc, err) {
			t.Errorf("%s: ours: %s %v", c.name, out, err)
		}
	}
}
