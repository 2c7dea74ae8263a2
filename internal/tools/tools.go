// Package tools holds what the families of first-party tools share: how they
// ask an agent for what they need.
package tools

import (
	"os"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// Cwd is the directory that relative paths of a call start from: the agent's
// working directory, or the process's own when the call has no agent or the
// agent has none.
func Cwd(exec *registry.Execution) string {
	if a, ok := exec.Agent().(interface{ Cwd() string }); ok && a.Cwd() != "" {
		return a.Cwd()
	}
	dir, err := os.Getwd()
	if err != nil {
		return "/"
	}
	return dir
}

// SessionID is the id of the agent's session, "" when it has none.
func SessionID(exec *registry.Execution) string {
	if a, ok := exec.Agent().(interface{ SessionID() string }); ok {
		return a.SessionID()
	}
	return ""
}

// AgentKey tells callers apart: the agent's id, "" for calls without an agent.
func AgentKey(exec *registry.Execution) string {
	if a := exec.Agent(); a != nil {
		return a.AgentID()
	}
	return ""
}

// Text is the string argument of that name as text that can go to a file or a
// program: a lone surrogate, which JSON can hold and UTF-8 cannot, becomes
// U+FFFD. A missing or other argument reads as "".
func Text(args jsonvalue.Value, name string) string {
	return strings.ToValidUTF8(args.GetString(name), "\uFFFD")
}
