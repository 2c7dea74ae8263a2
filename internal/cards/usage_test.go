package cards

import (
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func TestUsageOf(t *testing.T) {
	for text, want := range map[string]Usage{
		`{"used":5,"size":10}`:  {Used: 5, Size: 10},
		`{"used":15,"size":10}`: {Used: 10, Size: 10},
		`{"used":-1,"size":10}`: {Size: 10},
		`{"used":5}`:            {},
		`{"used":5,"size":0}`:   {},
		`{"used":5,"size":9,"cost":{"amount":0.5,"currency":"EUR"}}`: {Used: 5, Size: 9, Cost: 0.5, Currency: "EUR"},
	} {
		v, err := jsonvalue.ParseString(text)
		if err != nil {
			t.Fatal(err)
		}
		u, ok := UsageOf(v)
		if ok != (want.Size > 0) || u != want {
			t.Errorf("%s: %+v %v", text, u, ok)
		}
		live := NewProjector(nil, Options{}).Project(Event{Type: UsageType, Data: v})
		if (len(live) == 1) != ok {
			t.Errorf("%s is shown live as %v", text, live)
		}
		if replayed := NewProjector(nil, Options{UserMessages: true}).Project(Event{Type: UsageType, Data: v}); len(replayed) != 0 {
			t.Errorf("%s is shown on load as %v", text, replayed)
		}
	}
}
