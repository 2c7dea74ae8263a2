package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// WorkspaceFile is the name of the file by which a workspace restricts what
// the agent does in it.
const WorkspaceFile = ".dsh-acp.yaml"

// Flags are the values of the command line; "" means not given. They win over
// every file.
type Flags struct {
	// Model is a provider ("local"), a model of the configured provider
	// ("deepseek-reasoner"), or both ("openai/gpt-5").
	Model       string
	ToolMode    string // --mode
	Preset      string // --permissions
	LogFile     string // --log; relative to Options.Dir
	LogLevel    string // --log-level
	SessionsDir string // --sessions; relative to Options.Dir
}

// Options says where to look.
type Options struct {
	// ConfigFile is the file of --config; "" for none. Naming a file that is
	// absent is an error.
	ConfigFile string
	Flags      Flags
	// Env looks up an environment variable; nil means os.Getenv.
	Env func(string) string
	// Home is the user's folder; "" means $HOME, else what the system says.
	Home string
	// Dir is what relative flags belong to; "" means the working directory.
	Dir string
}

// layers are the sources of a configuration, kept so that a workspace's file
// can be put between them.
type layers struct {
	home, stateDir string
	below          []setting // the user's file
	above          []setting // --config and the flags
	warnings       []Warning
	files          []string
	userFiles      int // how many of files lie below the workspace
}

// Load reads the user's configuration, the file of --config and the flags.
// The workspace's file needs a working directory: see ForWorkspace. An error
// is an *Error or Errors; nothing is half applied.
func Load(o Options) (*Config, error) {
	env := o.Env
	if env == nil {
		env = os.Getenv
	}
	home := o.Home
	if home == "" {
		home = env("HOME")
	}
	if home == "" {
		home, _ = os.UserHomeDir()
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("the working directory is not known: %w", err)
	}

	l := &layers{home: home, stateDir: xdg(env, home, "XDG_STATE_HOME", ".local/state")}
	if base := xdg(env, home, "XDG_CONFIG_HOME", ".config"); base != "" {
		user := filepath.Join(base, "dsh-acp", "config.yaml")
		settings, warnings, found, err := readFile(user, user, home, false)
		if err != nil {
			return nil, err
		}
		if found {
			l.below, l.warnings, l.files, l.userFiles = settings, warnings, []string{user}, 1
		}
	}
	if o.ConfigFile != "" {
		path := resolvePath(o.ConfigFile, dir, home)
		settings, warnings, found, err := readFile(o.ConfigFile, path, home, false)
		if err != nil {
			return nil, err
		}
		if !found {
			return nil, &Error{File: o.ConfigFile, Message: "the file of --config does not exist"}
		}
		l.above = settings
		l.warnings = append(l.warnings, warnings...)
		l.files = append(l.files, path)
	}
	flags, err := flagSettings(o.Flags, dir, home)
	if err != nil {
		return nil, err
	}
	l.above = append(l.above, flags...)
	return l.resolve(nil, nil, "")
}

// xdg gives a base folder. A relative value is ignored, as the specification
// of these variables asks.
func xdg(env func(string) string, home, name, fallback string) string {
	if v := env(name); filepath.IsAbs(v) {
		return v
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, fallback)
}

// ForWorkspace gives the configuration of a session in cwd: the receiver, with
// the restrictions of <cwd>/.dsh-acp.yaml in their place. A file that cannot
// be read or understood is an error, because a restriction in it might be
// lost; a key that a workspace may not set is a warning and has no effect.
func (c *Config) ForWorkspace(cwd string) (*Config, error) {
	if c.layers == nil {
		return nil, errors.New("the configuration was not made by Load")
	}
	path := filepath.Join(cwd, WorkspaceFile)
	settings, warnings, found, err := readFile(path, path, c.layers.home, true)
	if err != nil {
		return nil, err
	}
	if !found {
		return c, nil
	}
	return c.layers.resolve(settings, warnings, path)
}

// resolve applies every layer in order.
func (l *layers) resolve(workspace []setting, warnings []Warning, workspaceFile string) (*Config, error) {
	c := defaults()
	if l.stateDir != "" {
		c.Sessions.Dir = filepath.Join(l.stateDir, "dsh-acp", "sessions")
	}
	c.layers = l
	c.Origins = map[string]string{}
	apply := func(s setting) {
		s.apply(&c)
		c.Origins[s.name] = s.origin
	}
	for _, s := range l.below {
		apply(s)
	}
	for _, s := range workspace {
		if s.key.scope == tightens {
			next := c
			s.apply(&next)
			if !s.key.stricter(&c, &next) {
				warnings = append(warnings, Warning{File: workspaceFile, Line: s.line, Key: s.name, Message: "a workspace file can only make this stricter; the value has no effect"})
				continue
			}
		}
		apply(s)
	}
	for _, s := range l.above {
		apply(s)
	}
	providerDefaults(&c.Model)
	searchDefaults(&c.Web.Search)

	c.Files = slices.Clone(l.files)
	if workspaceFile != "" {
		c.Files = slices.Insert(c.Files, l.userFiles, workspaceFile)
	}
	c.Warnings = append(slices.Clone(l.warnings), warnings...)
	return &c, c.check()
}

