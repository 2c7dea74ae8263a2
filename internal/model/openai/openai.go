// Package openai speaks the chat-completions protocol: DeepSeek, OpenAI,
// OpenRouter, and any server of one's own that offers the same (Ollama,
// llama.cpp, vLLM, LM Studio). The codec is our own, as servers differ in ways
// that typed clients lose; docs/models.md has the reasons and the tests show
// them.
package openai

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/assemble"
	"github.com/dsh-acp/dsh-acp/internal/model/httpx"
	"github.com/dsh-acp/dsh-acp/internal/model/known"
	"github.com/dsh-acp/dsh-acp/internal/model/prepare"
)

// Config says which server answers and how. Only ProviderID is needed for the
// providers deepseek, openai, openrouter and ollama; any other needs a BaseURL.
type Config struct {
	// ProviderID is the name in the configuration, the log and messages.
	ProviderID string
	// BaseURL is what /chat/completions is appended to; "" means the provider's
	// own.
	BaseURL string
	// APIKey gives the key; it is asked with every request, so it may be read
	// late or change. nil, or "", sends none.
	APIKey func() (string, error)
	// KeyHint says how to set a key, such as "set DEEPSEEK_API_KEY".
	KeyHint string
	// Model is used by requests that name none, and comes first in the list.
	Model string
	// Models are offered besides what the server lists, and describe models that
	// it only names.
	Models []model.Info
	// Dialect is guessed from the address when empty.
	Dialect Dialect
	// ResendReasoning sends an assistant's reasoning back with its tool calls;
	// nil leaves it to the dialect (DeepSeek does).
	ResendReasoning *bool
	// ContextWindow, MaxOutput and Images say what the model called Model can do;
	// 0 and nil leave it to the server and to what is known.
	ContextWindow, MaxOutput int64
	Images                   *bool
	// ExtraBody is added to every request; its members win over ours.
	ExtraBody jsonvalue.Value
	// Header is added to every request. An Authorization in it stands for the
	// key. No message repeats what is in it.
	Header http.Header
	// FirstByteTimeout, IdleTimeout and ProgressTimeout bound how long the
	// server may be silent before, within, and with nothing but keep-alives in
	// its answer; 0 means httpx' defaults.
	FirstByteTimeout, IdleTimeout, ProgressTimeout time.Duration
	// HTTPClient sends; nil means one of our own, see httpx.Client.
	HTTPClient *http.Client
	// OnNote is told what had to be changed in a request, once a session and
	// note; may be nil. It must not block.
	OnNote func(sessionID string, n prepare.Note)
}

// Provider is a [model.Provider] for one server.
type Provider struct {
	cfg    Config
	client *httpx.Client
	notes  prepare.Once

	learned prepare.Learned

	mu      sync.Mutex
	listed  []model.Info  // the server's models, once asked
	listing chan struct{} // closed when a listing under way has ended
}

// New makes a provider. It does no work that could fail or take time: a wrong
// address or a missing key shows with the first request.
func New(cfg Config) *Provider {
	if cfg.BaseURL == "" {
		cfg.BaseURL = defaultURL(cfg.ProviderID)
	}
	if cfg.Dialect == "" {
		cfg.Dialect = guess(cfg.ProviderID, cfg.BaseURL)
	}
	if cfg.ProviderID == "" {
		cfg.ProviderID = string(cfg.Dialect)
	}
	// Whoever copies an address from a manual has the whole of it.
	cfg.BaseURL = httpx.BaseURL(cfg.BaseURL, "/chat/completions")
	p := &Provider{cfg: cfg}
	p.client = &httpx.Client{
		Secrets:  prepare.HeaderSecrets(cfg.Header),
		Provider: cfg.ProviderID, BaseURL: cfg.BaseURL, Key: cfg.APIKey, KeyHint: cfg.KeyHint, KeyNeeded: needsKey(cfg.BaseURL),
		HTTP: cfg.HTTPClient, FirstByte: cfg.FirstByteTimeout, Idle: cfg.IdleTimeout, Progress: cfg.ProgressTimeout,
	}
	return p
}

