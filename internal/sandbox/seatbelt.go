package sandbox

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// seatbelt writes the profile that sandbox-exec confines a command to on macOS.
// Of the rules that fit, the last one counts. Unlike mounts, a profile can speak
// of what does not exist yet, so protected names are kept from appearing too.
func seatbelt(p Policy, l *Layout) string {
	var b strings.Builder
	b.WriteString("(version 1)\n(allow default)\n(deny file-write*)\n")
	b.WriteString(`(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (subpath "/dev/fd"))` + "\n")
	for _, e := range l.entries {
		verdict := "deny"
		if e.write {
			verdict = "allow"
		}
		fmt.Fprintf(&b, "(%s file-write* (subpath %s))\n", verdict, quote(e.path))
	}
	for _, n := range l.names {
		if n.home {
			fmt.Fprintf(&b, "(deny file-write* (regex %s))\n", quote("^"+regexp.QuoteMeta(n.dir)+`/\.[^/]*`))
			fmt.Fprintf(&b, "(deny file-write-create file-write-unlink (regex %s))\n", quote("^"+regexp.QuoteMeta(n.dir)+`/[^/]+$`))
			for _, e := range l.entries { // a workspace inside of a hidden folder
				if e.write && within(e.path, n.dir) {
					fmt.Fprintf(&b, "(allow file-write* (subpath %s))\n", quote(e.path))
				}
			}
			continue
		}
		for _, name := range selfRunning {
			fmt.Fprintf(&b, "(deny file-write* (subpath %s))\n", quote(filepath.Join(n.dir, name)))
		}
		// The folder itself must stay where it is, or a copy could take its place.
		fmt.Fprintf(&b, "(deny file-write-unlink (literal %s))\n", quote(filepath.Join(n.dir, ".git")))
		for _, name := range gitFiles {
			fmt.Fprintf(&b, "(deny file-write* (subpath %s))\n", quote(filepath.Join(n.dir, ".git", name)))
			fmt.Fprintf(&b, "(deny file-write* (regex %s))\n", quote("^"+regexp.QuoteMeta(filepath.Join(n.dir, ".git"))+`/(modules|worktrees)/.*/`+regexp.QuoteMeta(name)+`(/|$)`))
		}
	}
	for _, kept := range l.Kept() {
		fmt.Fprintf(&b, "(deny file-write* (subpath %s))\n", quote(kept))
	}
	switch {
	case p.Mode == ReadOnly || !p.Network:
		b.WriteString("(deny network*)\n")
		if p.Mode == WorkspaceWrite {
			b.WriteString(`(allow network* (local ip "localhost:*"))` + "\n" + `(allow network-outbound (remote ip "localhost:*"))` + "\n")
		}
	case !p.UnixSockets:
		b.WriteString("(deny network-outbound (remote unix-socket))\n")
		b.WriteString(`(allow network-outbound (literal "/private/var/run/mDNSResponder"))` + "\n") // names of hosts
	}
	if p.UnixSockets && p.Mode == WorkspaceWrite && !p.Network {
		b.WriteString("(allow network* (remote unix-socket) (local unix-socket))\n")
	}
	return b.String()
}

// quote writes a string of a profile.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(s) + `"`
}
