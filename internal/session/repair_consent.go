package session

import "slices"

// The answers to a question about what the workspace brings, in the answer of
// consent/answered.
const (
	ConsentAllowed = "allowed" // this content may run, now and later
	ConsentLater   = "later"   // not in this session
	ConsentNever   = "never"   // nobody is to be asked about this content again
)

// repairConsents answers the questions that a log has asked and not answered:
// nothing has run for them.
func repairConsents(events []Event) []Draft {
	var open []string
	for _, e := range events {
		switch id := e.Data.GetString("id"); e.Type {
		case TypeConsentAsked:
			open = append(open, id)
		case TypeConsentAnswered:
			open = slices.DeleteFunc(open, func(o string) bool { return o == id })
		}
	}
	var drafts []Draft
	for _, id := range open {
		drafts = append(drafts, Draft{Type: TypeConsentAnswered, Data: Data("id", id, "answer", ConsentLater)})
	}
	return drafts
}
