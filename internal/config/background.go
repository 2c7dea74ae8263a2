package config

import (
	"fmt"
	"strings"
)

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
		if err := notNegative(n); err != nil {
			return nil, err
		}
		return readCount(r, n)
	}
	return k
}

// notNegative refuses a number below zero where zero has a meaning, in words that
// do not deny it.
func notNegative(n *node) error {
	if text := strings.TrimSpace(n.text); (n.kind == kindNumber || n.kind == kindString) && strings.HasPrefix(text, "-") {
		return fmt.Errorf("must be 0 or more, got %s", text)
	}
	return nil
}
