package session

import "testing"

// A question that a dead program left open is answered, once, with "not now".
func TestRepairAnswersQuestionsOfConsent(t *testing.T) {
	asked := func(id string) Event { return Event{Type: TypeConsentAsked, Data: Data("id", id)} }
	answered := func(id string) Event {
		return Event{Type: TypeConsentAnswered, Data: Data("id", id, "answer", ConsentAllowed)}
	}
	for name, tt := range map[string]struct {
		events []Event
		open   []string
	}{
		"none":        {[]Event{{Type: TypeTitle, Data: Data("id", "x")}}, nil},
		"answered":    {[]Event{asked("a"), answered("a")}, nil},
		"the second":  {[]Event{asked("a"), answered("a"), asked("b")}, []string{"b"}},
		"both":        {[]Event{asked("a"), asked("b")}, []string{"a", "b"}},
		"asked again": {[]Event{asked("a"), answered("a"), asked("a")}, []string{"a"}},
	} {
		drafts := Repair(tt.events)
		if len(drafts) != len(tt.open) {
			t.Errorf("%s: %d drafts", name, len(drafts))
			continue
		}
		for i, d := range drafts {
			if d.Type != TypeConsentAnswered || d.Data.GetString("id") != tt.open[i] || d.Data.GetString("answer") != ConsentLater {
				t.Errorf("%s: %s %s", name, d.Type, d.Data)
			}
		}
	}
}
