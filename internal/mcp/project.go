package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/consent"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/textfile"
)

// ProjectFile is the name of the file by which a workspace brings servers.
const ProjectFile = ".mcp.json"

// maxProjectFile bounds that file, in bytes.
const maxProjectFile = 1 << 20

// Project is a workspace's .mcp.json.
type Project struct {
	Path    string
	Servers []Config // in the file's order; references are not resolved
	// Problems are entries and members that have no effect.
	Problems []string
	Key      string // what consent is remembered by
	Allowed  bool
	Refused  bool // a person said that it is never to be started
}

// serverKeys are the members of a .mcp.json that hold servers: that of Claude
// Code, and that of VS Code, which many files have by mistake or for both. Of two
// servers of one name the first counts.
var serverKeys = []string{"mcpServers", "servers"}

// FindProject reads a workspace's .mcp.json, in the shape of Claude Code:
// {"mcpServers": {NAME: {command, args, env} or {type, url, headers}}}, or the
// same under "servers". nil when there is none, or nothing in it. Nothing of it
// may be started unless Allowed.
func FindProject(cwd string, consents consent.Store) (*Project, error) {
	path := filepath.Join(cwd, ProjectFile)
	text, err := textfile.Bytes(path, maxProjectFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && len(text) > maxProjectFile {
		err = fmt.Errorf("it has more than %d bytes", maxProjectFile)
	}
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	p, err := parseProject(path, text)
	if err != nil || len(p.Servers) == 0 && len(p.Problems) == 0 {
		return nil, err
	}
	p.Key = consent.Key("mcp", path, text)
	p.Allowed, p.Refused = consents.Allowed(p.Key), consents.Refused(p.Key)
	return p, nil
}

func parseProject(path string, text []byte) (*Project, error) {
	v, err := jsonvalue.Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if !v.IsObject() {
		return nil, fmt.Errorf("%s: expected an object with mcpServers, got %s", path, v.Kind())
	}
	p := &Project{Path: path}
	taken := map[string]string{} // where a name was first
	for _, key := range serverKeys {
		servers := v.Get(key)
		if !servers.IsUndefined() && !servers.IsNull() && !servers.IsObject() {
			return nil, fmt.Errorf("%s: %s must be an object, not %s", path, key, servers.Kind())
		}
		for name, s := range servers.Members() {
			where := key + "." + oneLine(name, 60)
			if first := taken[name]; first != "" {
				p.problem("%s has no effect: there is %s already", where, first)
				continue
			}
			taken[name] = where
			c, err := p.server(where, name, s)
			if err != nil {
				p.problem("%s: %v", where, err)
				continue
			}
			p.Servers = append(p.Servers, c)
		}
	}
	for key := range v.Members() {
		if !slices.Contains(serverKeys, key) && key != "$schema" {
			p.problem("%s is not read", oneLine(key, 60))
		}
	}
	return p, nil
}

func (p *Project) problem(format string, args ...any) {
	p.Problems = append(p.Problems, fmt.Sprintf(format, args...))
}

// errDisabled is a server that its file switches off.
var errDisabled = errors.New("it is disabled")

func (p *Project) server(where, name string, v jsonvalue.Value) (Config, error) {
	c := Config{Name: name, Origin: FromWorkspace, Where: p.Path}
	if !v.IsObject() {
		return c, fmt.Errorf("must be an object, not %s", v.Kind())
	}
	var err error
	str := func(to *string, key string, x jsonvalue.Value) {
		s, ok := x.Str()
		if !ok && err == nil {
			err = fmt.Errorf("%s must be text, not %s", key, x.Kind())
		}
		*to = s
	}
	table := func(to *map[string]string, key string, x jsonvalue.Value) {
		if !x.IsObject() && err == nil {
			err = fmt.Errorf("%s must be an object of texts, not %s", key, x.Kind())
		}
		*to = map[string]string{}
		for k, e := range x.Members() {
			var s string
			str(&s, key+"."+k, e)
			(*to)[k] = s
		}
	}
	for key, x := range v.Members() {
		if x.IsNull() {
			continue
		}
		switch key {
		case "type":
			var t string
			str(&t, key, x)
			c.Transport = Transport(t)
		case "command":
			str(&c.Command, key, x)
		case "url":
			str(&c.URL, key, x)
		case "args":
			if !x.IsArray() && err == nil {
				err = fmt.Errorf("args must be a list of texts, not %s", x.Kind())
			}
			for _, e := range x.Elements() {
				var s string
				str(&s, key, e)
				c.Args = append(c.Args, s)
			}
		case "env":
			table(&c.Env, key, x)
		case "headers":
			table(&c.Headers, key, x)
		case "disabled":
			if off, isBool := x.Bool(); err == nil && (off || !isBool) { // in doubt not
				err = errDisabled
			}
		default:
			p.problem("%s.%s is not read", where, oneLine(key, 60))
		}
	}
	if c.Transport == "streamable-http" {
		c.Transport = HTTP
	}
	c = c.normal()
	switch {
	case err != nil:
	case c.Transport != Stdio && c.Transport != HTTP && c.Transport != SSE:
		err = fmt.Errorf("type must be stdio, http or sse, not %q", string(c.Transport))
	case c.Transport == Stdio && c.Command == "":
		err = errors.New("a stdio server needs a command")
	case c.Transport != Stdio && c.URL == "":
		err = errors.New("a server of this type needs a url")
	}
	if c.Command != "" && !filepath.IsAbs(c.Command) && strings.ContainsAny(c.Command, `/\`) && !strings.HasPrefix(c.Command, "${") {
		c.Command = filepath.Join(filepath.Dir(p.Path), c.Command)
	}
	return c, err
}
