package config

import (
	"errors"
	"fmt"
	glob "path"
	"strings"
	"time"
)

// Agents bounds subagents.
type Agents struct {
	MaxDepth   int           // how deep they may be nested; 0: there are none
	MaxRunning int           // of one session, at a time
	MaxSteps   int           // model requests of one
	Timeout    time.Duration // of one; the time in which a person is asked is free
	Tools      []string      // names or patterns; nil: all that need no user
	Model      string        // "" means the session's own
}

func defaultAgents() Agents {
	return Agents{MaxDepth: 1, MaxRunning: 4, MaxSteps: 50, Timeout: 15 * time.Minute}
}

func agentsSection() *key {
	return section("agents",
		countOrNone("max_depth", "1", 8, "How deep subagents may be nested: 1 lets the session have some and them none; 0 turns them off.",
			func(c *Config) *int { return &c.Agents.MaxDepth }).allow(tightens),
		count("max_running", "4", 64, "Subagents of one session that may work at a time; further ones wait.",
			func(c *Config) *int { return &c.Agents.MaxRunning }).allow(tightens),
		count("max_steps", "50", 100000, "Model requests of one subagent.",
			func(c *Config) *int { return &c.Agents.MaxSteps }).allow(tightens),
		duration("timeout", "15m", 24*time.Hour, "Time of one subagent, at most 24h; it stands still while a person is asked.",
			func(c *Config) *time.Duration { return &c.Agents.Timeout }).allow(tightens),
		toolPatterns(),
		text("model", "the session's", "What answers `subagent`: a model of the session's provider, perhaps a cheaper one, or PROVIDER/NAME. `subagent_fork` keeps the session's.",
			func(c *Config) *string { return &c.Agents.Model }),
	)
}

// countOrNone is a count that may be 0.
func countOrNone(name, initial string, limit int, doc string, at func(*Config) *int) *key {
	k := count(name, initial, limit, doc, at)
	read := k.read
	k.read = func(r *reader, n *node) (change, error) {
		if n.kind == kindNumber && strings.TrimSpace(n.text) == "0" {
			return func(c *Config) { *at(c) = 0 }, nil
		}
		if err := notNegative(n); err != nil {
			return nil, err
		}
		return read(r, n)
	}
	return k
}

// toolPatterns is agents.tools.
func toolPatterns() *key {
	return &key{
		name: "tools", typ: "list of text", initial: "all but those that speak with the user",
		doc: "The tools that subagents have, by name or by a pattern with `*` and `?`, such as [read, glob, grep, \"mcp__docs__*\"].",
		read: func(r *reader, n *node) (change, error) {
			list := []string{}
			err := readList(n, "names of tools", func(item *node) error {
				v, err := parseText(item)
				if err != nil {
					return err
				}
				if strings.TrimSpace(v) == "" {
					return errors.New("a tool needs a name")
				}
				if _, err := glob.Match(v, ""); err != nil {
					return fmt.Errorf("%q is no pattern: check its [ ]", v)
				}
				if odd := noTool(v, "subagents do not get one by it"); odd != "" {
					r.warn(item.line, "agents.tools", odd)
				}
				list = append(list, v)
				return nil
			})
			if n.kind == kindNull {
				list = nil
			}
			return func(c *Config) { c.Agents.Tools = list }, err
		},
	}
}
