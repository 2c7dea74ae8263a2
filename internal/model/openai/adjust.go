package openai

import (
	"errors"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/httpx"
	"github.com/dsh-acp/dsh-acp/internal/model/prepare"
)

// What a server can turn out to want; see [Provider.has].
const (
	noStreamOptions   = "stream_options"
	noEffort          = "reasoning_effort"
	noThinking        = "thinking"
	noReasoning       = "reasoning"
	noTemplate        = "chat_template_kwargs"
	noCacheKey        = "prompt_cache_key"
	completionTokens  = "max_completion_tokens"
	noImages          = "image_url"
	noReasoningBack   = "-reasoning_content"
	wantReasoningBack = "+reasoning_content"
)

// has reports whether something was learned about the server and a model.
func (p *Provider) has(modelID, what string) bool { return p.learned.Has(modelID, what) }

var (
	mustBeBack   = lazyregexp.New(`(?i)reasoning_content.{0,80}(must|missing|required|pass|needs|expected)|(must|missing|required|expected).{0,80}reasoning_content`)
	notSupported = lazyregexp.New(`(?i)unsupported|not supported|unknown|unrecognized|unexpected|not permitted|extra|additional propert|not allowed|invalid|does not support|no such`)
)

// adjust reads a refusal and reports whether the request should be sent again
// without what was refused. What it learns holds for later requests too.
func (p *Provider) adjust(req model.Request, tools *prepare.ToolSet, sent *encoded, err error) bool {
	var e *model.Error
	var said *httpx.SaidError
	if !errors.As(err, &e) || e.Code != "PROTOCOL" && e.Code != "OVERLOADED" || !errors.As(err, &said) ||
		e.Status != 400 && e.Status != 422 && e.Status != 500 {
		return false
	}
	// Another session may have learned the same meanwhile: what counts is what
	// this request was sent with.
	text := said.Text
	if sent.images > 0 && strings.Contains(strings.ToLower(text), "image") {
		p.learned.Learn(req.Model, noImages)
		p.note(req, prepare.Note{Code: "OPTION_DROPPED", Message: "the model " + req.Model + " refuses images; they are left out from now on"})
		return true
	}
	if e.Status == 500 {
		return false
	}
	if strings.Contains(text, "reasoning_content") {
		if mustBeBack.MatchString(text) && !notSupported.MatchString(text) {
			p.learned.Learn(req.Model, wantReasoningBack)
			return !sent.reasoningBack
		}
		p.learned.Learn(req.Model, noReasoningBack)
		return sent.reasoningBack
	}
	if strings.Contains(text, completionTokens) && sent.options["max_tokens"] {
		p.learned.Learn(req.Model, completionTokens)
		return true
	}
	for _, option := range []string{noStreamOptions, noEffort, noTemplate, noCacheKey, noThinking, noReasoning} {
		if sent.options[option] && strings.Contains(text, option) {
			p.learned.Learn(req.Model, option)
			p.note(req, prepare.Note{Code: "OPTION_DROPPED", Message: p.cfg.ProviderID + " refuses the option " + option + " for " + req.Model + "; it is left out from now on"})
			return true
		}
	}
	return p.learned.Blame(text, p.cfg.ProviderID, &req, tools)
}
