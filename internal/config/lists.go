package config

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

func errAtMost(limit, got string) error { return fmt.Errorf("must be at most %s, got %s", limit, got) }

func errAtLeast(limit, got string) error {
	return fmt.Errorf("must be at least %s, got %s", limit, got)
}

func baseURL() *key {
	return &key{
		name: "base_url", typ: "URL", initial: "the provider's own", doc: "Any server that speaks the provider's protocol, such as a local one.",
		read: func(_ *reader, n *node) (change, error) {
			v, err := parseText(n)
			if err == nil {
				err = checkURL(v)
			}
			return func(c *Config) { c.Model.BaseURL = v }, err
		},
	}
}

func patternsKey(name, doc string, place func(*Config) *[]string) *key {
	return &key{name: name, typ: "list of text", initial: "[]", doc: doc, read: func(_ *reader, n *node) (change, error) {
		v, err := readTexts(n)
		for _, p := range v {
			if _, bad := regexp.Compile(p); bad != nil && err == nil {
				err = fmt.Errorf("%q is no regular expression: %w", p, bad)
			}
		}
		return func(c *Config) { *place(c) = v }, err
	}}
}

func headersKey() *key {
	return &key{
		name: "headers", typ: "mapping of names to text", initial: "{}", doc: "HTTP headers that are sent with every request to the model, for gateways. Keys belong into an environment variable.",
		read: func(_ *reader, n *node) (change, error) {
			v, err := readTextMap(n)
			for name, value := range v {
				if err == nil && !headerName(name) {
					err = fmt.Errorf("%q is no name of an HTTP header", name)
				}
				if err == nil && strings.ContainsAny(value, "\r\n\x00") {
					err = fmt.Errorf("%s: a header cannot have several lines", name)
				}
			}
			return func(c *Config) { c.Model.Headers = v }, err
		},
	}
}

// headerName reports whether HTTP takes that name (RFC 9110's token).
func headerName(s string) bool {
	for _, r := range s {
		if r <= ' ' || r >= 0x7f || strings.ContainsRune("()<>@,;:\\\"/[]?={}", r) {
			return false
		}
	}
	return s != ""
}

func checkURL(v string) error {
	if v == "" {
		return nil
	}
	u, err := url.Parse(v)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return errors.New("expected an http or https URL, such as http://localhost:11434/v1")
	}
	if u.User != nil {
		return errors.New("a URL with a user or password is not read; keys go into an environment variable")
	}
	return nil
}

func readList(n *node, what string, read func(*node) error) error {
	if n.kind == kindNull {
		return nil
	}
	if n.kind != kindList {
		return fmt.Errorf("expected a list of %s, got %s", what, describe(n))
	}
	for _, item := range n.items {
		if err := read(item); err != nil {
			return at(item, err)
		}
	}
	return nil
}

func texts(name, doc string, at func(*Config) *[]string) *key {
	return &key{name: name, typ: "list of text", initial: "[]", doc: doc, read: func(_ *reader, n *node) (change, error) {
		v, err := readTexts(n)
		return func(c *Config) { *at(c) = v }, err
	}}
}

func readTexts(n *node) ([]string, error) {
	var out []string
	err := readList(n, "text", func(item *node) error {
		v, err := parseText(item)
		out = append(out, v)
		return err
	})
	return out, err
}

func paths(name, doc string, at func(*Config) *[]string) *key {
	return &key{name: name, typ: "list of paths", initial: "[]", doc: doc, read: func(r *reader, n *node) (change, error) {
		v, err := readTexts(n)
		for i := range v {
			v[i] = resolvePath(v[i], r.dir, r.home)
		}
		return func(c *Config) { *at(c) = v }, err
	}}
}

func readTextMap(n *node) (map[string]string, error) {
	if n.kind == kindNull {
		return nil, nil
	}
	if n.kind != kindMap {
		return nil, fmt.Errorf("expected a mapping of names to text, got %s", describe(n))
	}
	out := map[string]string{}
	for _, e := range n.entries {
		v, err := parseText(e.value)
		if err != nil {
			return nil, at(e.value, fmt.Errorf("%s: %w", e.key, err))
		}
		out[e.key] = v
	}
	return out, nil
}

// located is a complaint about a place inside a value.
type located struct {
	line, column int
	err          error
}

func (l *located) Error() string { return l.err.Error() }
func (l *located) Unwrap() error { return l.err }

// at gives an error the position of a node, unless a deeper one is known.
func at(n *node, err error) error {
	var l *located
	if err == nil || errors.As(err, &l) {
		return err
	}
	return &located{line: n.line, column: n.column, err: err}
}

