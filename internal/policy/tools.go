package policy

import (
	"fmt"
	"sync"
)

// Class is what a tool does to the world.
type Class uint8

const (
	// Other is the class of a tool nobody described: it asks.
	Other Class = iota
	// Read looks at files and changes nothing.
	Read
	// Neutral concerns the session only: lists, questions, jobs it started
	// itself, and programs whose every call is decided on its own.
	Neutral
	// Edit changes files.
	Edit
	// Execute runs commands.
	Execute
	// Fetch reaches the network and changes nothing here. What it asks for leaves
	// the machine, so it asks under every preset that asks.
	Fetch
)

// Subject is how the match of a rule reads a tool's arguments.
type Subject uint8

const (
	// NoSubject: a match is tried against every text among the arguments, and
	// can only refuse or ask.
	NoSubject Subject = iota
	// Shell: the argument is a command line.
	Shell
	// Path: the argument is a file or folder; absent means the working directory.
	Path
	// URL: the argument is a web address.
	URL
)

// Tool describes one tool to the policy.
type Tool struct {
	Class    Class
	Subject  Subject
	Argument string // the argument that Subject speaks of
	Dir      string // the argument that says in which folder a command runs; "" when there is none

	// Remote names a tool of class Other that belongs to somebody else, such as
	// "read_file of the MCP server files"; "" otherwise.
	Remote string
	// Identity says which tool a remote one is beyond its name: what was allowed of
	// one is not allowed of another that has its name later. "" when that cannot
	// happen.
	Identity string
	// ReadOnly is for a remote tool that only reads, on the word of a server that
	// the user configured: workspace-write lets it pass.
	ReadOnly bool
	// Destructive is for a remote tool that says it may destroy something: it is
	// asked about each time.
	Destructive bool
}

func (t Tool) readsOnly() bool { return t.Class == Other && t.ReadOnly && !t.Destructive }

// question is what a person is asked about a remote tool.
func (t Tool) question(preset Preset) string {
	switch {
	case t.Destructive:
		return fmt.Sprintf("%s says that it may destroy something (preset %s)", t.Remote, preset)
	case t.ReadOnly:
		return fmt.Sprintf("%s says that it only reads (preset %s)", t.Remote, preset)
	}
	return fmt.Sprintf("%s may change something (preset %s)", t.Remote, preset)
}

// firstParty is what the policies of all sessions share; nobody changes it.
var firstParty = sync.OnceValue(FirstParty)

// FirstParty describes the tools that come with the program.
func FirstParty() map[string]Tool {
	neutral := Tool{Class: Neutral}
	return map[string]Tool{
		"bash":  {Class: Execute, Subject: Shell, Argument: "command", Dir: "workdir"},
		"read":  {Class: Read, Subject: Path, Argument: "file_path"},
		"write": {Class: Edit, Subject: Path, Argument: "file_path"},
		"edit":  {Class: Edit, Subject: Path, Argument: "file_path"},
		"glob":  {Class: Read, Subject: Path, Argument: "path"},
		"grep":  {Class: Read, Subject: Path, Argument: "path"},

		"web_fetch":  {Class: Fetch, Subject: URL, Argument: "url"},
		"web_search": {Class: Fetch},

		"task_output":       neutral,
		"task_list":         neutral,
		"task_kill":         neutral,
		"todo_write":        neutral,
		"ask_user_question": neutral,
		"exit_plan_mode":    neutral,
		"skill":             neutral,
		"run_code":          neutral,
		"subagent":          neutral,
		"subagent_fork":     neutral,
		"final_answer":      neutral, // by which a subagent hands in data; its own session only has it
	}
}
