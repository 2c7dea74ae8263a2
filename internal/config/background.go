package config

import "strings"

// backgroundKey is tools.max_background_tasks: a number, or 0 for none.
func backgroundKey() *key {
	at := func(c *Config) *int { return &c.Tools.MaxBackgroundTasks }
	k := count("max_background_tasks", "16", 1000,
		"Commands of one session that may run in the background at the same time. 0 takes `run_in_background` and the task tools away.", at).allow(tightens)
	readCount := k.read
	k.read = func(r *reader, n *node) (change, error) {
		if (n.kind == kindNumber || n.kind == kindString) && strings.TrimSpace(n.text) == "0" {
			return func(c *Config) { *at(c) = 0 }, nil
		}
		return readCount(r, n)
	}
	return k
}
