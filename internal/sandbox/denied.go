package sandbox

import (
	"bufio"
	"path/filepath"
	"slices"
	"strings"
)

// refusals are how programs tell that the system refused to write, in lower case:
// by Landlock, by a read-only mount, by a mount point that cannot be renamed.
var refusals = []string{"permission denied", "read-only file system", "operation not permitted", "device or resource busy", "eacces", "erofs", "eperm"}

// maxRefusals bounds how many lines of output are looked at.
const maxRefusals = 200

// Denied says whether a command's output tells of a write that its confinement
// refused: a line that says so, about a path that the layout keeps and that this
// program itself could write. dir is where the command ran. Whatever the user may
// not write either is the system's refusal and not ours.
func (r *Run) Denied(output, dir string) bool {
	if r.Layout == nil {
		return false
	}
	looked := 0
	for lines := bufio.NewScanner(strings.NewReader(output)); lines.Scan() && looked < maxRefusals; {
		line := lines.Text()
		lower := strings.ToLower(line)
		for _, refusal := range refusals {
			at := strings.Index(lower, refusal)
			if at < 0 || len(lower) != len(line) {
				continue
			}
			looked++
			if slices.ContainsFunc(paths(line, at), func(path string) bool { return r.refused(path, dir) }) {
				return true
			}
			break
		}
	}
	return false
}

// paths are the words of a line that may be paths: what stands in quotes, what has
// a slash in it, and the last word before the refusal.
func paths(line string, at int) []string {
	var out []string
	add := func(s string) {
		if s = strings.Trim(s, "'\"`‘’“”()[]:,;"); s != "" && len(s) < 4096 {
			out = append(out, s)
		}
	}
	for _, q := range []string{"''", "\"\"", "``", "‘’", "“”"} {
		runes := []rune(q)
		rest := line
		for {
			_, after, ok := strings.Cut(rest, string(runes[0]))
			if !ok {
				break
			}
			quoted, more, ok := strings.Cut(after, string(runes[1]))
			if !ok {
				break
			}
			add(quoted)
			rest = more
		}
	}
	for _, word := range strings.Fields(line) {
		if strings.Contains(word, "/") {
			add(word)
		}
	}
	before := strings.TrimRight(line[:at], " :-,(")
	if i := strings.LastIndex(before, ": "); i >= 0 {
		add(before[i+2:]) // a path may have spaces
	}
	if words := strings.Fields(before); len(words) > 1 {
		add(words[len(words)-1])
	}
	return out
}

// refused says whether the layout keeps a path that the user could write.
func (r *Run) refused(path, dir string) bool {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	path = filepath.Clean(path)
	real, err := filepath.EvalSymlinks(path)
	exists := err == nil
	if !exists {
		parent, err := filepath.EvalSymlinks(filepath.Dir(path))
		if err != nil {
			return false
		}
		real = filepath.Join(parent, filepath.Base(path))
	}
	if r.Layout.Writable(real) || slices.Contains(devicesEverybodyWrites, real) {
		return false
	}
	// Changing what is there needs the right to it, removing or making it the
	// right to its folder.
	return exists && mayWrite(real) || mayWrite(filepath.Dir(real))
}

// devicesEverybodyWrites are devices that keep nothing of what is written.
var devicesEverybodyWrites = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// networkRefusals are how programs tell that there is no network, in lower case.
var networkRefusals = []string{
	"could not resolve", "couldn't resolve", "network is unreachable", "network unreachable", "temporary failure in name resolution",
	"name or service not known", "enetunreach", "eai_again", "getaddrinfo", "no route to host", "unable to resolve", "failed to lookup address",
	"dial tcp", "dial udp", "error sending request for url", "nodename nor servname",
}

// MissesNetwork says whether the output of a command that failed tells of a
// network that is not there.
func MissesNetwork(output string) bool {
	lower := strings.ToLower(output)
	return slices.ContainsFunc(networkRefusals, func(s string) bool { return strings.Contains(lower, s) })
}

// LacksNetwork says whether an enforcement, as [Run] has it, keeps the network
// away.
func LacksNetwork(enforcement string) bool { return strings.HasSuffix(enforcement, noNetwork) }
