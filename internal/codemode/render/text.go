package render

import (
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// NoOutput is what the model reads when a program neither printed nor returned
// anything (C6.1).
const NoOutput = "(run_code completed with no output)"

// Text renders a completed run: the log entries, then the result, each on lines
// of its own, empty parts left out (C6.1). An Undefined result means the
// program returned nothing.
func Text(logs []string, result jsonvalue.Value) string {
	printed := strings.Join(logs, "\n")
	returned := ""
	if !result.IsUndefined() {
		returned = Value(result)
	}
	switch {
	case printed == "" && returned == "":
		return NoOutput
	case printed == "":
		return returned
	case returned == "":
		return printed
	default:
		return printed + "\n" + returned
	}
}

// Failure renders a failed run (C6.3). The message may have several lines; the
// entries captured before the failure follow it.
func Failure(kind, message string, logs []string) string {
	text := "code run failed (" + kind + "): " + message
	if len(logs) > 0 {
		text += "\nCaptured output:\n" + strings.Join(logs, "\n")
	}
	return text
}

// Outcome is the canonical value of a completed run: {logs, result?} (C2.3).
func Outcome(logs []string, result jsonvalue.Value) jsonvalue.Value {
	entries := make([]jsonvalue.Value, len(logs))
	for i, s := range logs {
		entries[i] = jsonvalue.StringWTF8(s)
	}
	members := []jsonvalue.Member{{Key: "logs", Value: jsonvalue.Array(entries...)}}
	if !result.IsUndefined() {
		members = append(members, jsonvalue.Member{Key: "result", Value: result})
	}
	return jsonvalue.Object(members...)
}
