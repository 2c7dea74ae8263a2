package openai

import (
	"errors"
	"fmt"

	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/httpx"
)

// noTools is how servers say that a model has not learned to call tools: Ollama,
// OpenRouter, vLLM.
var noTools = lazyregexp.New(`(?i)(does not|doesn't|do not|don't) support (tools?|tool (use|calls?|calling)|function calling)\b|no endpoints found that support tool use|(tools?|tool (use|choice|calling)) (is|are) not supported`)

// toolless words a refusal of every tool. The request is not sent again without
// them: an agent that cannot look at a file would only make things up.
func (p *Provider) toolless(req model.Request, err error) error {
	var e *model.Error
	var said *httpx.SaidError
	if len(req.Tools) == 0 || !errors.As(err, &e) || !errors.As(err, &said) || !noTools.MatchString(said.Text) {
		return err
	}
	worded := *e
	worded.Code, worded.Retryable, worded.Err = "NO_TOOLS", false, err
	worded.Message = fmt.Sprintf("the model %q cannot call tools, so it could do nothing here: choose another model. %s", req.Model, e.Message)
	return &worded
}
