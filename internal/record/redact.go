package record

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Redaction says what a recording must not hold.
type Redaction struct {
	// Home and Host become {{home}} and {{host}}; "" leaves them.
	Home, Host string
	// Secrets become [redacted] wherever they stand, such as the keys in use.
	Secrets []string
	// Patterns are regular expressions; what they match becomes [redacted], or
	// their first group where they have one.
	Patterns []string
}

const redacted = "[redacted]"

// secretPatterns match what looks like a key, whoever made it. Of those with a
// group only the group goes.
var secretPatterns = []string{
	`\bsk-[A-Za-z0-9_-]{12,}`,
	`\b(?:gh[pousr]_|github_pat_|glpat-|xox[abprs]-|npm_|hf_)[A-Za-z0-9_-]{10,}`,
	`\b(?:AKIA|ASIA)[A-Z0-9]{16}\b`,
	`\bAIza[A-Za-z0-9_-]{30,}`,
	`(?i)\bbearer\s+([A-Za-z0-9._~+/=-]{12,})`,
	`\beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{5,}`,
	`-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`,
	`(?i)[a-z_-]*(?:api[_-]?key|secret|token|passwd|password)["']?\s*[:=]\s*["']?([A-Za-z0-9._~+/=-]{12,})`,
	`[a-z][a-z0-9+.-]*://[^\s/:@"']*:([^\s/@"']{3,})@`,
}

type redactor struct {
	literal  *strings.Replacer // secrets
	places   *strings.Replacer // home and host
	patterns []*regexp.Regexp
}

func newRedactor(r Redaction) (*redactor, error) {
	out := &redactor{}
	for _, p := range append(slices.Clone(secretPatterns), r.Patterns...) {
		re, err := regexp.Compile(p)
		if err != nil {
			return nil, fmt.Errorf("record.redact: %w", err)
		}
		out.patterns = append(out.patterns, re)
	}
	var pairs []string
	for _, s := range r.Secrets {
		if len(s) >= 6 {
			pairs = append(pairs, s, redacted)
		}
	}
	out.literal = strings.NewReplacer(pairs...)
	pairs = nil
	if len(r.Home) > 1 {
		pairs = append(pairs, r.Home, "{{home}}")
	}
	if len(r.Host) > 3 && r.Host != "localhost" {
		pairs = append(pairs, r.Host, "{{host}}")
	}
	out.places = strings.NewReplacer(pairs...)
	return out, nil
}

// text removes secrets from a text.
func (r *redactor) text(s string) string {
	s = r.literal.Replace(s)
	for _, re := range r.patterns {
		s = replace(re, s)
	}
	return s
}

// replace puts the mark in the place of each match, or of its first group.
func replace(re *regexp.Regexp, s string) string {
	found := re.FindAllStringSubmatchIndex(s, -1)
	if found == nil {
		return s
	}
	var b strings.Builder
	at := 0
	for _, m := range found {
		from, to := m[0], m[1]
		if len(m) > 3 && m[2] >= 0 {
			from, to = m[2], m[3]
		}
		if from == to || s[from:to] == redacted {
			continue
		}
		b.WriteString(s[at:from] + redacted)
		at = to
	}
	b.WriteString(s[at:])
	return b.String()
}

// value removes secrets from every text in a value, names of members included.
func (r *redactor) value(v jsonvalue.Value) jsonvalue.Value { return mapText(v, r.text) }

// mapText gives the value with every text changed.
func mapText(v jsonvalue.Value, change func(string) string) jsonvalue.Value {
	if s, ok := v.Str(); ok {
		if t := change(s); t != s {
			return jsonvalue.StringWTF8(t)
		}
		return v
	}
	switch {
	case v.IsArray():
		list := make([]jsonvalue.Value, 0, v.Len())
		for _, x := range v.Elements() {
			list = append(list, mapText(x, change))
		}
		return jsonvalue.Array(list...)
	case v.IsObject():
		ms := make([]jsonvalue.Member, 0, v.Len())
		seen := map[string]bool{}
		for k, x := range v.Members() {
			name := change(k)
			for seen[name] {
				name += "_"
			}
			seen[name] = true
			ms = append(ms, member(name, mapText(x, change)))
		}
		return jsonvalue.Object(ms...)
	}
	return v
}
