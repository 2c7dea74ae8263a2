// Package prepare makes a request fit for a server: names that every server
// accepts, schemas without what some refuse, and a history in which every call
// has its answer. What had to be changed is told in notes.
package prepare

// Note tells what was changed in a request before it was sent, for the log.
type Note struct {
	// Code is a stable word: TOOL_QUARANTINED, ORPHAN_CALL, ORPHAN_RESULT,
	// IMAGE_DROPPED, PART_DROPPED or OPTION_DROPPED.
	Code string
	// Message says what and why, for a person.
	Message string
}