// ProviderID is the configured name.
func (p *Provider) ProviderID() string { return p.cfg.ProviderID }

// Quarantined says which of the tools would be left out of a request, and why:
// those whose schema cannot be adapted, and those the server refused before.
func (p *Provider) Quarantined(tools []model.ToolSchema) []prepare.Quarantine {
	return p.tools(tools).Quarantined
}

func (p *Provider) tools(tools []model.ToolSchema) *prepare.ToolSet {
	return prepare.Tools(tools, p.cfg.Dialect.maxTools(), p.learned.Refused)
}

// Stream sends one request; see [model.Provider].
func (p *Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return model.Sequence(func(emit func(model.Chunk) bool) error { return p.run(ctx, req, emit) })
}

// maxAdjust bounds how often a request is changed and sent again because of
// what the server said about it. Nothing of an answer has come by then.
const maxAdjust = 8

func (p *Provider) run(ctx context.Context, req model.Request, emit func(model.Chunk) bool) error {
	if req.Model == "" {
		req.Model = p.cfg.Model
	}
	if req.Model == "" {
		return &model.Error{Code: "NOT_FOUND", Message: "no model is chosen for " + p.cfg.ProviderID + ": set model.name, or choose one in the editor"}
	}
	for adjusted := 0; ; adjusted++ {
		tools := p.tools(req.Tools)
		for _, q := range tools.Quarantined {
			p.note(req, q.Note())
		}
		e := p.encode(req, tools)
		resp, err := p.client.Do(ctx, httpx.Request{
			Method: http.MethodPost, Path: "/chat/completions", Header: p.header("text/event-stream"), Body: e.body, Model: req.Model,
		})
		if err == nil {
			defer resp.Close()
			err := p.decode(resp, req, assemble.New(tools, emit))
			if err == nil {
				resp.Drain()
			}
			return err
		}
		if adjusted < maxAdjust && p.adjust(req, tools, e, err) {
			continue
		}
		return p.nearest(ctx, req.Model, p.toolless(req, err))
	}
}

func (p *Provider) header(accept string) http.Header {
	h := http.Header{"Accept": {accept}}
	for k, vs := range p.cfg.Header {
		h[http.CanonicalHeaderKey(k)] = vs
	}
	return h
}

func (p *Provider) note(req model.Request, n prepare.Note) {
	if p.cfg.OnNote != nil && p.notes.First(req.SessionID, n) {
		p.cfg.OnNote(req.SessionID, n)
	}
}

// nearest adds to a failure about the model's name what the server does have.
func (p *Provider) nearest(ctx context.Context, name string, err error) error {
	var e *model.Error
	if !errors.As(err, &e) || e.Code != "NOT_FOUND" || !strings.Contains(e.Message, "has no model") {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	infos, _ := p.fetch(ctx)
	return httpx.SuggestModel(e, name, infos)
}

// info is what is known about a model: what the configuration says, then what
// the server said, then the table.
func (p *Provider) info(id string) model.Info { return p.configured(p.served(id)) }

// served is info without what is configured for the chosen model.
func (p *Provider) served(id string) model.Info {
	p.mu.Lock()
	defer p.mu.Unlock()
	return known.Find(id, p.cfg.Models, p.listed)
}

// configured puts what is configured for the chosen model over what is known.
func (p *Provider) configured(i model.Info) model.Info {
	if i.ID != p.cfg.Model {
		return i
	}
	return known.Configured(i, p.cfg.ContextWindow, p.cfg.MaxOutput, p.cfg.Images)
}

// Describe says what is known of a model; see [model.Describer].
func (p *Provider) Describe(id string) model.Info {
	i := p.info(id)
	i.Efforts = p.efforts(i)
	return i
}
