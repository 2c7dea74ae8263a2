package policy

import "testing"

// Nobody is asked about a call that fails whatever is answered; what runs unasked,
// and what is refused for another reason, stays what it was.
func TestNobodyIsAskedInVain(t *testing.T) {
	vain := func(c Call) string {
		if c.Tool == "web_fetch" && c.Arguments.GetString("url") == "http://10.0.0.1/" {
			return "not reached"
		}
		return ""
	}
	for _, c := range []struct {
		rule, url, want, reason string
	}{
		{"", "http://10.0.0.1/", "deny", "not reached"},
		{"", "http://example.com/", "ask", ""},
		{"ask web_fetch: 10.0.0.1", "http://10.0.0.1/", "deny", "not reached"},
		{"allow web_fetch: 10.0.0.1", "http://10.0.0.1/", "allow", ""},
		{"deny web_fetch: 10.0.0.1", "http://10.0.0.1/", "deny", ""},
	} {
		var lines []string
		if c.rule != "" {
			lines = []string{c.rule}
		}
		p := newPolicy(t, WorkspaceWrite, lines...)
		p.vain = vain
		d := p.DecideCall(fetch(c.url))
		if word(d) != c.want || c.reason != "" && d.Reason() != c.reason || c.reason == "" && d.Reason() == "not reached" {
			t.Errorf("%q, %s: %s, %q", c.rule, c.url, word(d), d.Reason())
		}
	}
	p := newPolicy(t, FullAccess)
	p.vain = vain
	if d := p.DecideCall(fetch("http://10.0.0.1/")); word(d) != "allow" {
		t.Error("what runs unasked is the tool's to refuse")
	}
}
