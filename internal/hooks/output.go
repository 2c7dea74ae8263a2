package hooks

import (
	"errors"
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// verdictKind orders what hooks say: of several the greatest counts.
type verdictKind uint8

const (
	pass  verdictKind = iota // nothing against it
	ask                      // a person is to say
	block                    // no; at Stop: go on
)

func (k verdictKind) String() string {
	return [...]string{"pass", "ask", "block"}[k]
}

// verdict is what one hook said.
type verdict struct {
	kind    verdictKind
	reason  string
	context string // for the model
	halt    bool   // the turn is to end
	notice  string // for the person
	// failure says why the hook's own word is missing; kind is then what that
	// means at its point.
	failure error
}

// answer is how a hook's process ended.
type answer struct {
	exit      int
	stdout    string
	stderr    string
	truncated bool // stdout is not whole
}

// judge reads the answer of a hook that ran to its end: exit 2 is a no with the
// reason on standard error, exit 0 may carry JSON or, where that is said to be
// context, plain text; any other exit is an error of the hook that changes
// nothing. JSON that is not as it should be is a failure.
func judge(p Point, a answer) verdict {
	switch a.exit {
	case 0:
	case 2:
		return refusal(p, strings.TrimSpace(a.stderr))
	case 126, 127: // of the shell
		return silent(p, fmt.Errorf("its command cannot be run: %s", clip(strings.TrimSpace(a.stderr), maxSummary)))
	default:
		return verdict{failure: fmt.Errorf("it ended with exit code %d, which counts for nothing: 0 is yes and 2 is no", a.exit)}
	}
	// A byte order mark, which some shells write, makes a no not a plain text.
	text := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(a.stdout), "\uFEFF"))
	if !strings.HasPrefix(text, "{") {
		if p.plainIsContext() {
			return verdict{context: clip(text, MaxText)}
		}
		return verdict{}
	}
	if a.truncated {
		return malformed(p, fmt.Errorf("its output is longer than %d bytes", MaxOutput))
	}
	v, err := jsonvalue.ParseString(text)
	if err != nil {
		return malformed(p, fmt.Errorf("its output begins like JSON and is none: %w", err))
	}
	out, err := judgeJSON(p, v)
	if err != nil {
		return malformed(p, err)
	}
	return out
}

// refusal is a no. SessionStart has nothing to refuse: the text is a notice.
func refusal(p Point, reason string) verdict {
	reason = clip(reason, MaxText)
	if p == SessionStart {
		return verdict{notice: reason}
	}
	if reason == "" {
		if p == Stop {
			return verdict{failure: errors.New("it wants the turn to go on and does not say with what")}
		}
		reason = "a " + string(p) + " hook said no and gave no reason"
	}
	return verdict{kind: block, reason: reason}
}

// malformed is what an answer that is not as it should be means at p: where
// hooks decide it is a no (decision 5).
func malformed(p Point, why error) verdict {
	v := verdict{failure: why}
	if p.decides() {
		v.kind = block
		v.reason = clip(fmt.Sprintf("a %s hook gave no valid answer, which counts as no: %v", p, why), MaxText)
	}
	return v
}

// silent is what no answer at all means at p. Before something happens it is a
// no, as a malformed answer is; a result that nobody objected to stays.
func silent(p Point, why error) verdict {
	if p == PostToolUse {
		return verdict{failure: why}
	}
	return malformed(p, why)
}

// fields reads the members of an object of outside and complains about those of
// a wrong type and those that nobody asked for.
type fields struct {
	of   string
	v    jsonvalue.Value
	seen map[string]bool
	err  error
}

func newFields(of string, v jsonvalue.Value) *fields {
	f := &fields{of: of, v: v, seen: map[string]bool{}}
	if !v.IsObject() {
		f.err = fmt.Errorf("%s is not an object", of)
	}
	return f
}

func (f *fields) fail(key, want string) {
	if f.err == nil {
		f.err = fmt.Errorf("%q of %s is not %s", key, f.of, want)
	}
}

