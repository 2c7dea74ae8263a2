package hooks

import (
	"strings"
	"testing"
)

func specific(p Point, more string) string {
	if more != "" {
		more = "," + more
	}
	return `{"hookSpecificOutput":{"hookEventName":"` + string(p) + `"` + more + `}}`
}

func TestJudge(t *testing.T) {
	long := strings.Repeat("a", 2*MaxText)
	for _, tt := range []struct {
		name    string
		p       Point
		a       answer
		kind    verdictKind
		reason  string // a part of it
		context string
		halt    bool
		notice  string
		failure string // a part of it; "" means none
	}{
		// Exit codes.
		{name: "nothing to say", p: PreToolUse},
		{name: "chatter before a call", p: PreToolUse, a: answer{stdout: "looks fine\n"}},
		{name: "chatter after a call", p: PostToolUse, a: answer{stdout: "formatted 1 file"}},
		{name: "chatter at the end", p: Stop, a: answer{stdout: "ok"}},
		{name: "plain context for a prompt", p: UserPromptSubmit, a: answer{stdout: " on branch main\n"}, context: "on branch main"},
		{name: "plain context at the start", p: SessionStart, a: answer{stdout: "hello"}, context: "hello"},
		{name: "a list is no object", p: UserPromptSubmit, a: answer{stdout: "[1]"}, context: "[1]"},
		{name: "exit 2 before a call", p: PreToolUse, a: answer{exit: 2, stderr: "no rm here\n", stdout: "ignored"}, kind: block, reason: "no rm here"},
		{name: "exit 2 without a reason", p: PreToolUse, a: answer{exit: 2}, kind: block, reason: "gave no reason"},
		{name: "exit 2 after a call", p: PostToolUse, a: answer{exit: 2, stderr: "lint failed"}, kind: block, reason: "lint failed"},
		{name: "exit 2 on a prompt", p: UserPromptSubmit, a: answer{exit: 2, stderr: "no secrets"}, kind: block, reason: "no secrets"},
		{name: "exit 2 at the end", p: Stop, a: answer{exit: 2, stderr: "run the tests"}, kind: block, reason: "run the tests"},
		{name: "exit 2 at the end without words", p: Stop, a: answer{exit: 2}, failure: "does not say with what"},
		{name: "exit 2 at the start refuses nothing", p: SessionStart, a: answer{exit: 2, stderr: "careful"}, notice: "careful"},
		{name: "another exit code changes nothing", p: PreToolUse, a: answer{exit: 1, stderr: "boom", stdout: specific(PreToolUse, `"permissionDecision":"deny"`)}, failure: "exit code 1"},
		{name: "a command that is not there, before a call", p: PreToolUse, a: answer{exit: 127, stderr: "sh: nope: not found"}, kind: block, reason: "nope: not found", failure: "cannot be run"},
		{name: "a command that may not run, on a prompt", p: UserPromptSubmit, a: answer{exit: 126, stderr: "denied"}, kind: block, reason: "counts as no", failure: "cannot be run"},
		{name: "a command that is not there, after a call", p: PostToolUse, a: answer{exit: 127}, failure: "cannot be run"},
		{name: "a command that is not there, at the end", p: Stop, a: answer{exit: 127}, failure: "cannot be run"},

		// Decisions in JSON.
		{name: "an empty object", p: PreToolUse, a: answer{stdout: "{}"}},
		{name: "allow", p: PreToolUse, a: answer{stdout: specific(PreToolUse, `"permissionDecision":"allow","permissionDecisionReason":"fine"`)}},
		{name: "deny", p: PreToolUse, a: answer{stdout: specific(PreToolUse, `"permissionDecision":"deny","permissionDecisionReason":"not today"`)}, kind: block, reason: "not today"},
		{name: "deny behind a byte order mark", p: PreToolUse, a: answer{stdout: "\uFEFF" + specific(PreToolUse, `"permissionDecision":"deny","permissionDecisionReason":"not today"`) + "\r\n"}, kind: block, reason: "not today"},
		{name: "context behind a byte order mark", p: UserPromptSubmit, a: answer{stdout: "\uFEFFon main"}, context: "on main"},
		{name: "deny without a reason", p: PreToolUse, a: answer{stdout: specific(PreToolUse, `"permissionDecision":"deny"`)}, kind: block, reason: "gave no reason"},
		{name: "ask", p: PreToolUse, a: answer{stdout: specific(PreToolUse, `"permissionDecision":"ask","permissionDecisionReason":"sure?"`)}, kind: ask, reason: "sure?"},
		{name: "the older words: block", p: PreToolUse, a: answer{stdout: `{"decision":"block","reason":"old style"}`}, kind: block, reason: "old style"},
		{name: "the older words: approve", p: PreToolUse, a: answer{stdout: `{"decision":"approve","reason":"fine"}`}},
		{name: "both words: the stricter counts", p: PreToolUse, a: answer{stdout: `{"decision":"block","reason":"strict","hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"ask"}}`}, kind: block, reason: "strict"},
		{name: "context before a call", p: PreToolUse, a: answer{stdout: specific(PreToolUse, `"additionalContext":"note"`)}, context: "note"},
		{name: "block after a call", p: PostToolUse, a: answer{stdout: `{"decision":"block","reason":"redo"}`}, kind: block, reason: "redo"},
		{name: "context after a call", p: PostToolUse, a: answer{stdout: specific(PostToolUse, `"additionalContext":"audited"`)}, context: "audited"},
		{name: "block and context after a call", p: PostToolUse, a: answer{stdout: `{"decision":"block","reason":"redo","hookSpecificOutput":{"hookEventName":"PostToolUse","additionalContext":"more"}}`}, kind: block, reason: "redo", context: "more"},
		{name: "block a prompt", p: UserPromptSubmit, a: answer{stdout: `{"decision":"block","reason":"no"}`}, kind: block, reason: "no"},
		{name: "context for a prompt", p: UserPromptSubmit, a: answer{stdout: specific(UserPromptSubmit, `"additionalContext":"c"`)}, context: "c"},
		{name: "go on", p: Stop, a: answer{stdout: `{"decision":"block","reason":"tests"}`}, kind: block, reason: "tests"},
		{name: "null is absent", p: Stop, a: answer{stdout: `{"decision":null,"reason":null,"continue":null,"hookSpecificOutput":null}`}},
		{name: "what has no effect", p: PreToolUse, a: answer{stdout: `{"suppressOutput":true,"systemMessage":"hi"}`}, notice: "hi"},

		// Stopping the turn.
		{name: "stop before a call", p: PreToolUse, a: answer{stdout: `{"continue":false,"stopReason":"enough"}`}, kind: block, reason: "enough", halt: true, notice: "enough"},
		{name: "stop after a call", p: PostToolUse, a: answer{stdout: `{"continue":false}`}, halt: true, notice: "stopped the turn"},
		{name: "stop a prompt", p: UserPromptSubmit, a: answer{stdout: `{"continue":false,"stopReason":"closed"}`}, kind: block, reason: "closed", halt: true, notice: "closed"},
		{name: "stop comes before going on", p: Stop, a: answer{stdout: `{"continue":false,"stopReason":"done","decision":"block","reason":"more"}`}, halt: true, notice: "done"},

		// Malformed: no where something is decided, reported elsewhere.
		{name: "broken JSON before a call", p: PreToolUse, a: answer{stdout: `{"decision":`}, kind: block, reason: "counts as no", failure: "begins like JSON"},
		{name: "broken JSON after a call", p: PostToolUse, a: answer{stdout: `{x}`}, kind: block, reason: "counts as no", failure: "begins like JSON"},
		{name: "broken JSON on a prompt", p: UserPromptSubmit, a: answer{stdout: `{`}, kind: block, reason: "counts as no", failure: "begins like JSON"},
		{name: "broken JSON at the end", p: Stop, a: answer{stdout: `{`}, failure: "begins like JSON"},
		{name: "broken JSON at the start", p: SessionStart, a: answer{stdout: `{`}, failure: "begins like JSON"},
		{name: "two objects", p: PreToolUse, a: answer{stdout: "{}\n{}"}, kind: block, reason: "counts as no", failure: "begins like JSON"},
		{name: "a key twice", p: PreToolUse, a: answer{stdout: `{"decision":"block","decision":"approve"}`}, kind: block, reason: "counts as no", failure: "begins like JSON"},
		{name: "cut JSON", p: PreToolUse, a: answer{stdout: `{}`, truncated: true}, kind: block, reason: "longer than", failure: "longer than"},
		{name: "an unknown member", p: PreToolUse, a: answer{stdout: `{"permissionDecision":"deny"}`}, kind: block, reason: `"permissionDecision" of the hook's output means nothing`, failure: "means nothing"},
		{name: "an unknown member inside", p: PreToolUse, a: answer{stdout: specific(PreToolUse, `"permisionDecision":"deny"`)}, kind: block, reason: `"permisionDecision"`, failure: "means nothing"},
		{name: "an unknown decision", p: PreToolUse, a: answer{stdout: `{"decision":"maybe"}`}, kind: block, reason: `"maybe"`, failure: "is none of PreToolUse"},
		{name: "approve elsewhere", p: UserPromptSubmit, a: answer{stdout: `{"decision":"approve"}`}, kind: block, reason: `"approve"`, failure: "none of"},
		{name: "an unknown permission decision", p: PreToolUse, a: answer{stdout: specific(PreToolUse, `"permissionDecision":"Deny"`)}, kind: block, reason: `"Deny"`, failure: "none of allow, deny and ask"},
		{name: "a decision of the wrong type", p: PreToolUse, a: answer{stdout: `{"decision":true}`}, kind: block, reason: "is not text", failure: "is not text"},
		{name: "a reason of the wrong type", p: PreToolUse, a: answer{stdout: specific(PreToolUse, `"permissionDecision":"allow","permissionDecisionReason":1`)}, kind: block, reason: "is not text", failure: "is not text"},
		{name: "continue of the wrong type", p: PreToolUse, a: answer{stdout: `{"continue":"false"}`}, kind: block, reason: "true or false", failure: "true or false"},
		{name: "specific output of the wrong type", p: PreToolUse, a: answer{stdout: `{"hookSpecificOutput":"deny"}`}, kind: block, reason: "not an object", failure: "not an object"},
		{name: "output for another point", p: PreToolUse, a: answer{stdout: specific(PostToolUse, `"additionalContext":"x"`)}, kind: block, reason: "hookEventName", failure: `"PostToolUse" and not PreToolUse`},
		{name: "output for no point", p: PreToolUse, a: answer{stdout: `{"hookSpecificOutput":{"permissionDecision":"deny"}}`}, kind: block, reason: "hookEventName", failure: "hookEventName"},
		{name: "other arguments", p: PreToolUse, a: answer{stdout: specific(PreToolUse, `"permissionDecision":"allow","updatedInput":{}`)}, kind: block, reason: "arguments", failure: "arguments"},
		{name: "a decision about the start", p: SessionStart, a: answer{stdout: `{"decision":"block","reason":"x"}`}, failure: "none of SessionStart"},
		{name: "going on with nothing", p: Stop, a: answer{stdout: `{"decision":"block"}`}, failure: "does not say with what"},
		{name: "context at the end", p: Stop, a: answer{stdout: specific(Stop, `"additionalContext":"x"`)}, failure: "means nothing"},

		// Bounds.
		{name: "a long reason", p: PreToolUse, a: answer{exit: 2, stderr: long}, kind: block, reason: " […]"},
		{name: "a long context", p: UserPromptSubmit, a: answer{stdout: long}, context: clip(long, MaxText)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			v := judge(tt.p, tt.a)
			if v.kind != tt.kind || v.halt != tt.halt || v.context != tt.context {
				t.Errorf("%+v", v)
			}
			if !strings.Contains(v.reason, tt.reason) || (tt.reason == "") != (v.reason == "") || len(v.reason) > MaxText {
				t.Errorf("reason %.200q, wanted %q", v.reason, tt.reason)
			}
			if !strings.Contains(v.notice, tt.notice) || (tt.notice == "") != (v.notice == "") {
				t.Errorf("notice %q, wanted %q", v.notice, tt.notice)
			}
			switch {
			case tt.failure == "" && v.failure != nil:
				t.Errorf("failed: %v", v.failure)
			case tt.failure != "" && (v.failure == nil || !strings.Contains(v.failure.Error(), tt.failure)):
				t.Errorf("failure %v, wanted %q", v.failure, tt.failure)
			}
		})
	}
}
