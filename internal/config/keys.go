package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// scope says what a workspace file may do with a key.
type scope uint8

const (
	userOnly  scope = iota // only the user's own files and flags set it
	anyone                 // a workspace file may set it
	tightens               // a workspace file may set it when that makes it stricter
	reported               // read from a workspace file, and reported as not started
	sectionOf              // not a value but a group of keys
)

// key is one key of the configuration: its place in the tree, how its value
// is read, and the words of the reference.
type key struct {
	name     string
	children []*key // of a section
	scope    scope
	typ      string // as the reference names it
	initial  string // the default, as one would write it
	doc      string

	// read checks a value and gives the change it makes.
	read func(*reader, *node) (change, error)
	// stricter says whether next is at least as strict as the current value,
	// for keys of scope tightens.
	stricter func(current, next *Config) bool
}

// change applies one value to a configuration.
type change func(*Config)

func section(name string, children ...*key) *key {
	return &key{name: name, scope: sectionOf, children: children}
}

func (k *key) allow(s scope) *key { k.scope = s; return k }

func text(name, initial, doc string, at func(*Config) *string) *key {
	return &key{name: name, typ: "text", initial: initial, doc: doc, read: func(_ *reader, n *node) (change, error) {
		v, err := parseText(n)
		return func(c *Config) { *at(c) = v }, err
	}}
}

func enum(name, initial string, values []string, doc string, at func(*Config) *string) *key {
	return &key{name: name, typ: strings.Join(values, ", "), initial: initial, doc: doc, read: func(_ *reader, n *node) (change, error) {
		v, err := parseEnum(n, values)
		return func(c *Config) { *at(c) = v }, err
	}}
}

func path(name, initial, doc string, at func(*Config) *string) *key {
	return &key{name: name, typ: "path", initial: initial, doc: doc, read: func(r *reader, n *node) (change, error) {
		v, err := parseText(n)
		v = resolvePath(v, r.dir, r.home)
		return func(c *Config) { *at(c) = v }, err
	}}
}

// filled refuses the empty text for a key that has no use for it.
func (k *key) filled() *key {
	read := k.read
	k.read = func(r *reader, n *node) (change, error) {
		if n.kind == kindString && strings.TrimSpace(n.text) == "" {
			return nil, errors.New("must not be empty; leave the key out for the default")
		}
		return read(r, n)
	}
	return k
}

func count(name, initial string, limit int, doc string, at func(*Config) *int) *key {
	return &key{
		name: name, typ: "number", initial: initial, doc: doc,
		read: func(_ *reader, n *node) (change, error) {
			v, err := parseCount(n, limit)
			return func(c *Config) { *at(c) = v }, err
		},
		stricter: func(current, next *Config) bool { return *at(next) <= *at(current) },
	}
}

func duration(name, initial string, limit time.Duration, doc string, at func(*Config) *time.Duration) *key {
	return &key{
		name: name, typ: "duration", initial: initial, doc: doc,
		read: func(_ *reader, n *node) (change, error) {
			v, err := parseDuration(n)
			if err == nil && limit > 0 && v > limit {
				err = errAtMost(fmt.Sprintf("%ds", int(limit.Seconds())), n.text)
			}
			return func(c *Config) { *at(c) = v }, err
		},
		stricter: func(current, next *Config) bool { return *at(next) <= *at(current) },
	}
}

func size(name, initial string, least int64, doc string, at func(*Config) *int64) *key {
	return &key{
		name: name, typ: "size", initial: initial, doc: doc,
		read: func(_ *reader, n *node) (change, error) {
			v, err := parseSize(n)
			if err == nil && v < least {
				err = errAtLeast(strconv.FormatInt(least, 10)+" bytes", n.text)
			}
			return func(c *Config) { *at(c) = v }, err
		},
		stricter: func(current, next *Config) bool { return *at(next) <= *at(current) },
	}
}

