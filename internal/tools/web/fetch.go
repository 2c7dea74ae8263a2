package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/tools"
)

func (w *Web) fetchDefinition() registry.Definition {
	return registry.Definition{
		Name:        FetchName,
		Description: strings.TrimSpace(fetchDescription),
		Parameters: schema.Params{
			schema.Required("url", schema.String("The whole URL, http or https.")),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("",
				schema.Required("url", schema.String("Where the answer came from, after redirects.")),
				schema.Required("statusCode", schema.Integer("The HTTP status.")),
				schema.Required("body", schema.ClosedObject("",
					schema.Required("kind", schema.Enum("html: a page, converted to Markdown; text: anything else, as it is.", "html", "text")),
					schema.Required("content", schema.String("The text.")),
				)),
				schema.Required("truncated", schema.Boolean("Whether content is only the beginning.")),
				schema.Required("totalChars", schema.Integer("How many characters the whole text has.")),
				schema.Optional("redirectedFrom", schema.Array("The URLs that led to url, in order.", schema.String(""))),
				schema.Optional("fetchedSecondsAgo", schema.Integer("The age of an answer that this session had fetched before.")),
			)),
			Render: renderFetch,
			PresentationMeta: func(_, v jsonvalue.Value) (jsonvalue.Value, error) {
				return jsonvalue.Object(
					jsonvalue.Member{Key: "url", Value: v.Get("url")},
					jsonvalue.Member{Key: "statusCode", Value: v.Get("statusCode")},
					jsonvalue.Member{Key: "truncated", Value: v.Get("truncated")},
				), nil
			},
		},
		Execute:         w.fetch,
		PresentCall:     presentFetch,
		PresentResult:   presentFetched,
		ConcurrencySafe: func(jsonvalue.Value) bool { return true },
	}
}

// page is what one URL gave.
type page struct {
	url       string
	status    int
	kind      string
	text      string
	truncated bool
	total     int
	from      []string
	at        time.Time
}

var errTimeout = errors.New("web fetch timed out")

func (w *Web) fetch(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	u, err := parseURL(args.GetString("url"))
	if err != nil {
		return jsonvalue.Value{}, err
	}
	who := tools.SessionID(run.Execution())
	if p, ok := w.cache.get(who, u.String()); ok {
		return p.value(max(1, int64(time.Since(p.at).Seconds()))), nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, Timeout, errTimeout)
	defer cancel()
	p, keep, err := w.get(ctx, u, func(to string) bool { return w.opt.Follow == nil || w.opt.Follow(run.Execution(), to) })
	switch {
	case context.Cause(ctx) == errTimeout && err != nil:
		return jsonvalue.Value{}, errTimeout
	case ctx.Err() != nil && err != nil:
		return jsonvalue.Value{}, ctx.Err()
	case err != nil:
		return jsonvalue.Value{}, err
	}
	if keep {
		w.cache.put(who, u.String(), p)
	}
	return p.value(0), nil
}

// get follows the redirects of one origin, as far as may says so. keep says whether
// the answer may be given again.
func (w *Web) get(ctx context.Context, u *url.URL, may func(to string) bool) (p *page, keep bool, err error) {
	var from []string
	for hop := 0; ; hop++ {
		resp, err := w.request(ctx, u)
		if err != nil {
			return nil, false, err
		}
		to, err := redirect(u, resp)
		if to == nil && err == nil {
			defer resp.Body.Close()
			p, err = w.read(resp, u)
			if err != nil {
				return nil, false, err
			}
			p.url, p.from, p.at = u.String(), from, time.Now()
			keep = p.status == http.StatusOK && !w.local(u.Hostname(), portOf(u)) && storable(resp.Header)
			return p, keep, nil
		}
		_ = resp.Body.Close()
		if err != nil {
			return nil, false, err
		}
		if !may(to.String()) {
			return nil, false, fmt.Errorf("the redirect to %s is not followed: the permission rules judge it differently; retry against that URL directly", to)
		}
		if hop == maxRedirects {
			return nil, false, fmt.Errorf("exceeded the maximum of %d redirects", maxRedirects)
		}
		from = append(from, u.String())
		u = to
	}
}

// redirect is where an answer leads; nil when it is the last one. Only the same
// origin is followed: what the user allowed was this one.
func redirect(u *url.URL, resp *http.Response) (*url.URL, error) {
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
	default:
		return nil, nil
	}
	location := resp.Header.Get("Location")
	if location == "" {
		return nil, nil
	}
	to, err := u.Parse(location)
	if err != nil {
		return nil, fmt.Errorf("web fetch failed: the redirect to %q leads nowhere", location)
	}
	if err := tidy(to); err != nil {
		return nil, fmt.Errorf("web fetch failed: the redirect to %s is not followed: %w", to.Redacted(), err)
	}
	if origin(to) != origin(u) {
		return nil, fmt.Errorf("cross-origin redirect to %s is not followed automatically; retry against that URL directly: %s", origin(to), to)
	}
	return to, nil
}

