package proc

import (
	"strings"
	"sync"
)

// CommandEnv is the environment for a command that the model wrote, derived
// from our own. Names that hold KEY, SECRET or TOKEN are left out, so that
// credentials given to the agent do not reach commands; so are inherited DSH_
// names, which describe some outer agent, and what would make a shell run code of
// its own before the command (BASH_ENV, ENV, exported functions). What is added keeps programs from
// colouring, paging, prompting and opening an editor: there is no terminal, and
// nobody would answer. extra is appended and wins.
func CommandEnv(environ []string, extra ...string) []string {
	env := make([]string, 0, len(environ)+len(nonInteractive)+len(extra))
	for _, kv := range environ {
		// Windows has entries such as "=C:=C:\dir": the name starts with "=".
		name, _, ok := strings.Cut(kv, "=")
		if i := strings.IndexByte(kv[min(1, len(kv)):], '='); i >= 0 {
			name, ok = kv[:i+1], true
		}
		if ok && !hidden(name) {
			env = append(env, kv)
		}
	}
	env = append(env, nonInteractive...)
	return append(env, extra...)
}

var nonInteractive = []string{
	"NO_COLOR=1",
	"TERM=dumb",
	"PAGER=cat",
	"GIT_PAGER=cat",
	"GIT_TERMINAL_PROMPT=0",
	// An editor that changes nothing and succeeds: a rebase or an amended
	// commit goes on with the text it proposes.
	"GIT_EDITOR=true",
	"GIT_SEQUENCE_EDITOR=true",
	"EDITOR=true",
	"VISUAL=true",
}

// named are the variables that are hidden whatever they are called.
var named struct {
	mu  sync.RWMutex
	set map[string]bool
}

// HideVariables keeps more variables from every command: those that hold a secret
// and whose names do not say so. It holds for the whole program; "" is no name.
func HideVariables(names ...string) {
	named.mu.Lock()
	defer named.mu.Unlock()
	if named.set == nil {
		named.set = map[string]bool{}
	}
	for _, name := range names {
		if name != "" {
			named.set[strings.ToUpper(name)] = true
		}
	}
}

func hidden(name string) bool {
	upper := strings.ToUpper(name)
	named.mu.RLock()
	chosen := named.set[upper]
	named.mu.RUnlock()
	if chosen {
		return true
	}
	if strings.HasPrefix(upper, "DSH_") || strings.HasPrefix(upper, "BASH_FUNC_") || upper == "BASH_ENV" || upper == "ENV" {
		return true
	}
	for _, secret := range []string{"KEY", "SECRET", "TOKEN", "PASSWORD", "CREDENTIAL"} {
		if strings.Contains(upper, secret) {
			return true
		}
	}
	return false
}
