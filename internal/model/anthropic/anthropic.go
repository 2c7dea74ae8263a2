// Package anthropic speaks the Messages protocol: Anthropic's own service, and
// others that offer the same. Thinking goes back to its author as it came, with
// its signatures; docs/models.md says why the codec is our own.
package anthropic

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/assemble"
	"github.com/dsh-acp/dsh-acp/internal/model/httpx"
	"github.com/dsh-acp/dsh-acp/internal/model/known"
	"github.com/dsh-acp/dsh-acp/internal/model/prepare"
)

// BaseURL is where Anthropic's own service is.
const BaseURL = "https://api.anthropic.com"

// Config says which server answers and how; the zero value means Anthropic's.
type Config struct {
	// ProviderID is the name in the configuration, the log and messages;
	// "anthropic" when empty.
	ProviderID string
	// BaseURL is what /v1/messages is appended to, with or without the /v1; ""
	// means Anthropic's.
	BaseURL string
	// APIKey gives the key; it is asked with every request. nil, or "", sends
	// none.
	APIKey func() (string, error)
	// KeyHint says how to set a key, such as "set ANTHROPIC_API_KEY".
	KeyHint string
	// Model is used by requests that name none, and comes first in the list.
	Model string
	// Models are offered besides what the server lists, and describe models that
	// it only names.
	Models []model.Info
	// ContextWindow, MaxOutput and Images say what the model called Model can do;
	// 0 and nil leave it to the server and to what is known.
	ContextWindow, MaxOutput int64
	Images                   *bool
	// ExtraBody is added to every request; its members win over ours.
	ExtraBody jsonvalue.Value
	// Header is added to every request. An Authorization in it stands for the
	// key. No message repeats what is in it.
	Header http.Header
	// FirstByteTimeout, IdleTimeout and ProgressTimeout are as in package openai.
	FirstByteTimeout, IdleTimeout, ProgressTimeout time.Duration
	// HTTPClient sends; nil means one of our own, see httpx.Client.
	HTTPClient *http.Client
	// OnNote is told what had to be changed in a request, once a session and
	// note; may be nil. It must not block.
	OnNote func(sessionID string, n prepare.Note)
}

// Provider is a [model.Provider] for one server.
type Provider struct {
	cfg     Config
	client  *httpx.Client
	notes   prepare.Once
	learned prepare.Learned

	mu     sync.Mutex
	listed []model.Info
}

// New makes a provider. It does no work that could fail or take time.
func New(cfg Config) *Provider {
	if cfg.ProviderID == "" {
		cfg.ProviderID = "anthropic"
	}
	if cfg.BaseURL == "" {
		cfg.BaseURL = BaseURL
	}
	cfg.BaseURL = httpx.BaseURL(cfg.BaseURL, "/messages", "/v1")
	return &Provider{cfg: cfg, client: &httpx.Client{
		Secrets:  prepare.HeaderSecrets(cfg.Header),
		Provider: cfg.ProviderID, BaseURL: cfg.BaseURL, Key: cfg.APIKey, KeyHint: cfg.KeyHint, KeyNeeded: cfg.BaseURL == BaseURL,
		SetKey: func(h http.Header, key string) { h.Set("X-Api-Key", key) },
		HTTP:   cfg.HTTPClient, FirstByte: cfg.FirstByteTimeout, Idle: cfg.IdleTimeout, Progress: cfg.ProgressTimeout,
	}}
}

// ProviderID is the configured name.
func (p *Provider) ProviderID() string { return p.cfg.ProviderID }

// Quarantined says which of the tools would be left out of a request, and why.
func (p *Provider) Quarantined(tools []model.ToolSchema) []prepare.Quarantine {
	return prepare.Tools(tools, 0, p.learned.Refused).Quarantined
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
		tools := prepare.Tools(req.Tools, 0, p.learned.Refused)
		for _, q := range tools.Quarantined {
			p.note(req, q.Note())
		}
		e := p.encode(req, tools)
		resp, err := p.client.Do(ctx, httpx.Request{
			Method: http.MethodPost, Path: "/v1/messages", Header: p.header("text/event-stream"), Body: e.body, Model: req.Model,
		})
		if err == nil {
			defer resp.Close()
			err := p.decode(resp, req, assemble.New(tools, emit))
			if err == nil {
				resp.Drain()
			}
			return err
		}
		if room := roomLeft(err); room >= leastRoom && req.MaxTokens != room && adjusted < maxAdjust {
			req.MaxTokens = room
			continue
		}
		if adjusted < maxAdjust && p.adjust(req, tools, e, err) {
			continue
		}
		return p.nearest(ctx, req.Model, err)
	}
}

// leastRoom is the shortest answer, in tokens, that is worth asking for.
const leastRoom = 1024

var noRoom = lazyregexp.New(`(\d+) \+ (\d+) > (\d+)`)

// roomLeft reads how many tokens an answer may have, from a refusal of the
// conversation and the longest answer together; 0 when it says nothing.
func roomLeft(err error) int64 {
	var e *model.Error
	var said *httpx.SaidError
	if !errors.As(err, &e) || e.Code != "CONTEXT_LENGTH" || !errors.As(err, &said) {
		return 0
	}
	m := noRoom.FindStringSubmatch(said.Text)
	if m == nil {
		return 0
	}
	used, err1 := strconv.ParseInt(m[1], 10, 64)
	limit, err2 := strconv.ParseInt(m[3], 10, 64)
	if err1 != nil || err2 != nil {
		return 0
	}
	return limit - used
}

func (p *Provider) header(accept string) http.Header {
	h := http.Header{"Accept": {accept}, "Anthropic-Version": {"2023-06-01"}}
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

// adjust reads a refusal and reports whether the request should be sent again
// without what was refused. What it learns holds for later requests too.
func (p *Provider) adjust(req model.Request, tools *prepare.ToolSet, sent *encoded, err error) bool {
	var e *model.Error
	var said *httpx.SaidError
	if !errors.As(err, &e) || e.Code != "PROTOCOL" || !errors.As(err, &said) || e.Status != 400 && e.Status != 422 {
		return false
	}
	for _, option := range []string{adaptive, "thinking", "output_config", "cache_control"} {
		if sent.options[option] && strings.Contains(said.Text, option) {
			p.learned.Learn(req.Model, option)
			if option != adaptive {
				p.note(req, prepare.Note{Code: "OPTION_DROPPED", Message: p.cfg.ProviderID + " refuses the option " + option + " for " + req.Model + "; it is left out from now on"})
			}
			return true
		}
	}
	if sent.images > 0 && strings.Contains(strings.ToLower(said.Text), "image") {
		p.learned.Learn(req.Model, noImages)
		p.note(req, prepare.Note{Code: "OPTION_DROPPED", Message: "the model " + req.Model + " refuses images; they are left out from now on"})
		return true
	}
	return p.learned.Blame(said.Text, p.cfg.ProviderID, &req, tools)
}

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