// get counts null as absent.
func (f *fields) get(key string) (jsonvalue.Value, bool) {
	f.seen[key] = true
	v, ok := f.v.Lookup(key)
	return v, ok && !v.IsNull()
}

func (f *fields) text(key string) string {
	v, ok := f.get(key)
	if !ok {
		return ""
	}
	s, isText := v.Str()
	if !isText {
		f.fail(key, "text")
	}
	return s
}

func (f *fields) bool(key string, absent bool) bool {
	v, ok := f.get(key)
	if !ok {
		return absent
	}
	b, isBool := v.Bool()
	if !isBool {
		f.fail(key, "true or false")
	}
	return b
}

func (f *fields) done() error {
	if f.err != nil {
		return f.err
	}
	for key := range f.v.Members() {
		if !f.seen[key] {
			return fmt.Errorf("%q of %s means nothing here", clip(key, maxSummary), f.of)
		}
	}
	return nil
}

func judgeJSON(p Point, root jsonvalue.Value) (verdict, error) {
	f := newFields("the hook's output", root)
	goOn, stopReason := f.bool("continue", true), f.text("stopReason")
	v := verdict{notice: clip(f.text("systemMessage"), MaxText)}
	f.bool("suppressOutput", false)
	decision, reason := f.text("decision"), f.text("reason")
	if specific, ok := f.get("hookSpecificOutput"); ok {
		if err := judgeSpecific(p, specific, &v); err != nil {
			return verdict{}, err
		}
	}
	if err := f.done(); err != nil {
		return verdict{}, err
	}
	switch {
	case decision == "":
	case decision == "block" && p != SessionStart:
		no := refusal(p, strings.TrimSpace(reason))
		if no.failure != nil {
			return verdict{}, no.failure
		}
		v.raise(no.kind, no.reason)
	case decision == "approve" && p == PreToolUse:
		// It lifts nothing: policy and the person still decide.
	default:
		return verdict{}, fmt.Errorf("its decision %q is none of %s", clip(decision, maxSummary), p)
	}
	if !goOn {
		v.stop(p, stopReason)
	}
	return v, nil
}

// raise makes v at least kind; the reason of the stricter one counts.
func (v *verdict) raise(kind verdictKind, reason string) {
	if kind > v.kind {
		v.kind, v.reason = kind, reason
	}
}

// stop ends the turn. That comes before everything else a hook says: what has
// not begun is refused, and a Stop hook keeps nothing going.
func (v *verdict) stop(p Point, reason string) {
	reason = clip(strings.TrimSpace(reason), MaxText)
	if reason == "" {
		reason = "a " + string(p) + " hook stopped the turn"
	}
	v.halt, v.notice = true, reason
	switch p {
	case PreToolUse, UserPromptSubmit:
		v.raise(block, reason)
	case Stop:
		v.kind, v.reason = pass, ""
	}
}

// judgeSpecific reads the part of the output that differs by point.
func judgeSpecific(p Point, specific jsonvalue.Value, v *verdict) error {
	f := newFields("hookSpecificOutput", specific)
	if name := f.text("hookEventName"); name != string(p) && f.err == nil {
		return fmt.Errorf("its hookEventName is %q and not %s", clip(name, maxSummary), p)
	}
	if p != Stop {
		v.context = clip(strings.TrimSpace(f.text("additionalContext")), MaxText)
	}
	if p != PreToolUse {
		return f.done()
	}
	if _, ok := f.get("updatedInput"); ok {
		return errors.New("it wants to change the call's arguments, which no hook can do")
	}
	decision, reason := f.text("permissionDecision"), f.text("permissionDecisionReason")
	reason = clip(strings.TrimSpace(reason), MaxText)
	switch decision {
	case "", "allow":
	case "deny":
		if reason == "" {
			reason = "a PreToolUse hook said no and gave no reason"
		}
		v.raise(block, reason)
	case "ask":
		v.raise(ask, reason)
	default:
		return fmt.Errorf("its permissionDecision %q is none of allow, deny and ask", clip(decision, maxSummary))
	}
	return f.done()
}