// check looks at what only the whole configuration can say.
func (c *Config) check() error {
	if c.Model.Provider == "replay" && c.Model.Replay.Script == "" && c.Model.Replay.Override == "" {
		e := &Error{Key: "model.replay.script", Message: "the provider replay needs the recorded session log to play"}
		e.File = c.Origins["model.provider"]
		return e
	}
	if c.Web.Search.Provider == "searxng" && c.Web.Search.BaseURL == "" {
		return &Error{File: c.Origins["web.search.provider"], Key: "web.search.base_url", Message: "the search service searxng needs the address of your server, such as http://localhost:8888"}
	}
	if c.Sessions.Dir == "" {
		return &Error{Key: "sessions.dir", Message: "neither HOME nor XDG_STATE_HOME is set; say where session logs are kept"}
	}
	return nil
}

// readFile reads one file; found is false when there is none.
func readFile(name, path, home string, workspace bool) (_ []setting, _ []Warning, found bool, err error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, false, nil
	}
	if err != nil {
		// A parent that is a file, or a name that is too long, has no
		// configuration in it either.
		if errors.Is(err, errNotDir) {
			return nil, nil, false, nil
		}
		return nil, nil, false, &Error{File: name, Message: "cannot be read: " + cause(err)}
	}
	if !info.Mode().IsRegular() {
		return nil, nil, false, &Error{File: name, Message: "is not a regular file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, false, &Error{File: name, Message: "cannot be read: " + cause(err)}
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, nil, false, &Error{File: name, Message: "cannot be read: " + cause(err)}
	}
	r := &reader{file: name, dir: filepath.Dir(path), home: home, workspace: workspace, root: tree()}
	if err := r.read(data); err != nil {
		return nil, nil, false, err
	}
	return r.settings, r.warnings, true, nil
}

// cause is an operating system's error without the path, which the message has already.
func cause(err error) string {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err.Error()
	}
	return err.Error()
}

// flagSettings checks the flags by the rules of the keys they stand for.
func flagSettings(f Flags, dir, home string) ([]setting, error) {
	var out []setting
	var errs Errors
	add := func(flag, key, value string, values []string, set func(*Config, string)) {
		if value == "" {
			return
		}
		if values != nil {
			if _, err := checkEnum(value, values); err != nil {
				errs = append(errs, &Error{Key: flag, Message: err.Error()})
				return
			}
		}
		out = append(out, setting{name: key, origin: flag, apply: func(c *Config) { set(c, value) }})
	}
	provider, name := splitModel(f.Model)
	add("--model", "model.provider", provider, Providers, func(c *Config, v string) {
		// What was configured for another provider does not fit this one.
		if c.Model.Provider != v {
			c.Model.Name, c.Model.BaseURL, c.Model.APIKeyEnv = "", "", ""
		}
		c.Model.Provider = v
	})
	add("--model", "model.name", name, nil, func(c *Config, v string) { c.Model.Name = v })
	add("--mode", "tools.mode", f.ToolMode, ToolModes, func(c *Config, v string) { c.Tools.Mode = v })
	add("--permissions", "permissions.preset", f.Preset, Presets, func(c *Config, v string) { c.Permissions.Preset = v })
	add("--log", "log.file", resolvePath(f.LogFile, dir, home), nil, func(c *Config, v string) { c.Log.File = v })
	add("--log-level", "log.level", f.LogLevel, LogLevels, func(c *Config, v string) { c.Log.Level = v })
	add("--sessions", "sessions.dir", resolvePath(f.SessionsDir, dir, home), nil, func(c *Config, v string) { c.Sessions.Dir = v })
	if len(errs) > 0 {
		return nil, errs
	}
	return out, nil
}

// splitModel reads --model. A model's name may itself hold slashes, so only a
// known provider before the first one counts as a provider.
func splitModel(v string) (provider, name string) {
	if slices.Contains(Providers, v) {
		return v, ""
	}
	if before, after, ok := strings.Cut(v, "/"); ok && slices.Contains(Providers, before) {
		return before, after
	}
	return "", v
}

// Source says where the value of a dotted key comes from; "default" when no
// file and no flag set it.
func (c *Config) Source(key string) string {
	if s := c.Origins[key]; s != "" {
		return s
	}
	return "default"
}

// SetKeys lists the dotted keys that a file or a flag set, sorted.
func (c *Config) SetKeys() []string {
	return slices.Sorted(maps.Keys(c.Origins))
}

// CredentialsFile is where `dsh-acp login` keeps keys; "" when neither HOME nor
// XDG_STATE_HOME says where the user's state is.
func (c *Config) CredentialsFile() string {
	if c.layers == nil || c.layers.stateDir == "" {
		return ""
	}
	return filepath.Join(c.layers.stateDir, "dsh-acp", "credentials.json")
}
