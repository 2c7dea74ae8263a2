package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

const (
	// prefix begins the name of every tool of an MCP server.
	prefix = "mcp__"
	// maxName is the longest name of a tool that model providers take.
	maxName = 64
	// hashSize is how many hexadecimal digits tell apart names that had to be
	// changed.
	hashSize = 10
)

// ToolName is the name under which a tool of a server is offered:
// mcp__<server>__<tool> where that is a name which every model provider takes
// (^[a-zA-Z0-9_-]{1,64}$) and from which the two can be told, else what can be
// kept of them and a hash of both. Different pairs have different names: a plain
// name that looks as if it had a hash gets one as well, and hashes that are the
// same by chance are caught when the tool is registered. The name depends on
// nothing else, so that rules, grants and caches stay good.
func ToolName(server, tool string) string {
	name := prefix + server + "__" + tool
	if plainServer(server) && plain(tool) && len(name) <= maxName && !hashed(name) {
		return name
	}
	sum := sha256.Sum256([]byte(server + "\x00" + tool))
	suffix := "_" + hex.EncodeToString(sum[:])[:hashSize]
	room := maxName - len(prefix) - len("__") - len(suffix)
	s, t := clean(server), clean(tool)
	// Either part may take what the other leaves over; both keep some of it.
	s = s[:min(len(s), max(room/2, room-len(t)))]
	t = t[:min(len(t), room-len(s))]
	return prefix + s + "__" + t + suffix
}

// plainServer says whether the server's part of a name ends where it seems to.
func plainServer(s string) bool {
	return plain(s) && !strings.Contains(s, "__") && !strings.HasSuffix(s, "_")
}

func plain(s string) bool { return s != "" && clean(s) == s }

// clean replaces every byte that a name cannot have.
func clean(s string) string {
	out := []byte(s)
	for i, c := range out {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-':
		default:
			out[i] = '_'
		}
	}
	return string(out)
}

// hashed says whether a name looks as if it ended in a hash.
func hashed(name string) bool {
	at := len(name) - hashSize - 1
	if at < 0 || name[at] != '_' {
		return false
	}
	for _, c := range []byte(name[at+1:]) {
		if ('0' > c || c > '9') && ('a' > c || c > 'f') {
			return false
		}
	}
	return true
}
