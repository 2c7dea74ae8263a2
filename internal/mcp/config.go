package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Transport tells how a server is reached.
type Transport string

// The transports.
const (
	Stdio Transport = "stdio" // a process of ours, over its pipes
	HTTP  Transport = "http"  // "streamable HTTP"
	SSE   Transport = "sse"   // the older form of it
)

// Origin says who wants a server.
type Origin string

// The origins. What a server says about its own tools counts for the policy only
// when the user configured it.
const (
	FromUser      Origin = "configuration"
	FromClient    Origin = "editor"
	FromWorkspace Origin = "workspace"
)

// Defaults of a server's limits.
const (
	// DefaultStartTimeout is how long a server may take until it has listed its
	// tools. Package runners may have to download it first.
	DefaultStartTimeout = 60 * time.Second
	// DefaultCallTimeout is how long a call may go without a sign of life.
	DefaultCallTimeout = 300 * time.Second
)

// Config describes one server.
type Config struct {
	Name      string
	Origin    Origin
	Where     string // the place that names it, for messages; may be ""
	Transport Transport

	// Of stdio: the program, looked up in PATH when it has no slash; Env is added
	// to an environment without secrets; Dir "" is the session's directory.
	Command string
	Args    []string
	Env     map[string]string
	Dir     string

	// Of http and sse.
	URL     string
	Headers map[string]string

	StartTimeout time.Duration // 0 means DefaultStartTimeout
	CallTimeout  time.Duration // 0 means DefaultCallTimeout

	// Problem, if set, is why the server cannot be started; it is listed as failed.
	Problem error
}

// normal fills in the defaults.
func (c Config) normal() Config {
	if c.Transport == "" {
		c.Transport = Stdio
		if c.URL != "" {
			c.Transport = HTTP
		}
	}
	if c.StartTimeout <= 0 {
		c.StartTimeout = DefaultStartTimeout
	}
	if c.CallTimeout <= 0 {
		c.CallTimeout = DefaultCallTimeout
	}
	return c
}

// Target is what is started or connected to, on one line and without secrets.
func (c Config) Target() string {
	if c.Transport == HTTP || c.Transport == SSE {
		return c.URL
	}
	return strings.Join(append([]string{c.Command}, c.Args...), " ")
}

// same says whether two configurations name one and the same server.
func (c Config) same(d Config) bool {
	for _, x := range []*Config{&c, &d} {
		x.Origin, x.Where, x.StartTimeout, x.CallTimeout, x.Problem = "", "", 0, 0, nil
	}
	a, errA := json.Marshal(c)
	b, errB := json.Marshal(d)
	return errA == nil && errB == nil && string(a) == string(b)
}

// distinct gives servers of equal names different ones, in their order, so that
// nobody gets the name of one before it; what is named twice and is the same
// server stays once.
func distinct(list []Config) []Config {
	taken := map[string]bool{}
	var given, out []Config
	for _, c := range list {
		c = c.normal()
		if c.Name == "" {
			c.Name = "server"
		}
		if slices.ContainsFunc(given, c.same) {
			continue
		}
		given = append(given, c)
		base := c.Name
		for n := 2; taken[c.Name]; n++ {
			c.Name = fmt.Sprintf("%s-%d", base, n)
		}
		taken[c.Name] = true
		out = append(out, c)
	}
	return out
}
