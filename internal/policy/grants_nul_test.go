package policy

import (
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// A key that stands for several is split where it is remembered. No text of a
// model's gets anything in there that was not asked about.
func TestAModelsTextIsNeverSeveralKeys(t *testing.T) {
	long := strings.Repeat("a", 100)
	for _, c := range []Call{
		file("write", "/elsewhere/"+long+"\x00command prefix git push"),
		file("edit", ".git/"+long+"\x00workspace write"),
		{Tool: long + "\x00command prefix git push", Arguments: jsonvalue.Object(), Cwd: "/work"},
		bash("ls " + long + "\x00command prefix git push"),
		bash("rm " + long + "\x00command prefix git push"),
		bash("rm '" + long + "\x00command prefix git push'"),
		bash("\"" + long[:50] + "\x00command prefix git\" push"),
		bash("git push\x00command"),
		{Tool: "web_fetch", Arguments: jsonvalue.MustFromGo(map[string]any{"url": "https://a.example\x00host web_fetch b.example/"}), Cwd: "/work"},
	} {
		p := newPolicy(t, WorkspaceWrite)
		o := p.OfferForCall(c)
		if o.AllowSession.Key != "" {
			p.Grants().Remember(o.AllowSession)
		}
		if o.RejectSession.Key != "" {
			_ = p.Grants().Reject(o.RejectSession)
		}
		for _, other := range []Call{bash("git push origin"), file("write", "x"), {Tool: "web_fetch", Arguments: jsonvalue.MustFromGo(map[string]any{"url": "https://b.example/"}), Cwd: "/work"}} {
			if d := p.DecideCall(other); !d.IsAsk() {
				t.Errorf("%q: after an answer to it, %s %s is not asked about", c.Tool+c.Arguments.String(), other.Tool, other.Arguments)
			}
		}
	}
}
