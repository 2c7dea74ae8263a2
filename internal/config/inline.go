package config

import "strings"

// inlineKey is tools.max_inline_bytes: a size, or 0 for no bound.
func inlineKey() *key {
	at := func(c *Config) *int64 { return &c.Tools.MaxInlineBytes }
	k := size("max_inline_bytes", "50000", 1,
		"The most of a tool's result that the model gets at once. A longer text is kept in the session's folder, and the model gets its two ends and the path. 0 gives it everything.", at)
	readSize := k.read
	k.read = func(r *reader, n *node) (change, error) {
		if (n.kind == kindNumber || n.kind == kindString) && strings.TrimSpace(n.text) == "0" {
			return func(c *Config) { *at(c) = 0 }, nil
		}
		if err := notNegative(n); err != nil {
			return nil, err
		}
		return readSize(r, n)
	}
	return k
}
