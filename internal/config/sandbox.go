package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

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
		writablePaths(),
	)
}

// writablePaths is sandbox.writable. A folder that is not there is left out when a
// command is confined, which nobody would notice who misspelled it.
func writablePaths() *key {
	k := paths("writable", "Further folders that commands may write under `workspace-write`, such as a cache.",
		func(c *Config) *[]string { return &c.Sandbox.Writable })
	read := k.read
	k.read = func(r *reader, n *node) (change, error) {
		change, err := read(r, n)
		if err != nil {
			return change, err
		}
		return change, readList(n, "paths", func(item *node) error {
			v, err := parseText(item)
			if err != nil {
				return err
			}
			if odd := notWritable(resolvePath(v, r.dir, r.home)); odd != "" {
				r.warn(item.line, "sandbox.writable", odd)
			}
			return nil
		})
	}
	return k
}

// notWritable says why a folder does not become writable by being named; "" when it
// does.
func notWritable(dir string) string {
	info, err := os.Stat(dir)
	switch {
	case filepath.Dir(dir) == dir:
		return "the whole file system does not become writable; name the folders that are needed"
	case err == nil && !info.IsDir():
		return fmt.Sprintf("%s is not a folder, so it does not become writable", dir)
	case err == nil:
		return ""
	}
	text := fmt.Sprintf("there is no folder %s, so nothing becomes writable until there is", dir)
	if best, ok := nearest(filepath.Base(dir), folders(filepath.Dir(dir))); ok {
		text += fmt.Sprintf("; did you mean %s?", filepath.Join(filepath.Dir(dir), best))
	}
	return text
}

// folders lists the folders in another one, a bounded number of them.
func folders(dir string) (names []string) {
	f, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer f.Close()
	list, _ := f.ReadDir(1000)
	for _, e := range list {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names
}
