package agent

import (
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// TypeCommandRun records a slash command that ran without the model: {n, input,
// content}. n counts the session's commands from 1, input is what the person
// typed and content what they were told. No model sees it. It is this program's
// own addition to the recorded vocabulary.
const TypeCommandRun = "command/run"

// LogCommand records a command that ran and what it said, which is how it is
// shown. It must not be called while a turn runs.
func (s *Session) LogCommand(input, reply string) error {
	s.commands++
	_, err := s.append(TypeCommandRun, session.Data("n", s.commands, "input", input, "content", content.ToValue([]content.Block{content.Text(reply)})))
	if err != nil {
		return logFailure(err)
	}
	return nil
}
