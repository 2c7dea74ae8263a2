package known

import (
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

func TestInfo(t *testing.T) {
	for id, want := range map[string]int64{
		"deepseek-chat": 128_000, "deepseek/deepseek-v4-flash": 1_000_000, "gpt-4.1-mini": 1_047_576, "gpt-4o-2024-08-06": 128_000, "openai/gpt-5": 400_000,
		"claude-opus-4-5-20251101": 200_000, "o1": 200_000, "o10": 0, "gpt-50": 0, "qwen3": 0, "": 0, "o3-mini": 200_000,
	} {
		if got := Info(id); got.ContextWindow != want || got.ID != id {
			t.Errorf("%q: %+v", id, got)
		}
	}
	if i := Info("claude-opus-4-5"); i.MaxOutput != 64_000 || !i.Images || !i.Reasoning {
		t.Errorf("%+v", i)
	}
	own, served := []model.Info{{ID: "x", ContextWindow: 1}, {ID: "gpt-5", MaxOutput: 3}}, []model.Info{{ID: "x", ContextWindow: 2}, {ID: "y", ContextWindow: 4}}
	for id, want := range map[string][2]int64{"x": {1, 0}, "y": {4, 0}, "gpt-5": {400_000, 3}, "z": {0, 0}, "o1": {200_000, 100_000}} {
		if got := Find(id, own, served); got.ID != id || got.ContextWindow != want[0] || got.MaxOutput != want[1] {
			t.Errorf("%q: %+v", id, got)
		}
	}
	if i := Merge(model.Info{ID: "gpt-5", ContextWindow: 7}); i.ContextWindow != 7 || i.MaxOutput != 128_000 || !i.Images {
		t.Errorf("%+v", i)
	}
}
