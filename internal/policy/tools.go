package policy

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
)

// Tool describes one tool to the policy.
type Tool struct {
	Class    Class
	Subject  Subject
	Argument string // the argument that Subject speaks of
}

// FirstParty describes the tools that come with the program.
func FirstParty() map[string]Tool {
	neutral := Tool{Class: Neutral}
	return map[string]Tool{
		"bash":  {Execute, Shell, "command"},
		"read":  {Read, Path, "file_path"},
		"write": {Edit, Path, "file_path"},
		"edit":  {Edit, Path, "file_path"},
		"glob":  {Read, Path, "path"},
		"grep":  {Read, Path, "path"},

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
	}
}
