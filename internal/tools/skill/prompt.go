package skill

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Prompt is what the model is told when the person asks for a skill by its name:
// the instructions, as the tool gives them, and what the person said besides. A
// skill that is not for the model to load by itself can be asked for too. The
// error says that there is no such skill, or why it cannot be read.
func (c *Catalogue) Prompt(cwd, name, request string) (string, error) {
	skills, _ := c.List(cwd)
	for _, s := range skills {
		if s.Name != name {
			continue
		}
		value, err := c.value(s)
		if err != nil {
			return "", fmt.Errorf("the skill %q could not be read: %w", name, err)
		}
		blocks, err := render(jsonvalue.Value{}, value)
		if err != nil {
			return "", err
		}
		text := "The user asks you to follow the skill `" + name + "`. It is loaded already:\n\n" + content.JoinText(blocks)
		if request = strings.TrimSpace(request); request != "" {
			text += "\n\nWhat the user says to it:\n\n" + request
		}
		return text, nil
	}
	return "", fmt.Errorf("there is no skill %q any more", name)
}
