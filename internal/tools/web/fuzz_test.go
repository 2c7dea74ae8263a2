package web

import (
	"net/netip"
	"net/url"
	"testing"
	"unicode/utf8"
)

// A URL that is taken has one form, and a host that is dialled as it is shown.
func FuzzURL(f *testing.F) {
	for _, s := range []string{
		"https://example.com/a?b#c", "http://[::1]:80/", "http://127.1/", "http://bücher.example:443/", "HTTP://EXAMPLE.com.:8080",
		"http://a_b.example", "http://xn--/", "http://[::ffff:1.2.3.4]/", "http://%31.0.0.1/", "http://1.2.3.4%00/",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := parseURL(s)
		if err != nil {
			return
		}
		again, err := parseURL(u.String())
		if err != nil || again.Host != u.Host || again.Scheme != u.Scheme {
			t.Fatalf("%q is %q, and that is %v, %v", s, u, again, err)
		}
		if u.User != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https" {
			t.Fatalf("%q is %q", s, u)
		}
		if ip, err := netip.ParseAddr(u.Hostname()); err == nil && (ip.Is4In6() || ip.Zone() != "") {
			t.Fatalf("%q keeps the address %s", s, ip)
		}
	})
}

// Whatever a server sends, a fetch gives text or an error.
func FuzzBody(f *testing.F) {
	f.Add("text/html; charset=shift_jis", []byte("<p>x<table><tr><td><a href=..>y"))
	f.Add("", []byte("%PDF-"))
	f.Add("text/plain; charset=utf-16le", []byte("a\x00b"))
	f.Add("application/json", []byte(`{"a":1}`))
	f.Add("text/html", []byte("<meta charset=iso-2022-jp>\x1b$B\x1b"))
	at, _ := url.Parse("https://example.com/x/")
	f.Fuzz(func(t *testing.T, header string, body []byte) {
		typ, err := typeOf(header)
		if err != nil {
			return
		}
		text, html, err := typ.text(body)
		if err != nil {
			return
		}
		if html {
			text = markdown(text, at)
		}
		if !utf8.ValidString(text) {
			t.Fatalf("%q of %q is no text", text, header)
		}
	})
}
