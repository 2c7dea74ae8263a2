package policy

import (
	"fmt"
	"net/netip"
	"net/url"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"golang.org/x/net/idna"
)

// site is what a URL leads to, in the form in which rules and grants name it.
type site struct {
	scheme, host, port string // the port is always there
	path               string // decoded and cleaned; "/" at least
	plain              bool   // the path is written as it is meant
}

// siteOf reads a URL; ok is false for one that is no web address.
func siteOf(raw string) (s site, ok bool) {
	u, err := url.Parse(strings.TrimSpace(raw))
	if err != nil || u.Hostname() == "" {
		return site{}, false
	}
	s = site{scheme: strings.ToLower(u.Scheme), host: hostName(u.Hostname()), port: u.Port(), path: path.Clean("/" + u.Path)}
	if s.port == "" {
		s.port = standardPort(s.scheme)
	}
	written := strings.ToLower(u.EscapedPath())
	s.plain = strings.TrimSuffix("/"+strings.TrimPrefix(u.Path, "/"), "/") == strings.TrimSuffix(s.path, "/") &&
		!strings.Contains(written, "%2f") && !strings.Contains(written, "%5c") && !strings.Contains(written, `\`)
	return s, s.port != ""
}

// hostName is the one spelling of a host.
func hostName(host string) string {
	if ascii, err := idna.Lookup.ToASCII(host); err == nil {
		host = ascii
	}
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().String()
	}
	return host
}

// standardPort is the port that a URL of the scheme need not name.
func standardPort(scheme string) string {
	switch scheme {
	case "http":
		return "80"
	case "https":
		return "443"
	}
	return ""
}

// String is the host, with its port where that is not the usual one.
func (s site) String() string {
	host := s.host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if s.port != standardPort(s.scheme) {
		host += ":" + s.port
	}
	return host
}

// matches says whether a pattern applies: HOST, HOST:PORT or HOST/PATH, perhaps
// with a scheme. A refusal reads it widely: any port where none is given, and
// everything below a path. An allowance reads it narrowly: the usual port, and no
// path that is written in a way that servers read differently.
func (s site) matches(pattern string, narrow bool) bool {
	if scheme, rest, ok := strings.Cut(pattern, "://"); ok {
		if !strings.EqualFold(scheme, s.scheme) {
			return false
		}
		pattern = rest
	}
	host, below, hasPath := strings.Cut(pattern, "/")
	port := ""
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host, port = host[:i], host[i+1:]
	}
	host = strings.Trim(host, "[]")
	if host = hostName(host); host != s.host {
		if ok, err := path.Match(host, s.host); err != nil || !ok {
			return false
		}
	}
	switch {
	case port == "" && narrow && s.port != standardPort(s.scheme), port != "" && port != "*" && port != s.port:
		return false
	case !hasPath || below == "" || below == "*" || below == "**":
		return true
	case narrow && !s.plain:
		return false
	}
	return pathMatches("/"+below, s.path, narrow)
}

// pathMatches compares paths of URLs. A star at the end stands for any rest.
func pathMatches(pattern, p string, narrow bool) bool {
	if head, ok := strings.CutSuffix(pattern, "*"); ok && !strings.ContainsAny(head, "*?[{") {
		return strings.HasPrefix(p, head) || p+"/" == head
	}
	pattern = strings.TrimSuffix(pattern, "/")
	if !narrow {
		for ; p != "/"; p = path.Dir(p) {
			if ok, err := doublestar.Match(pattern, p); err == nil && ok {
				return true
			}
		}
		return false
	}
	ok, err := doublestar.Match(pattern, p)
	return err == nil && ok
}

// hitSite says whether a rule matches a URL. A rule for every tool is about files
// and commands when it allows: src/** is no host.
func (s subject) hitSite(r compiled) (what string, ok bool) {
	narrow := r.answer == answerAllow
	if s.site == nil || narrow && !strings.HasPrefix(r.rule.Tool, "web_") {
		return "", false
	}
	return s.site.String(), s.site.matches(r.rule.Match, narrow)
}

// siteQuestion is what a person is asked about a call that reaches the network.
func (s subject) siteQuestion(tool string, preset Preset) string {
	switch {
	case s.site != nil:
		return fmt.Sprintf("%s reaches %s (preset %s)", tool, s.site, preset)
	case s.kind == URL:
		return fmt.Sprintf("%s reaches the network (preset %s)", tool, preset)
	}
	return fmt.Sprintf("%s sends its words to a service (preset %s)", tool, preset)
}
