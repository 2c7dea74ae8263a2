package web_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/tools/web"
)

// However a private address is written, and whatever leads to it, nothing is
// sent there.
func TestPrivateAddressesAreNotReached(t *testing.T) {
	reached := ""
	s := serve(t, func(_ http.ResponseWriter, r *http.Request) { reached = r.Host })
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	resolver := &names{table: map[string][]string{
		"localhost":           {"127.0.0.1"},
		"localtest.example":   {"127.0.0.1"},
		"127.0.0.1.nip.test":  {"127.0.0.1"},
		"six.example":         {"::1"},
		"mapped.example":      {"::ffff:127.0.0.1"},
		"metadata.example":    {"169.254.169.254"},
		"rebind.example":      {"10.0.0.1", "127.0.0.1"},
		"nat64.example":       {"64:ff9b::7f00:1"},
		"sixtofour.example":   {"2002:7f00:1::"},
		"several.example":     {"10.1.2.3 192.168.0.9 fd00::1"},
		"2130706433":          {"127.0.0.1"},
		"intern":              {"127.0.0.1"},
		"xn--bcher-kva.local": {"127.0.0.1"},
	}}
	w := newWorld(t, web.Options{Resolver: resolver})
	lookedUp := func() (n int) {
		for _, k := range resolver.asked {
			n += k
		}
		return n
	}
	private := "is a private or local address"
	for _, tt := range []struct{ url, want string }{
		{"http://127.0.0.1:PORT/", private},
		{"http://127.0.0.1.:PORT/", private},
		{"http://127.9.9.9:PORT/", private},
		{"http://0.0.0.0:PORT/", private},
		{"http://0:PORT/", "can mean several addresses"},
		{"http://localhost:PORT/", private},
		{"http://LOCALHOST.:PORT/", private},
		{"http://localtest.example:PORT/", private},
		{"http://127.0.0.1.nip.test:PORT/", private},
		{"http://intern:PORT/", private},
		{"http://rebind.example:PORT/", private},
		{"http://several.example:PORT/", private},
		{"http://nat64.example:PORT/", private},
		{"http://sixtofour.example:PORT/", private},
		{"http://2130706433:PORT/", "can mean several addresses"},
		{"http://0x7f000001:PORT/", "can mean several addresses"},
		{"http://0x7f.1:PORT/", "can mean several addresses"},
		{"http://017700000001:PORT/", "can mean several addresses"},
		{"http://0177.0.0.1:PORT/", "can mean several addresses"},
		{"http://127.1:PORT/", "can mean several addresses"},
		{"http://[::1]:PORT/", private},
		{"http://[::]:PORT/", private},
		{"http://[::ffff:127.0.0.1]:PORT/", private},
		{"http://[::ffff:7f00:1]:PORT/", private},
		{"http://[0:0:0:0:0:ffff:7f00:0001]:PORT/", private},
		{"http://[::127.0.0.1]:PORT/", private},
		{"http://[64:ff9b::127.0.0.1]:PORT/", private},
		{"http://[2002:7f00:1::]:PORT/", private},
		{"http://[fe80::1]:PORT/", private},
		{"http://[fe80::1%25lo]:PORT/", "is no address"},
		{"http://[fd00:ec2::254]/latest", private},
		{"http://six.example:PORT/", private},
		{"http://mapped.example:PORT/", private},
		{"http://169.254.169.254/latest/meta-data/", private},
		{"http://metadata.example/", private},
		{"http://100.100.100.200/", private},
		{"http://168.63.129.16/", private},
		{"http://10.0.0.1/", private},
		{"http://172.31.255.255/", private},
		{"http://192.168.1.1/", private},
		{"http://198.18.0.1/", private},
		{"http://224.0.0.1/", private},
		{"http://255.255.255.255/", private},
		{"http://１２７.0.0.1:PORT/", private},
		{"http://127。0。0。1:PORT/", private},
		{"http://ⓛocalhost:PORT/", private},
		{"http://bücher.local:PORT/", private},
		{"http://docs.example@127.0.0.1:PORT/", "credentials in URLs are not allowed"},
		{"http://user:pass@127.0.0.1:PORT/", "credentials in URLs are not allowed"},
		{"http://docs.example\\@127.0.0.1:PORT/", "invalid URL"},
		{"http://127.0.0.1\t:PORT/", "invalid URL"},
		{"http:127.0.0.1:PORT/", "invalid URL"},
		{"http:///127.0.0.1:PORT/", "invalid URL"},
		{"//127.0.0.1:PORT/", "invalid URL"},
		{"127.0.0.1:PORT", "invalid URL"},
		{"file:///etc/passwd", `unsupported URL scheme "file" (only http and https are allowed)`},
		{"ftp://127.0.0.1/", `unsupported URL scheme "ftp" (only http and https are allowed)`},
		{"gopher://127.0.0.1:PORT/_x", "unsupported URL scheme"},
		{"", "url must be a non-empty string"},
		{"   ", "url must be a non-empty string"},
		{"http://", "invalid URL: it has no host"},
		{"http://:PORT/", "invalid URL: it has no host"},
		{"http://..", "is no name"},
		{"http://nowhere.example/", "web fetch failed: the host nowhere.example is not known"},
		{"http://example.com/" + strings.Repeat("x", 2048), "invalid URL: it has 2067 characters"},
	} {
		// What is known without looking a name up is said before anybody is asked, in
		// the same words.
		asked := lookedUp()
		why := w.web.Refusal(strings.ReplaceAll(tt.url, "PORT", port))
		if lookedUp() != asked || why != "" && !strings.Contains(why, tt.want) {
			t.Errorf("%s: refused with %q", tt.url, why)
		}
		r := w.fetch(t, strings.ReplaceAll(tt.url, "PORT", port))
		if foreseen := why != ""; foreseen == (lookedUp() > asked) && !strings.Contains(strings.ToLower(tt.url), "ocal") && !strings.HasSuffix(tt.want, "is not known") {
			t.Errorf("%s: foreseen %v, looked up %v", tt.url, foreseen, lookedUp() > asked)
		}
		if !r.IsError() || !strings.Contains(r.Text(), tt.want) {
			t.Errorf("%s: %s", tt.url, r.Text())
		}
		if reached != "" {
			t.Errorf("%s reached %s", tt.url, reached)
			reached = ""
		}
	}
}

