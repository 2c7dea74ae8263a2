package web

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// parseURL reads a URL that is to be fetched and brings its host into the one
// form in which it is compared and dialled: lower case, ASCII, no dot at the end.
func parseURL(raw string) (*url.URL, error) {
	if strings.TrimSpace(raw) == "" {
		return nil, errors.New("url must be a non-empty string")
	}
	raw = strings.TrimSpace(raw)
	if n := utf8.RuneCountInString(raw); n > maxURL {
		return nil, fmt.Errorf("invalid URL: it has %d characters, and at most %d are allowed", n, maxURL)
	}
	u, err := url.Parse(raw)
	if err != nil {
		var ue *url.Error
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return nil, fmt.Errorf("invalid URL: %w", err)
	}
	if err := tidy(u); err != nil {
		return nil, err
	}
	return u, nil
}

// Refusal says why web_fetch would not fetch a URL, in the words with which it would
// fail; "" when it may. It looks no name up: that would carry the name out of the
// machine.
func (w *Web) Refusal(raw string) string {
	u, err := parseURL(raw)
	if err != nil {
		return err.Error()
	}
	host, port := u.Hostname(), portOf(u)
	ip, err := netip.ParseAddr(host)
	switch {
	case w.opt.Allow.named(host, port):
	case err == nil && !w.opt.Allow.address(ip.Unmap(), port) && !public(ip):
		return failed(&privateError{host: host, ip: ip.Unmap()}).Error()
	case err != nil && (host == "localhost" || strings.HasSuffix(host, ".localhost")) && !w.opt.Allow.loopback(port):
		return failed(&privateError{host: host}).Error()
	}
	return ""
}

// tidy checks a URL and normalises its host.
func tidy(u *url.URL) error {
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme == "":
		return errors.New("invalid URL: it has no scheme; write https:// before the host")
	case u.Scheme != "http" && u.Scheme != "https":
		return fmt.Errorf("unsupported URL scheme %q (only http and https are allowed)", u.Scheme)
	case u.User != nil:
		return errors.New("credentials in URLs are not allowed")
	case u.Opaque != "" || u.Hostname() == "":
		return errors.New("invalid URL: it has no host")
	}
	host, err := asciiHost(u.Hostname())
	if err != nil {
		return fmt.Errorf("invalid URL: %w", err)
	}
	port := u.Port()
	if port == defaultPort(u.Scheme) {
		port = ""
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.Host = host; port != "" {
		u.Host += ":" + port
	}
	u.Fragment, u.RawFragment = "", ""
	return nil
}

// asciiHost is the one spelling of a host. Numbers that some programs take for
// an address and others for a name are refused.
func asciiHost(host string) (string, error) {
	if strings.Contains(host, ":") {
		ip, err := netip.ParseAddr(host)
		if err != nil || ip.Zone() != "" {
			return "", fmt.Errorf("the host %q is no address", host)
		}
		if ip.Is4In6() {
			return ip.Unmap().String(), nil
		}
		return ip.String(), nil
	}
	if strings.Contains(host, "%") {
		return "", fmt.Errorf("the host %q is no name", host)
	}
	ascii, err := idna.Lookup.ToASCII(host)
	if err != nil {
		// Underscores and the like are no names of the web, but of machines.
		if ascii = strings.ToLower(host); strings.ContainsFunc(ascii, func(r rune) bool { return r >= utf8.RuneSelf }) {
			return "", fmt.Errorf("the host %q is no name", host)
		}
	}
	ascii = strings.TrimSuffix(strings.ToLower(ascii), ".")
	if ascii == "" || strings.HasSuffix(ascii, ".") {
		return "", fmt.Errorf("the host %q is no name", host)
	}
	if numeric(ascii[strings.LastIndexByte(ascii, '.')+1:]) {
		ip, err := netip.ParseAddr(ascii)
		if err != nil {
			return "", fmt.Errorf("the host %q is a number that can mean several addresses: write it as four decimal numbers", host)
		}
		return ip.String(), nil
	}
	return ascii, nil
}

// numeric says whether a label makes browsers take the whole host for an address.
func numeric(label string) bool {
	if label == "" {
		return false
	}
	if rest, hex := strings.CutPrefix(label, "0x"); hex {
		return strings.Trim(rest, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

func portOf(u *url.URL) string {
	if p := u.Port(); p != "" {
		return p
	}
	return defaultPort(u.Scheme)
}

// origin is what two URLs have in common that belong to one site.
func origin(u *url.URL) string { return u.Scheme + "://" + u.Host }
