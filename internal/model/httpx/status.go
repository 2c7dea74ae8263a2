package httpx

import (
	"bytes"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// Failure is what a server said instead of answering.
type Failure struct {
	// Status is the HTTP status, or what the body says it would have been.
	Status int
	Header http.Header
	// Body is the start of the body: JSON, a web page, or anything.
	Body []byte
	// Model is what was asked for.
	Model string
	// Inside says that the failure came inside a stream with status 200.
	Inside bool

	secret string
}

// ServerText is what a server's error object says.
type ServerText struct {
	// Message, Code and Type as the server wrote them; "" where it did not.
	Message, Code, Type string
	// HTML says that the body was a web page; Message is then its title.
	HTML bool
}

// SaidError is what a server itself said about a failure, without keys. It is
// the cause of errors that [Client.Do] gives for a status.
type SaidError struct {
	// Text is the message, the code and the type of the server's error object.
	Text string
}

// Error is the text.
func (e *SaidError) Error() string { return e.Text }

var (
	titleTag = lazyregexp.New(`(?is)<title[^>]*>(.*?)</title>`)
	htmlPage = lazyregexp.New(`(?i)^\s*(<!doctype html|<html|<head|<body)`)
)

// Text takes an error body apart: {"error":{…}}, {"error":"…"}, {"message":"…"},
// {"detail":…}, [{"error":…}], a web page, or plain text.
func Text(body []byte) ServerText {
	if htmlPage.Match(body) {
		t := ServerText{HTML: true}
		if m := titleTag.FindSubmatch(body); m != nil {
			t.Message = html.UnescapeString(oneLine(string(m[1])))
		}
		return t
	}
	v, err := jsonvalue.Parse(bytes.TrimSpace(body))
	if err != nil {
		return ServerText{Message: oneLine(string(body))}
	}
	if v.IsArray() {
		v = v.At(0)
	}
	e := v
	if inner, ok := v.Lookup("error"); ok && !inner.IsNull() {
		e = inner
	}
	if s, ok := e.Str(); ok {
		return ServerText{Message: oneLine(s), Code: scalar(v.Get("code")), Type: v.GetString("type")}
	}
	t := ServerText{Code: scalar(e.Get("code")), Type: e.GetString("type")}
	if t.Type == "" {
		t.Type = e.GetString("status")
	}
	for _, key := range []string{"message", "detail", "error_description", "msg"} {
		if m, ok := e.Lookup(key); ok && !m.IsNull() {
			if s, ok := m.Str(); ok {
				t.Message = oneLine(s)
			} else {
				t.Message = oneLine(m.String())
			}
			break
		}
	}
	// OpenRouter wraps the words of the server behind it.
	if raw := e.Get("metadata").GetString("raw"); raw != "" {
		t.Message = strings.TrimSpace(t.Message + ": " + oneLine(raw))
	}
	return t
}

func scalar(v jsonvalue.Value) string {
	if s, ok := v.Str(); ok {
		return s
	}
	s, _ := v.Literal()
	return s
}

// statusIn guesses the HTTP status an error object stands for; 0 when it does
// not say.
func statusIn(body []byte) int {
	t := Text(body)
	if n, err := strconv.Atoi(t.Code); err == nil && n >= 400 && n < 600 {
		return n
	}
	kind := strings.ToLower(t.Type + " " + t.Code)
	for _, k := range []struct {
		word   string
		status int
	}{
		{"overloaded", 529},
		{"conflict", 409},
		{"rate_limit", 429},
		{"too_many_requests", 429},
		{"insufficient_quota", 429},
		{"billing", 402},
		{"authentication", 401},
		{"invalid_api_key", 401},
		{"permission", 403},
		{"not_found", 404},
		{"request_too_large", 413},
		{"context_length", 400},
		{"exceed_context_size", 400},
		{"invalid_request", 400},
		{"timeout", 504},
		{"api_error", 500},
		{"server_error", 500},
		{"unavailable", 503},
	} {
		if strings.Contains(kind, k.word) {
			return k.status
		}
	}
	return 0
}

var (
	contextWords = lazyregexp.New(`(?i)context_length_exceeded|exceed_context_size|maximum context length|context (window|length|size|limit)|prompt is too long|too many (input )?tokens|input is too long|exceeds? the (model'?s? )?(available|maximum|max)[a-z ]* (context|tokens|length)|reduce the length of the (messages|prompt)|max_model_len|model_context_window`)
	quotaWords   = lazyregexp.New(`(?i)insufficient[_ ](quota|balance|credit|funds)|exceeded your current quota|credit balance is too low|billing|payment required|out of credits|quota (is )?exhausted|not enough credits`)
	modelWords   = lazyregexp.New(`(?i)model_not_found|(model|deployment)[^.]{0,80}(not found|does ?n.t exist|not exist|is not available|not a valid|no access|try pulling)|(unknown|invalid|no such|not a valid|unsupported) model|no endpoints found|^model: \S+ .*not_found_error|model not exist`)
	pullWords    = lazyregexp.New(`(?i)try pulling it|ollama pull`)
)

// StatusError turns a server's failure into an error with a code, the words for
// a person, and whether the same request may succeed later.
func (c *Client) StatusError(f Failure) *model.Error {
	t := Text(f.Body)
	said := ""
	if m := c.redact(t.Message, f.secret); m != "" {
		said = ": " + cut(m, 400)
	}
	if t.HTML {
		said = ": it answered with a web page"
		if m := c.redact(t.Message, f.secret); m != "" {
			said += fmt.Sprintf(" (%q)", cut(m, 100))
		}
	}
	status := ""
	if f.Status != 0 && !f.Inside {
		status = fmt.Sprintf(" (HTTP %d)", f.Status)
	}
	e := &model.Error{Status: f.Status, RetryAfter: RetryAfter(f.Header, time.Now())}
	if e.RetryAfter == 0 {
		e.RetryAfter = waitIn(t.Message)
	}
	words := t.Message + " " + t.Code + " " + t.Type
	e.Err = &SaidError{Text: c.redact(words, f.secret)}
	p := c.Provider
	quota := quotaWords.MatchString(words)
	switch s := f.Status; {
	case (s == 400 || s == 413 || s == 422 || s == 500 || s == 0) && contextWords.MatchString(words):
		e.Code = "CONTEXT_LENGTH"
		e.Message = fmt.Sprintf("the conversation does not fit into the context of model %q%s: compact it or start a new session%s", f.Model, status, said)
	case s == 402, quota && (s == 429 || s == 403 || s == 400 || s == 0):
		e.Code = "QUOTA"
		e.Message = fmt.Sprintf("%s refuses to go on because the account has no balance or quota left%s: top it up or choose another provider%s", p, status, said)
	case s == 401:
		// The server's own words may repeat a part of the key.
		e.Code = "AUTH"
		if f.secret == "" {
			e.Message = fmt.Sprintf("%s wants an API key and none is set%s: %s", p, status, c.keyHint())
		} else {
			e.Message = fmt.Sprintf("%s refused the API key%s: %s", p, status, c.keyHint())
		}
	case s == 403:
		e.Code = "AUTH"
		e.Message = fmt.Sprintf("%s does not allow this%s%s; check that the key may use model %q, and that this network may reach the service", p, status, said, f.Model)
	case s == 407:
		e.Code = "NETWORK"
		e.Message = "the proxy wants a name and a password (HTTP 407): put them into HTTPS_PROXY as http://NAME:PASSWORD@HOST:PORT"
	case (s == 404 || s == 400 || s == 422 || s == 0) && modelWords.MatchString(words):
		e.Code = "NOT_FOUND"
		e.Message = fmt.Sprintf("%s has no model %q%s", p, f.Model, status)
		if pullWords.MatchString(words) {
			e.Message += fmt.Sprintf("; run \"ollama pull %s\" first", f.Model)
		}
	case s == 404, s == 405:
		e.Code = "NOT_FOUND"
		e.Message = fmt.Sprintf("%s answers, but not at this path%s%s; model.base_url is probably wrong: many servers want it to end with /v1", hostOf(c.BaseURL), status, said)
	case s >= 300 && s < 400:
		e.Code = "NETWORK"
		e.Message = fmt.Sprintf("%s redirects to another address%s", hostOf(c.BaseURL), status)
		if to := hostOf(f.Header.Get("Location")); to != "the server" {
			e.Message += ", " + to
		}
		e.Message += "; if that is the right one, set model.base_url to it"
	case s == 413:
		e.Code = "CONTEXT_LENGTH"
		e.Message = fmt.Sprintf("the request is too large for %s%s: compact the conversation or send smaller images", p, status)
	case s == 429:
		e.Code, e.Retryable = "RATE_LIMITED", true
		e.Message = fmt.Sprintf("%s limits how many requests it takes%s", p, status)
		if e.RetryAfter > 0 {
			e.Message += fmt.Sprintf(" and asks to wait %s", round(e.RetryAfter))
		}
		e.Message += "; wait and try again" + said
	case s == 409, s == 425:
		// Nothing about the request is wrong; it came at a bad moment.
		e.Code, e.Retryable = "OVERLOADED", true
		e.Message = fmt.Sprintf("%s is busy with something that the request conflicts with%s; try again%s", p, status, said)
	case s == 408, s == 504, s == 524:
		e.Code, e.Retryable = "TIMEOUT", true
		e.Message = fmt.Sprintf("%s took too long%s; try again%s", p, status, said)
	case s == 501, s == 505:
		e.Code = "PROTOCOL"
		e.Message = fmt.Sprintf("%s cannot do this%s%s; check model.base_url", p, status, said)
	case s >= 500:
		e.Code, e.Retryable = "OVERLOADED", true
		e.Message = fmt.Sprintf("%s is overloaded or has a fault%s; try again later%s", p, status, said)
	case s == 0:
		e.Code, e.Retryable = "PROTOCOL", true
		e.Message = fmt.Sprintf("%s broke off its answer with an error%s; try again", p, said)
	default:
		e.Code = "PROTOCOL"
		e.Message = fmt.Sprintf("%s refused the request%s%s", p, status, said)
		if said == "" || t.HTML {
			e.Message += "; check model.base_url and model.name"
		}
	}
	if !e.Retryable {
		e.RetryAfter = 0
	}
	return e
}

// RetryAfter reads how long a server asks to wait: retry-after-ms, or
// Retry-After in seconds or as a date. 0 when it does not say, or has passed.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	const most = 365 * 24 * time.Hour
	bound := func(d float64) time.Duration {
		if !(d > 0) {
			return 0
		}
		return time.Duration(min(d, float64(most)))
	}
	if ms, err := strconv.ParseFloat(strings.TrimSpace(h.Get("Retry-After-Ms")), 64); err == nil {
		return bound(ms * float64(time.Millisecond))
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(text, 64); err == nil {
		return bound(s * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return bound(float64(at.Sub(now)))
	}
	return 0
}

var waitWords = lazyregexp.New(`(?i)(?:try again|retry) (?:in|after) (\d+(?:\.\d+)?) ?(ms|s|m|sec|seconds?|minutes?)\b`)

// waitIn finds how long to wait in a server's words, for those who say it there
// and nowhere else.
func waitIn(words string) time.Duration {
	m := waitWords.FindStringSubmatch(words)
	if m == nil {
		return 0
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil || n > 1e6 {
		return 0
	}
	unit := time.Second
	switch strings.ToLower(m[2]) {
	case "ms":
		unit = time.Millisecond
	case "m", "minute", "minutes":
		unit = time.Minute
	}
	return time.Duration(n * float64(unit))
}

// keyLike finds what looks like a key of somebody.
var keyLike = lazyregexp.New(`(?i)(bearer\s+)[A-Za-z0-9._~+/=*-]{8,}|\b(sk|gsk|xai|AIza|key)-[A-Za-z0-9_*-]{8,}`)

// redact removes the key from a text, and whatever else looks like one.
func (c *Client) redact(s, secret string) string {
	for _, other := range c.Secrets {
		s = redact(s, other)
	}
	return redact(s, secret)
}

func redact(s, secret string) string {
	if len(secret) >= 4 {
		s = strings.ReplaceAll(s, secret, "[key]")
	}
	return keyLike.ReplaceAllString(s, "[key]")
}

// oneLine makes a text fit into a sentence.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s, "\uFFFD"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
}

// cut shortens a text to about n bytes, at a rune.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