// fields reads a mapping with fixed keys.
func fields(n *node, what string, read map[string]func(*node) error) error {
	if n.kind != kindMap {
		return fmt.Errorf("expected %s, got %s", what, describe(n))
	}
	for _, e := range n.entries {
		f, ok := read[e.key]
		if !ok {
			return &located{line: e.line, column: e.column, err: unknownKey(e.key, sortedKeys(read))}
		}
		if err := f(e.value); err != nil {
			return at(e.value, fmt.Errorf("%s: %w", e.key, err))
		}
	}
	return nil
}

func into(to *string) func(*node) error {
	return func(n *node) (err error) {
		*to, err = parseText(n)
		return err
	}
}

const maxMatchBytes = 1024

func rulesKey() *key {
	return &key{
		name: "rules", typ: "list of {tool, match, decision, reason}", initial: "[]", scope: tightens,
		doc: "The first rule that matches decides; see permissions.md. Rules of a later file come before those of an earlier one.",
		read: func(r *reader, n *node) (change, error) {
			var rules []Rule
			err := readList(n, "rules", func(item *node) error {
				rule := Rule{Origin: r.origin(item.line)}
				match := item
				err := fields(item, "a rule such as {tool: bash, match: \"git push*\", decision: ask}", map[string]func(*node) error{
					"tool":   into(&rule.Tool),
					"match":  func(n *node) error { match = n; return into(&rule.Match)(n) },
					"reason": into(&rule.Reason),
					"decision": func(n *node) (err error) {
						rule.Decision, err = parseEnum(n, Decisions)
						return err
					},
				})
				switch {
				case err != nil:
					return err
				case rule.Tool == "":
					return errors.New("a rule needs a tool: a name, or a pattern such as mcp__* or *")
				case rule.Decision == "":
					return fmt.Errorf("a rule needs a decision: %s", strings.Join(Decisions, ", "))
				case len(rule.Match) > maxMatchBytes || len(rule.Tool) > maxMatchBytes:
					return fmt.Errorf("a pattern has at most %d bytes", maxMatchBytes)
				}
				if err := checkMatch(rule.Tool, rule.Match); err != nil {
					return at(match, err)
				}
				if odd := unknownTool(rule.Tool); odd != "" {
					r.warn(item.line, "permissions.rules", odd)
				}
				if !r.workspace {
					rules = append(rules, rule)
				} else if rule.Decision == "allow" {
					r.warn(item.line, "permissions.rules", "a workspace file cannot allow anything; put the rule into your own configuration to have it")
				} else {
					rules = append(rules, rule)
				}
				return nil
			})
			if r.workspace {
				return func(c *Config) { c.Permissions.Restrictions = append(rules, c.Permissions.Restrictions...) }, err
			}
			return func(c *Config) { c.Permissions.Rules = append(rules[:len(rules):len(rules)], c.Permissions.Rules...) }, err
		},
		stricter: func(_, _ *Config) bool { return true },
	}
}

func pluginsKey() *key {
	return &key{
		name: "plugins", typ: "list of {name, command, args, env}", initial: "[]", scope: reported,
		doc: "Plugins. This version reads them and does not start them.",
		read: func(r *reader, n *node) (change, error) {
			var plugins []Plugin
			err := readList(n, "plugins", func(item *node) error {
				p := Plugin{Origin: r.origin(item.line)}
				var err error
				if item.kind == kindString {
					p.Command = item.text
				} else {
					err = fields(item, "a command, or {name: NAME, command: PATH}", map[string]func(*node) error{
						"name":    into(&p.Name),
						"command": into(&p.Command),
						"args":    func(n *node) (err error) { p.Args, err = readTexts(n); return err },
						"env":     func(n *node) (err error) { p.Env, err = readTextMap(n); return err },
					})
				}
				if err == nil && p.Command == "" {
					err = errors.New("a plugin needs a command")
				}
				if err != nil {
					return err
				}
				if strings.ContainsAny(p.Command, `/\`) || strings.HasPrefix(p.Command, "~") {
					p.Command = resolvePath(p.Command, r.dir, r.home)
				}
				plugins = append(plugins, p)
				r.warn(item.line, "plugins", "this version does not start plugins; the entry has no effect")
				return nil
			})
			return func(c *Config) { c.Plugins = append(c.Plugins[:len(c.Plugins):len(c.Plugins)], plugins...) }, err
		},
	}
}
