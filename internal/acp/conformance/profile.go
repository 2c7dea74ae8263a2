package conformance

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Purpose is something that a check needs the agent to do. The prompt that
// makes it do so is a template of the profile.
type Purpose string

// The purposes, with the placeholders that their templates may hold.
const (
	Hello    Purpose = "hello"    // answer something, without a tool
	Echo     Purpose = "echo"     // answer with {text}
	Slow     Purpose = "slow"     // be busy, without a tool, for at least 20 s, saying something now and then
	Command  Purpose = "command"  // run the shell command {command}
	Read     Purpose = "read"     // read the file {path} with a tool
	Write    Purpose = "write"    // make a file {path} that holds {content}, with a tool
	Edit     Purpose = "edit"     // replace {old} by {new} in {path}, with a tool, having read it
	Think    Purpose = "think"    // think {text}, then answer
	Plan     Purpose = "plan"     // make a plan of some steps
	Remember Purpose = "remember" // take note of the word {text}
	Recall   Purpose = "recall"   // say the word that was to be remembered
	Large    Purpose = "large"    // answer shortly, however long {text} is
	Failing  Purpose = "status"   // have the model's server answer with the HTTP status {code}
	Finish   Purpose = "finish"   // have the model end with {reason}: length or content_filter
	Loop     Purpose = "loop"     // call tools without end
	MCP      Purpose = "mcp"      // call the tool {tool} of the MCP server {server}
)

// Purposes are all of them, in the order of the documentation.
func Purposes() []Purpose {
	return []Purpose{Hello, Echo, Slow, Command, Read, Write, Edit, Think, Plan, Remember, Recall, Large, Failing, Finish, Loop, MCP}
}

// The ways to start an agent beside the normal one.
const (
	NoKey    = "no-key"    // without what it needs to log in to its model
	FewSteps = "few-steps" // with a limit of three model requests a turn
)

// ErrNoVariant says that a profile does not know a way to start the agent.
var ErrNoVariant = errors.New("no such variant")

// LaunchRequest says how an agent shall be started.
type LaunchRequest struct {
	// Variant is "" or one of NoKey and FewSteps.
	Variant string
	// Home is a folder that is empty at first and stays for the check: what the
	// agent stores belongs there.
	Home string
	// ModelURL is the base of the kit's own model server, which speaks the
	// chat-completions protocol (docs/conformance.md).
	ModelURL string
}

// Launch is what is added to the agent's command.
type Launch struct{ Args, Env []string }

// Profile says how one agent is made to do things.
type Profile struct {
	Name string
	// Prompts are the templates. A purpose without one skips its checks, except
	// Hello, which is then a greeting.
	Prompts map[Purpose]string
	// Launch says how to start the agent; nil adds nothing and knows no variant.
	Launch func(LaunchRequest) (Launch, error)
	// AuthMethod is the method with which authenticate succeeds once GiveKey has
	// been called for the home of an agent that runs as NoKey.
	AuthMethod string
	GiveKey    func(home string) error
	// NotApplicable says for items that this agent cannot be held to, why.
	NotApplicable map[int]string
}

func (p Profile) launch(r LaunchRequest) (Launch, error) {
	switch {
	case p.Launch != nil:
		return p.Launch(r)
	case r.Variant != "":
		return Launch{}, ErrNoVariant
	}
	return Launch{}, nil
}

// has reports whether the agent can be made to do something.
func (p Profile) has(purpose Purpose) bool { return purpose == Hello || p.Prompts[purpose] != "" }

// prompt fills the template of a purpose. A placeholder {name} is replaced by
// the text, {name:json} by the text as the inside of a JSON string.
func (p Profile) prompt(purpose Purpose, values map[string]string) string {
	template := p.Prompts[purpose]
	if template == "" && purpose == Hello {
		template = "Hello! Answer with one short sentence, and use no tools."
	}
	var pairs []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		quoted, _ := json.Marshal(values[name]) // a string can be encoded
		pairs = append(pairs, "{"+name+"}", values[name], "{"+name+":json}", string(quoted[1:len(quoted)-1]))
	}
	return strings.NewReplacer(pairs...).Replace(template)
}

// prompt is the text that makes the agent do something; without a template the
// check is skipped. The arguments are placeholder, value, …
func (t *T) prompt(purpose Purpose, values ...string) string {
	if !t.profile.has(purpose) {
		t.skipf("needs to make the agent act: no prompt for %q (see --prompt)", purpose)
	}
	m := map[string]string{}
	for i := 0; i+1 < len(values); i += 2 {
		m[values[i]] = values[i+1]
	}
	return t.profile.prompt(purpose, m)
}

// Profiles are the built-in ones by name.
func Profiles() map[string]Profile {
	return map[string]Profile{"dsh-acp": dshACP()}
}

// FromFlags makes a profile out of command-line settings: templates as
// "purpose=template", ways to start as "variant=arguments", split at blanks.
func FromFlags(base Profile, prompts, variants []string) (Profile, error) {
	p := base
	p.Prompts = maps.Clone(base.Prompts)
	if p.Prompts == nil {
		p.Prompts = map[Purpose]string{}
	}
	for _, s := range prompts {
		name, template, ok := strings.Cut(s, "=")
		if !ok || !slices.Contains(Purposes(), Purpose(name)) {
			return p, fmt.Errorf("--prompt %q: want PURPOSE=TEXT with one of the purposes %v", s, Purposes())
		}
		p.Prompts[Purpose(name)] = template
	}
	if len(variants) == 0 {
		return p, nil
	}
	added := map[string][]string{}
	for _, s := range variants {
		name, args, ok := strings.Cut(s, "=")
		if !ok || name != NoKey && name != FewSteps && name != "" {
			return p, fmt.Errorf("--variant %q: want NAME=ARGUMENTS with the name %s or %s, or nothing for the normal start", s, NoKey, FewSteps)
		}
		added[name] = strings.Fields(args)
	}
	p.Launch = func(r LaunchRequest) (Launch, error) {
		l, err := base.launch(r)
		args, ok := added[r.Variant]
		if !ok {
			return l, err
		}
		fill := strings.NewReplacer("{home}", r.Home, "{model}", r.ModelURL)
		for _, a := range args {
			// NAME=VALUE is for the environment, as before a shell's command.
			if name, _, ok := strings.Cut(a, "="); ok && name != "" && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == "" {
				l.Env = append(l.Env, fill.Replace(a))
			} else {
				l.Args = append(l.Args, fill.Replace(a))
			}
		}
		return l, nil
	}
	return p, nil
}
