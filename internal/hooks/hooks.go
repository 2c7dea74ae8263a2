// Package hooks runs the hook files of Claude Code and Codex: commands of the
// user that watch a session and may refuse a call, ask about it, reject its
// result, block a prompt, add context, or keep a turn going.
//
// [Parse] reads a file, [New] makes the [Hooks] of one session of the files it
// was given, [Hooks.Install] puts them into the pipeline, and the turn loop
// calls [Hooks.PromptSubmit], [Hooks.Stop] and [Hooks.AfterStep]. Where a hook
// decides and gives no valid answer, the answer is no.
package hooks

import (
	"time"
)

// Dialect is whose format a file has. The formats agree in what is read here;
// the dialect names the hooks in the session's log.
type Dialect string

// The dialects.
const (
	Claude Dialect = "claude"
	Codex  Dialect = "codex"
)

// Point is a moment of a session at which hooks run.
type Point string

// The points that are built. Files may name others; they are reported.
const (
	PreToolUse       Point = "PreToolUse"
	PostToolUse      Point = "PostToolUse"
	UserPromptSubmit Point = "UserPromptSubmit"
	Stop             Point = "Stop"
	SessionStart     Point = "SessionStart"
)

func (p Point) known() bool {
	switch p {
	case PreToolUse, PostToolUse, UserPromptSubmit, Stop, SessionStart:
		return true
	}
	return false
}

// decides reports whether a hook that fails at p counts as a refusal: something
// waits there for its word (decision 5). Stop and SessionStart only report.
func (p Point) decides() bool {
	return p == PreToolUse || p == PostToolUse || p == UserPromptSubmit
}

// matches says whether groups at p are chosen by a matcher.
func (p Point) matches() bool { return p == PreToolUse || p == PostToolUse || p == SessionStart }

// plainIsContext reports whether output that is no JSON is context for the model.
func (p Point) plainIsContext() bool { return p == UserPromptSubmit || p == SessionStart }

// Limits of a hook.
const (
	// DefaultTimeout is how long a hook may run that sets no timeout itself.
	DefaultTimeout = 60 * time.Second
	// MaxTimeout is the longest timeout a file can set.
	MaxTimeout = 10 * time.Minute
	// MaxOutput is how many bytes of a hook's standard output are read, and of
	// its standard error. Longer output is cut; where it is JSON that makes it
	// malformed.
	MaxOutput = 64 << 10
	// MaxText is how many bytes of a reason, a feedback or a context reach the
	// model.
	MaxText = 16 << 10
	// MaxInput is how many bytes of a call's result a hook is given; beyond that
	// it gets the beginning as text. Arguments are given whole: who decides must
	// see all of them.
	MaxInput = 1 << 20
	// MaxFile is the size of the largest hook file that is read, in bytes.
	MaxFile = 1 << 20
	// MaxContinues is how often the Stop hooks can keep one turn going.
	MaxContinues = 10

	maxSummary = 500
)

// The types of the log events that hooks write.
const (
	TypeInvoked = "hook/invoked" // turn, point, dialect, handlerId, matcher?
	TypeResult  = "hook/result"  // turn, point, handlerId, decision, exitCode?, stderrSummary?, error?, durationMs
)
