package session

import "time"

// Summary is what a list of sessions shows.
type Summary struct {
	Header
	// Title is the last session/title; empty when there is none.
	Title string
	// UpdatedAt is when the log last grew.
	UpdatedAt time.Time
	// Prompts counts the user/message events: 0 means that nothing was ever
	// said.
	Prompts int
}
