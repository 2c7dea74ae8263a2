package acp

import (
	"context"
	"encoding/json"
	"iter"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// other is a second provider.
type other struct{ *provider }

func (other) ProviderID() string { return "other" }
func (other) Models(context.Context) ([]model.Info, error) {
	return []model.Info{{ID: "x", Name: "Ex"}}, nil
}

func (o other) Stream(_ context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) { says("from "+req.Model, yield) }
}

// With several providers the models are grouped by them, and a switch holds from
// the next step on, also while a turn runs.
func TestModelsOfSeveralProviders(t *testing.T) {
	h := newHarness(t, `{}`)
	h.backend.catalogue = agent.NewCatalogue(nil, h.backend.model, other{h.backend.model})
	t.Cleanup(h.backend.catalogue.Close)
	h.backend.model.models = []model.Info{{ID: "m"}, {ID: "n"}}
	asked, let := h.gate()
	f := h.call("session/new", `{"cwd":"/","mcpServers":[]}`)
	var r struct {
		SessionID     string
		ConfigOptions []struct {
			ID, CurrentValue string
			Options          []struct {
				Group   string
				Options []struct{ Value string }
			}
		}
	}
	if err := json.Unmarshal(f["result"], &r); err != nil {
		t.Fatal(err, string(f["error"]))
	}
	o := r.ConfigOptions[0]
	if o.ID != optionModel || len(o.Options) != 2 || o.Options[0].Group != "test" || len(o.Options[0].Options) != 2 || o.Options[1].Options[0].Value != `["other","x"]` {
		t.Fatalf("%s", f["result"])
	}
	set := func(value string) map[string]json.RawMessage {
		t.Helper()
		b, _ := json.Marshal(map[string]any{"sessionId": r.SessionID, "configId": "model", "value": value})
		return h.call("session/set_config_option", string(b))
	}
	id := h.request("session/prompt", promptOf(r.SessionID, "hello"))
	<-asked
	if f := set(`["other","x"]`); !strings.Contains(string(f["result"]), `"currentValue":"[\"other\",\"x\"]"`) {
		t.Errorf("in a turn: %s %s", f["result"], f["error"])
	}
	let <- "from m"
	h.reply(id)
	h.prompt(r.SessionID, "again")
	if got := h.said(); got[len(got)-1] != "from x" {
		t.Errorf("%q", got)
	}
	for _, bad := range []string{`["other","y"]`, `["nobody","x"]`, `x`, ``, `[]`, `["a","b","c"]`} {
		if f := set(bad); !strings.Contains(string(f["error"]), "-32602") {
			t.Errorf("%q: %s %s", bad, f["result"], f["error"])
		}
	}
	if got := h.updates("config_option_update"); len(got) != 0 {
		t.Errorf("the client was told what it did itself: %s", got)
	}
}
