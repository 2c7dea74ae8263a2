package config

// Sandbox says how commands are confined.
type Sandbox struct {
	Mechanism   string   // one of Mechanisms
	Network     string   // one of Switches: whether workspace-write has the network
	UnixSockets string   // one of Switches: whether commands talk over sockets in the file system
	Writable    []string // further folders that workspace-write may write, absolute
}

// Mechanisms are the ways of confining; auto takes the best of the machine's.
var Mechanisms = []string{"auto", "landlock", "bwrap", "sandbox-exec", "none"}

func sandboxSection() *key {
	toggle := func(name, doc string, at func(*Config) *string) *key {
		k := enum(name, "off", Switches, doc, at).allow(tightens)
		k.stricter = func(current, next *Config) bool { return *at(next) == "off" || *at(current) == "on" }
		return k
	}
	return section("sandbox",
		enum("mechanism", "auto", Mechanisms, "What confines commands; `auto` takes the best that there is, `none` nothing. See permissions.md.",
			func(c *Config) *string { return &c.Sandbox.Mechanism }),
		toggle("network", "Whether commands have the network under `workspace-write`. Under `read-only` they never have.",
			func(c *Config) *string { return &c.Sandbox.Network }),
		toggle("unix_sockets", "Whether confined commands may talk to whatever listens on a socket in the file system: a Docker daemon, a key agent, a desktop.",
			func(c *Config) *string { return &c.Sandbox.UnixSockets }),
		paths("writable", "Further folders that commands may write under `workspace-write`, such as a cache.",
			func(c *Config) *[]string { return &c.Sandbox.Writable }),
	)
}
