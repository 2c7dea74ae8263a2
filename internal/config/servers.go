package config

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

func serversKey() *key {
	return &key{
		name: "mcp_servers", typ: "mapping of a name to {command, args, env, cwd} or {url, headers}, each with type, start_timeout, call_timeout, disabled", initial: "{}", scope: reported,
		doc: "MCP servers; see mcp.md. A later file replaces a server of the same name.",
		read: func(r *reader, n *node) (change, error) {
			if n.kind == kindNull {
				return func(*Config) {}, nil
			}
			if n.kind != kindMap {
				return nil, fmt.Errorf("expected a mapping of server names, got %s", describe(n))
			}
			var servers []MCPServer
			for _, e := range n.entries {
				s, err := r.readServer(e.value)
				if err == nil && strings.TrimSpace(e.key) == "" {
					err = errors.New("a server needs a name")
				}
				if err != nil {
					return nil, at(e.value, fmt.Errorf("%s: %w", e.key, err))
				}
				s.Name, s.Origin = e.key, r.origin(e.line)
				servers = append(servers, s)
			}
			return func(c *Config) {
				for _, s := range servers {
					c.MCPServers = replaceServer(c.MCPServers, s)
				}
			}, nil
		},
	}
}

func replaceServer(list []MCPServer, s MCPServer) []MCPServer {
	out := append([]MCPServer(nil), list...)
	for i := range out {
		if out[i].Name == s.Name {
			out[i] = s
			return out
		}
	}
	return append(out, s)
}

func (r *reader) readServer(n *node) (MCPServer, error) {
	var s MCPServer
	limit := func(to *time.Duration) func(*node) error {
		return func(n *node) (err error) {
			if *to, err = parseDuration(n); err == nil && *to > time.Hour {
				err = errAtMost("1h", n.text)
			}
			return err
		}
	}
	err := fields(n, "a server such as {command: NAME, args: []} or {url: URL}", map[string]func(*node) error{
		"type": func(n *node) (err error) {
			s.Type, err = parseEnum(n, []string{"stdio", "http", "sse"})
			return err
		},
		"command": referring(&s.Command),
		"args": func(n *node) (err error) {
			if s.Args, err = readTexts(n); err == nil {
				err = checkReferences(s.Args...)
			}
			return err
		},
		"env": referringMap(&s.Env),
		"cwd": func(n *node) (err error) {
			if s.Cwd, err = parseText(n); err == nil && s.Cwd != "" {
				s.Cwd = resolvePath(s.Cwd, r.dir, r.home)
			}
			return err
		},
		"url": func(n *node) (err error) {
			if err = referring(&s.URL)(n); err == nil && !strings.Contains(s.URL, "${") {
				err = checkURL(s.URL)
			}
			return err
		},
		"headers":       referringMap(&s.Headers),
		"start_timeout": limit(&s.StartTimeout),
		"call_timeout":  limit(&s.CallTimeout),
		"disabled": func(n *node) error {
			if n.kind != kindBool {
				return fmt.Errorf("expected true or false, got %s", describe(n))
			}
			s.Disabled = n.text == "true"
			return nil
		},
	})
	if err != nil {
		return s, err
	}
	if s.Type == "" {
		s.Type = "stdio"
		if s.URL != "" {
			s.Type = "http"
		}
	}
	switch {
	case s.Command != "" && s.URL != "":
		return s, errors.New("a server has a command or a url, not both")
	case s.Type == "stdio" && s.URL != "":
		return s, errors.New("a stdio server has a command, not a url")
	case s.Type == "stdio" && s.Command == "":
		return s, errors.New("a stdio server needs a command")
	case s.Type != "stdio" && s.URL == "":
		return s, fmt.Errorf("an %s server needs a url", s.Type)
	case s.Type == "stdio" && s.Headers != nil:
		return s, errors.New("headers belong to http and sse servers")
	case s.Type != "stdio" && (s.Args != nil || s.Env != nil || s.Cwd != ""):
		return s, errors.New("args, env and cwd belong to stdio servers")
	}
	if strings.ContainsAny(s.Command, `/\`) || strings.HasPrefix(s.Command, "~") {
		if !strings.HasPrefix(s.Command, "${") {
			s.Command = resolvePath(s.Command, r.dir, r.home)
		}
	}
	return s, nil
}

// referring reads text that may refer to environment variables.
func referring(to *string) func(*node) error {
	return func(n *node) error {
		if err := into(to)(n); err != nil {
			return err
		}
		return checkReferences(*to)
	}
}

func referringMap(to *map[string]string) func(*node) error {
	return func(n *node) (err error) {
		if *to, err = readTextMap(n); err != nil {
			return err
		}
		for _, name := range sortedKeys(*to) {
			if err := checkReferences((*to)[name]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		return nil
	}
}

// checkReferences refuses references that can never be resolved.
func checkReferences(texts ...string) error {
	for _, text := range texts {
		var unset *UnsetError
		if _, err := ExpandEnv(text, func(string) (string, bool) { return "", false }); err != nil && !errors.As(err, &unset) {
			return err
		}
	}
	return nil
}

// UnsetError is a reference to an environment variable that is not set.
type UnsetError struct{ Name string }

// Error names the variable.
func (e *UnsetError) Error() string {
	return fmt.Sprintf("the environment variable %s is not set: set it where the editor is started, or write ${%s:-default}", e.Name, e.Name)
}

// ExpandEnv replaces ${NAME} by the environment variable of that name and
// ${NAME:-TEXT} by it or, where it is unset or empty, by TEXT. Every other dollar
// sign stands for itself. A variable that is not set is an *UnsetError.
func ExpandEnv(text string, lookup func(string) (string, bool)) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "${")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		inside, after, closed := strings.Cut(rest, "}")
		if !closed {
			return "", errors.New("a reference ${… is not closed with }")
		}
		name, fallback, hasFallback := strings.Cut(inside, ":-")
		if err := checkEnvName(name); err != nil || name == "" {
			return "", fmt.Errorf("${%s} is no reference to an environment variable: write ${NAME} or ${NAME:-default}", inside)
		}
		value, set := lookup(name)
		switch {
		case hasFallback && value == "":
			value = fallback
		case !set:
			return "", &UnsetError{Name: name}
		}
		out.WriteString(value)
		text = after
	}
}