// A name that changes what it stands for is looked up once for a connection.
func TestRebinding(t *testing.T) {
	s := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("reached") })
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	resolver := &names{table: map[string][]string{"evil.example": {"192.0.2.1 127.0.0.1", "127.0.0.1"}}}
	w := newWorld(t, web.Options{Resolver: resolver, Allow: allow(t, "192.0.2.1")})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	resolver.found = func() { time.AfterFunc(300*time.Millisecond, cancel) } // nobody may answer at that address
	if r := w.call(ctx, "web_fetch", map[string]any{"url": "http://evil.example:" + port + "/"}); !r.IsError() {
		t.Error(r.Text())
	}
	if resolver.asked["evil.example"] != 1 {
		t.Errorf("looked up %d times", resolver.asked["evil.example"])
	}
}

// What leads from an allowed place to another is judged like any URL.
func TestRedirectsToPrivateAddresses(t *testing.T) {
	inside := serve(t, func(http.ResponseWriter, *http.Request) { t.Error("reached") })
	to := inside.URL
	s := serve(t, func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, to, http.StatusFound) })
	host := strings.TrimPrefix(s.URL, "http://")
	w := newWorld(t, web.Options{Allow: allow(t, host)})
	if r := w.fetch(t, s.URL); r.Text() != "Error: cross-origin redirect to "+inside.URL+" is not followed automatically; retry against that URL directly: "+inside.URL {
		t.Error(r.Text())
	}
	if r := w.fetch(t, inside.URL); !strings.Contains(r.Text(), "is a private or local address") {
		t.Error(r.Text())
	}
	for _, bad := range []string{"file:///etc/passwd", "http://user@127.0.0.1/", "http://[::1"} {
		to = bad
		if r := w.fetch(t, s.URL); !r.IsError() || !strings.Contains(r.Text(), "web fetch failed: ") {
			t.Errorf("%s: %s", bad, r.Text())
		}
	}
}