// tree is every key there is. It is built when a file is read, so that a
// start without one costs nothing.
func tree() *key {
	preset := enum("preset", "workspace-write", Presets, "What happens when no rule matches; see permissions.md.",
		func(c *Config) *string { return &c.Permissions.Preset }).allow(tightens)
	preset.stricter = func(current, next *Config) bool {
		return rank(Presets, next.Permissions.Preset) <= rank(Presets, current.Permissions.Preset)
	}
	apiKeyEnv := text("api_key_env", "by provider", "Name of the environment variable that holds the provider's key. Never the key itself.",
		func(c *Config) *string { return &c.Model.APIKeyEnv })
	readText := apiKeyEnv.read
	apiKeyEnv.read = func(r *reader, n *node) (change, error) {
		if n.kind == kindString || n.kind == kindNumber {
			if err := checkEnvName(n.text); err != nil {
				return nil, err
			}
		}
		return readText(r, n)
	}

	return section("",
		section("model",
			enum("provider", "deepseek", Providers, "Who answers. `local` needs no key: the prompt is the program. `replay` plays a recorded session.",
				func(c *Config) *string { return &c.Model.Provider }),
			text("name", "deepseek-chat with deepseek", "The provider's name of the model.", func(c *Config) *string { return &c.Model.Name }),
			baseURL(),
			apiKeyEnv,
			texts("api_key_command", "A command, as a list of its words, that prints the provider's key on its first line. Used when neither the variable nor `dsh-acp login` gives one.",
				func(c *Config) *[]string { return &c.Model.APIKeyCommand }),
			count("context_window", "what the server or the program knows", 1<<30, "Tokens that the model called `model.name` can hold, the answer included.",
				func(c *Config) *int { return &c.Model.ContextWindow }),
			count("max_output", "what the server or the program knows", 1<<30, "Tokens of the longest answer of the model called `model.name`.",
				func(c *Config) *int { return &c.Model.MaxOutput }),
			enum("images", "auto", ImageChoices, "Whether the model called `model.name` takes images.", func(c *Config) *string { return &c.Model.Images }),
			duration("timeout", "300s", 0, "How long a server may think before its answer begins.", func(c *Config) *time.Duration { return &c.Model.Timeout }),
			headersKey(),
			pricesKey(),
			currencyKey(),
			section("replay",
				path("script", "", "The recorded session log to play. Required with the provider `replay`.", func(c *Config) *string { return &c.Model.Replay.Script }),
				path("override", "", "A JSON file that replaces the script of the primary session.", func(c *Config) *string { return &c.Model.Replay.Override }),
				paths("children", "Logs of child sessions, in the order in which they are bound.", func(c *Config) *[]string { return &c.Model.Replay.Children }),
				texts("models", "Names offered as models.", func(c *Config) *[]string { return &c.Model.Replay.Models }),
			),
		),
		section("tools",
			enum("mode", "native", ToolModes, "How the model uses tools: one call each (`native`), as programs (`code`), or both.",
				func(c *Config) *string { return &c.Tools.Mode }).allow(anyone),
			count("max_parallel_calls", "10", 1000, "Calls of one step that may run at the same time, where the tools allow it.",
				func(c *Config) *int { return &c.Tools.MaxParallelCalls }).allow(tightens),
			inlineKey(),
			backgroundKey(),
		),
		section("permissions", preset,
			enum("remember", "session", Lifetimes, "How long \"allow always\" lasts in an editor that shows one such answer; see permissions.md.",
				func(c *Config) *string { return &c.Permissions.Remember }),
			rulesKey()),
		sandboxSection(),
		section("code_mode",
			duration("compute", "60s", 0, "Busy time of one program; waiting for tools is free.", func(c *Config) *time.Duration { return &c.CodeMode.Compute }).allow(tightens),
			duration("wall", "600s", 0, "Total time of one program; paused while a person is asked.", func(c *Config) *time.Duration { return &c.CodeMode.Wall }).allow(tightens),
			size("memory", "512MiB", 32<<20, "Memory of one program, at least 32MiB.", func(c *Config) *int64 { return &c.CodeMode.Memory }).allow(tightens),
			size("max_output_bytes", "64MiB", 1, "Output of one program: logs and result together.", func(c *Config) *int64 { return &c.CodeMode.MaxOutputBytes }).allow(tightens),
			count("max_parallel_calls", "1", 1000, "Tool calls of one program that may run at the same time, where the tools allow it.",
				func(c *Config) *int { return &c.CodeMode.MaxParallelCalls }).allow(tightens),
		),
		agentsSection(),
		webSection(),
		section("hooks",
			text("claude_code", "", "Hooks in the format of Claude Code. Relative to the session's working directory; an absent file means no hooks.",
				func(c *Config) *string { return &c.Hooks.ClaudeCode }),
			text("codex", "", "Hooks in the format of Codex. Relative to the session's working directory; an absent file means no hooks.",
				func(c *Config) *string { return &c.Hooks.Codex }),
		),
		serversKey(),
		pluginsKey(),
		section("sessions",
			path("dir", "$XDG_STATE_HOME/dsh-acp/sessions", "Where session logs are kept.", func(c *Config) *string { return &c.Sessions.Dir }).filled(),
		),
		section("compaction",
			enum("auto", "on", Switches, "Whether a conversation that nears the model's limit is replaced by a summary of its own accord; `/compact` does it at any time.",
				func(c *Config) *string { return &c.Compaction.Auto }),
			count("threshold", "80", 100, "Percent of the context window that make it time for that.", func(c *Config) *int { return &c.Compaction.Threshold }),
		),
		section("record",
			patternsKey("redact", "Regular expressions. What they match, or their first group, is left out of what `--record` writes, besides what looks like a key.",
				func(c *Config) *[]string { return &c.Record.Redact }),
		),
		section("limits",
			size("max_line_bytes", "64MiB", 4096, "Longest message of a client, at least 4KiB. A longer one is skipped and answered with an error.",
				func(c *Config) *int64 { return &c.Limits.MaxLineBytes }),
			count("max_steps", "100", 100000, "Model requests of one turn; then it ends with `max_turn_requests`.",
				func(c *Config) *int { return &c.Limits.MaxSteps }).allow(tightens),
			count("max_attempts", "4", 100, "How often a model request is made that fails in a way that may heal.",
				func(c *Config) *int { return &c.Limits.MaxAttempts }),
			duration("max_retry_wait", "120s", 0, "The longest wait that a model's server may ask for. A longer one ends the turn with an error that says so.",
				func(c *Config) *time.Duration { return &c.Limits.MaxRetryWait }),
			duration("bash_timeout", "120s", 600*time.Second, "Time of a command that names none itself, at most 600s.",
				func(c *Config) *time.Duration { return &c.Limits.BashTimeout }).allow(tightens),
			duration("mcp_wait", "10s", 600*time.Second, "Time that a session's first prompt waits for MCP servers that are starting, at most 600s.",
				func(c *Config) *time.Duration { return &c.Limits.MCPWait }),
			duration("question_timeout", "1h", 0, "Time that a question in a form waits for its answer before it is withdrawn and the model is told. Permission requests wait until they are answered or the turn is cancelled.",
				func(c *Config) *time.Duration { return &c.Limits.QuestionTimeout }),
		),
		section("log",
			path("file", "", "Diagnostics go to this file instead of standard error.", func(c *Config) *string { return &c.Log.File }),
			enum("level", "info", LogLevels, "The least important diagnostics that are written.", func(c *Config) *string { return &c.Log.Level }),
		),
	)
}

// rank is the place of a value in its vocabulary.
func rank(values []string, v string) int {
	for i, x := range values {
		if x == v {
			return i
		}
	}
	return len(values)
}

// Key is one key of the reference.
type Key struct {
	Name    string // dotted
	Type    string
	Default string
	Doc     string
	// Workspace says whether <cwd>/.dsh-acp.yaml may set it: "no", "yes" or "to tighten".
	Workspace string
}

// Keys lists every key, in the order of the documentation.
func Keys() []Key {
	var out []Key
	var walk func(prefix string, k *key)
	walk = func(prefix string, k *key) {
		for _, c := range k.children {
			walk(prefix+c.name+".", c)
		}
		if k.scope != sectionOf {
			w := map[scope]string{anyone: "yes", tightens: "to tighten", userOnly: "no", reported: "no"}[k.scope]
			out = append(out, Key{Name: strings.TrimSuffix(prefix, "."), Type: k.typ, Default: k.initial, Doc: k.doc, Workspace: w})
		}
	}
	walk("", tree())
	return out
}