func (w *Web) request(ctx context.Context, u *url.URL) (*http.Response, error) {
	c, err := w.clientFor(ctx, u)
	if err != nil {
		return nil, failed(err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, failed(err)
	}
	req.Header.Set("User-Agent", w.opt.UserAgent)
	req.Header.Set("Accept", "text/markdown, text/html;q=0.9, application/xhtml+xml;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.1")
	resp, err := c.Do(req)
	if err != nil {
		return nil, failed(err)
	}
	return resp, nil
}

// failed says in one line why there is no answer.
func failed(err error) error {
	var ue *url.Error
	if errors.As(err, &ue) {
		err = ue.Err
	}
	var dns *net.DNSError
	var private *privateError
	text := err.Error()
	switch {
	case errors.As(err, &private):
		text = private.Error()
	case errors.As(err, &dns) && dns.IsNotFound:
		text = "the host " + dns.Name + " is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		text = "nothing listens there (connection refused)"
	}
	text, _, _ = strings.Cut(text, "\n")
	return fmt.Errorf("web fetch failed: %s", text)
}

// read takes an answer's body within the bounds and makes text of it.
func (w *Web) read(resp *http.Response, u *url.URL) (*page, error) {
	p := &page{status: resp.StatusCode, kind: "text"}
	if e := resp.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, fmt.Errorf("unsupported content encoding %q", e)
	}
	typ, err := typeOf(resp.Header.Get("Content-Type"))
	if err != nil {
		return nil, err
	}
	if resp.ContentLength > maxBody {
		return nil, tooLong()
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody+1))
	switch {
	case err != nil:
		return nil, failed(err)
	case len(body) > maxBody:
		return nil, tooLong()
	}
	text, html, err := typ.text(body)
	if err != nil {
		return nil, err
	}
	if html {
		p.kind = "html"
		text = markdown(text, u)
	}
	p.text, p.total = cut(text, maxText)
	p.truncated = p.total > maxText
	return p, nil
}

func tooLong() error { return fmt.Errorf("response exceeds the maximum of %d bytes", maxBody) }

func (p *page) value(age int64) jsonvalue.Value {
	v := jsonvalue.Object(
		jsonvalue.Member{Key: "url", Value: jsonvalue.String(p.url)},
		jsonvalue.Member{Key: "statusCode", Value: jsonvalue.Int(int64(p.status))},
		jsonvalue.Member{Key: "body", Value: jsonvalue.Object(
			jsonvalue.Member{Key: "kind", Value: jsonvalue.String(p.kind)},
			jsonvalue.Member{Key: "content", Value: jsonvalue.String(p.text)},
		)},
		jsonvalue.Member{Key: "truncated", Value: jsonvalue.Bool(p.truncated)},
		jsonvalue.Member{Key: "totalChars", Value: jsonvalue.Int(int64(p.total))},
	)
	if len(p.from) > 0 {
		from := make([]jsonvalue.Value, len(p.from))
		for i, u := range p.from {
			from[i] = jsonvalue.String(u)
		}
		v = v.With("redirectedFrom", jsonvalue.Array(from...))
	}
	if age > 0 {
		v = v.With("fetchedSecondsAgo", jsonvalue.Int(age))
	}
	return v
}

// renderFetch is what the model reads. A page is somebody else's text: the first
// line says where it begins.
func renderFetch(_, v jsonvalue.Value) ([]content.Block, error) {
	var b strings.Builder
	status, _ := v.Get("statusCode").Int64()
	fmt.Fprintf(&b, "Fetched %s (HTTP %d)", v.GetString("url"), status)
	for _, u := range v.Get("redirectedFrom").Elements() {
		text, _ := u.Str()
		b.WriteString("\nRedirected from " + text)
	}
	if age, ok := v.Get("fetchedSecondsAgo").Int64(); ok {
		fmt.Fprintf(&b, "\nKept from a fetch %d s ago in this session.", age)
	}
	b.WriteString("\n\n" + v.Get("body").GetString("content"))
	if cut, _ := v.Get("truncated").Bool(); cut {
		total, _ := v.Get("totalChars").Int64()
		fmt.Fprintf(&b, "\n\n(Content truncated. Fetch a more specific URL or section for the full text.)\n(These are the first %d of %d characters.)", maxText, total)
	}
	return []content.Block{content.Text(b.String())}, nil
}

func presentFetch(args jsonvalue.Value) *cards.Call {
	u := args.GetString("url")
	return &cards.Call{Card: cards.Generic, Kind: cards.KindFetch, Title: u, RawInput: jsonvalue.String(u)}
}

func presentFetched(_ jsonvalue.Value, in cards.ResultInput) *cards.Result {
	status, ok := in.Meta.Get("statusCode").Int64()
	if in.IsError || !ok {
		return nil
	}
	truncated, _ := in.Meta.Get("truncated").Bool()
	return &cards.Result{Card: cards.Web, Web: &cards.WebResult{
		Kind: "fetch", URL: in.Meta.GetString("url"), StatusCode: int(status), Truncated: truncated,
	}}
}