func TestAllow(t *testing.T) {
	s := serve(t, func(rw http.ResponseWriter, _ *http.Request) { _, _ = rw.Write([]byte("hello")) })
	_, port, _ := strings.Cut(strings.TrimPrefix(s.URL, "http://"), ":")
	resolver := &names{table: map[string][]string{"wiki.corp": {"127.0.0.1"}, "other.corp": {"127.0.0.1"}}}
	for _, tt := range []struct {
		entry, url string
		want       bool
	}{
		{"127.0.0.1", "http://127.0.0.1:PORT", true},
		{"127.0.0.1:PORT", "http://127.0.0.1:PORT", true},
		{"127.0.0.1:1", "http://127.0.0.1:PORT", false},
		{"127.0.0.0/8", "http://127.0.0.1:PORT", true},
		{"127.0.0.0/8", "http://wiki.corp:PORT", true},
		{"::ffff:127.0.0.1", "http://127.0.0.1:PORT", true},
		{"10.0.0.0/8", "http://127.0.0.1:PORT", false},
		{"Wiki.Corp", "http://wiki.corp:PORT", true},
		{"wiki.corp:PORT", "http://wiki.corp:PORT", true},
		{"wiki.corp", "http://other.corp:PORT", false},
		{"wiki.corp", "http://127.0.0.1:PORT", false},
	} {
		fill := strings.NewReplacer("PORT", port)
		w := newWorld(t, web.Options{Resolver: resolver, Allow: allow(t, fill.Replace(tt.entry))})
		if r := w.fetch(t, fill.Replace(tt.url)); r.IsError() == tt.want {
			t.Errorf("%+v: %s", tt, r.Text())
		}
	}
	for _, bad := range []string{"", "*", "http://x/", "a b", "10.0.0.0/33", "x:0", "x:http", "*.corp", "a/b"} {
		if _, err := web.ParseAllow([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Behind a proxy the target is checked as far as it can be known here, and the
// proxy itself is no target.
func TestProxy(t *testing.T) {
	var asked []string
	proxy := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.String())
		_, _ = rw.Write([]byte("by proxy"))
	})
	at, _ := url.Parse(proxy.URL)
	resolver := &names{table: map[string][]string{"public.example": {"93.184.216.34"}, "inside.example": {"10.0.0.1"}}}
	w := newWorld(t, web.Options{Resolver: resolver, Proxy: func(u *url.URL) (*url.URL, error) {
		if u.Hostname() == "direct.example" || u.Host == at.Host {
			return nil, nil
		}
		return at, nil
	}})
	for target, want := range map[string]string{
		"http://public.example/":    "by proxy",
		"http://only-proxy.example": "by proxy", // a name that cannot be looked up here
		"http://inside.example/":    "private or local",
		"http://127.0.0.1/":         "private or local",
		"http://[::1]/":             "private or local",
		"http://localhost/":         "private or local",
		"http://x.localhost/":       "private or local",
		"http://wiki/":              "private or local",
		"http://printer.local/":     "private or local",
		proxy.URL:                   "private or local",
	} {
		if r := w.fetch(t, target); !strings.Contains(r.Text(), want) {
			t.Errorf("%s: %s", target, r.Text())
		}
	}
	if len(asked) != 2 {
		t.Errorf("the proxy was asked for %q", asked)
	}
}

// The user's list counts for what is known beforehand, too.
func TestRefusalHeedsWhatIsAllowed(t *testing.T) {
	for _, c := range []struct {
		allowed, url string
		refused      bool
	}{
		{"10.0.0.0/8", "http://10.1.2.3/", false},
		{"169.254.7.7:80", "http://169.254.7.7/", false},
		{"169.254.7.7:80", "http://169.254.7.7:81/", true},
		{"localhost:3000", "http://localhost:3000/", false},
		{"localhost:3000", "http://localhost:3001/", true},
		{"127.0.0.1", "http://localhost:3000/", false},
		{"127.0.0.0/8", "http://app.localhost/", false},
		{"::1", "http://LOCALHOST/", false},
		{"10.0.0.0/8", "http://localhost/", true},
		{"10.0.0.0/8", "http://wiki.corp/", false},
		{"10.0.0.0/8", "https://example.com/", false},
	} {
		w := newWorld(t, web.Options{Allow: allow(t, c.allowed)})
		if why := w.web.Refusal(c.url); (why != "") != c.refused {
			t.Errorf("%s with %s allowed: %q", c.url, c.allowed, why)
		}
	}
}
