package compact

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// log is a session log in memory that a test writes.
type log struct {
	t interface{ Fatal(args ...any) }
	*session.Log
	ids int
}

func newLog(t interface{ Fatal(args ...any) }) *log {
	return &log{t: t, Log: session.NewMemory(session.Header{Cwd: "/w"}, session.Options{})}
}

func (l *log) add(typ string, pairs ...any) session.Event {
	return l.put(session.Draft{Type: typ, Data: session.Data(pairs...)})
}

func (l *log) put(d session.Draft) session.Event {
	e, err := l.Append(d)
	if err != nil {
		l.t.Fatal(err)
	}
	return e
}

func texts(s string) any { return content.ToValue([]content.Block{content.Text(s)}) }

func (l *log) user(s string) {
	l.add(session.TypeUserMessage, "content", texts(s), "source", session.Data("kind", "user"))
}

func (l *log) says(s string, usage ...int64) {
	data := session.Data("content", texts(s), "provenance", session.Data("provider", "p", "model", "m"))
	if len(usage) > 0 {
		data = data.With("usage", model.Usage{InputTokens: usage[0], OutputTokens: usage[1]}.Value())
	}
	l.put(session.Draft{Type: session.TypeAssistantMessage, Data: data})
}

// calls logs an answer with calls of a tool, and their results.
func (l *log) calls(tool, args, result string, n int) {
	parts := []model.Part{model.Text("I look.")}
	first := l.ids + 1
	for range n {
		l.ids++
		parts = append(parts, model.Part{Type: model.PartToolCall, ID: fmt.Sprint("c", l.ids), Name: tool, Arguments: args})
	}
	l.add(session.TypeAssistantMessage, "content", model.PartsValue(parts))
	for i := range n {
		id := fmt.Sprint("c", first+i)
		l.add(session.TypeToolCall, "callId", id, "name", tool, "arguments", args)
		l.add(session.TypeToolResult, "callId", id, "name", tool, "content", texts(result), "isError", false)
	}
}

// replace does what the agent does with a plan.
func (l *log) replace(p Plan, summary string) {
	l.put(session.Draft{
		Type: session.TypeContextMessage, SurfaceOp: session.Replace(p.Start(), p.End()),
		Data: session.Data("content", content.ToValue(Message(l.Events(), p, summary)), "source", session.Data("kind", session.SourceCompaction, "id", "k")),
	})
}

func TestThePlanKeepsTheEnd(t *testing.T) {
	l := newLog(t)
	l.user("first")
	l.calls("read", `{"file_path":"a.go"}`, strings.Repeat("line\n", 400), 2)
	l.says("done")
	l.user("second")
	l.calls("bash", `{}`, strings.Repeat("out\n", 50), 1)
	for _, c := range []struct {
		keep, most int64
		first      string // type of the first kept event; "" for none
	}{
		{120, 200, session.TypeAssistantMessage}, // the last step
		{1, 120, session.TypeAssistantMessage},   // the last step is longer than wanted and not too long
		{1, 2, ""},                               // even the last step is too long
	} {
		p, ok := Choose(l.Events(), c.keep, c.most)
		got := ""
		if len(p.Kept) > 0 {
			got = p.Kept[0].Type
		}
		if !ok || got != c.first || p.Tokens <= 0 {
			t.Errorf("%+v: kept from %q, %v", c, got, ok)
		}
	}
	if p, ok := Choose(l.Events(), 1<<20, 1<<20); !ok || len(p.Replaced) != 1 {
		t.Error("the first message alone can be replaced")
	}
	if _, ok := Choose(l.Events()[:1], 1, 1); ok {
		t.Error("one message is worth no summary")
	}
	one := newLog(t)
	one.user("do it")
	one.calls("bash", "{}", strings.Repeat("out ", 300), 1)
	if p, ok := Choose(one.Events(), 1<<20, 1<<20); !ok || len(p.Kept) != 0 || len(Message(one.Events(), p, "S")) != 2 {
		t.Errorf("of one request and one answer all is replaced: %+v, %v", p, ok)
	}
	one.replace(Plan{Replaced: session.Surface(one.Events())}, "S")
	one.user("go on")
	if p, ok := Choose(one.Events(), 1, 1<<20); ok {
		t.Errorf("a summary and the request after it are summarised: %d events", len(p.Replaced))
	}
	if _, ok := Choose(nil, 1, 1); ok {
		t.Error("nothing is worth a summary")
	}
	p, _ := Choose(l.Events(), 1, 2)
	l.replace(p, "short")
	if p, ok := Choose(l.Events(), 1, 2); ok {
		t.Errorf("a summary alone is summarised: %d events", len(p.Replaced))
	}
}

func TestNothingOfTheLastRequestIsLost(t *testing.T) {
	l := newLog(t)
	l.user("an old request")
	l.says("done")
	l.add(session.TypeUserMessage, "content", []any{content.Text("look at <summary> this"), session.Data("type", "image", "mimeType", "image/png", "data", "AAAA")}, "source", session.Data("kind", "user"))
	l.calls("read", `{"file_path":"a.go"}`, "x", 1)
	l.add(session.TypeSteeringMessage, "turn", 1, "content", texts("and be quick"), "source", session.Data("kind", "user"))
	l.calls("edit", `{"file_path":"b.go"}`, "x", 1)
	for round := range 3 {
		p, ok := Choose(l.Events(), 1, 1)
		if !ok {
			t.Fatal("no plan")
		}
		l.replace(p, "S")
		messages := session.Messages(l.Events())
		if len(messages) != 1 || messages[0].Role != model.RoleUser || messages[0].Origin != model.OriginContext {
			t.Fatalf("%d messages: %+v", len(messages), messages)
		}
		text := messages[0].Text()
		for _, want := range []string{"look at <summary> this", "and be quick", "Files that were changed: b.go", "Files that were only read: a.go"} {
			if !strings.Contains(text, want) {
				t.Errorf("round %d: no %q in\n%s", round, want, text)
			}
		}
		if strings.Contains(text, "an old request") {
			t.Errorf("an answered request is quoted:\n%s", text)
		}
		images := 0
		for _, part := range messages[0].Content {
			if _, _, ok := part.Image(); ok {
				images++
			}
		}
		if images != 1 {
			t.Errorf("%d images", images)
		}
		l.calls("bash", `{}`, "more", 1)
	}
	// A request that is kept is not quoted.
	l.user("a new one")
	p, ok := Choose(l.Events(), 20, 100)
	if blocks := Message(l.Events(), p, "S"); !ok || len(blocks) != 1 || strings.Contains(content.JoinText(blocks), "word for word") {
		t.Errorf("%v %v", ok, blocks)
	}
}

// What a hook has added is not put into the user's mouth, and is not lost.
func TestWhatHooksAddedIsNotTheUsers(t *testing.T) {
	l := newLog(t)
	l.user("do it")
	l.says("done")
	l.add(session.TypeSteeringMessage, "turn", 1, "content", texts("run the tests first"), "source", session.Data("kind", "plugin", "plugin", "hooks", "name", "Stop"))
	l.add(session.TypeSteeringMessage, "turn", 1, "content", texts("and hurry"), "source", session.Data("kind", "user"))
	l.calls("bash", "{}", strings.Repeat("out ", 300), 1)
	p, ok := Choose(l.Events(), 1, 1)
	text := content.JoinText(Message(l.Events(), p, "S"))
	user, others, ok2 := strings.Cut(text, "not by the user")
	if !ok || !ok2 || strings.Contains(user, "run the tests") || !strings.Contains(user, "do it") || !strings.Contains(user, "and hurry") || !strings.Contains(others, "run the tests first") {
		t.Errorf("%s", text)
	}
}

func TestWhatTheProgramKnows(t *testing.T) {
	l := newLog(t)
	l.user("go")
	l.calls("skill", `{"name":"release"}`, "how", 1)
	l.calls("write", `{"file_path":"new.go"}`, "ok", 1)
	l.calls("read", `{"file_path":"new.go"}`, "ok", 1)
	l.calls("read", `not json`, "ok", 1)
	l.add(session.TypeToolCall, "callId", "bad", "name", "write", "arguments", `{"file_path":"failed.go"}`)
	l.add(session.TypeToolResult, "callId", "bad", "content", texts("no"), "isError", true)
	l.add(session.TypeCodeDispatch, "parentCallId", "c9", "subCallId", "c9:code:1", "name", "read", "arguments", session.Data("file_path", "by-program.go"), "isError", false)
	l.add(session.TypeTodoWrite, "todos", []any{session.Data("content", "ship it", "status", "pending")})
	l.add(session.TypeContextMessage, "content", texts(`The approval policy changed from "ask" to "never" (changed by the user).`), "source", session.Data("kind", "plugin", "plugin", "user-approval"))
	for i := range maxListed + 5 {
		l.calls("read", fmt.Sprintf(`{"file_path":"f%d.go"}`, i), "x", 1)
	}
	p, _ := Choose(l.Events(), 1, 1)
	text := content.JoinText(Message(l.Events(), p, "S"))
	for _, want := range []string{
		"\n  - [pending] ship it", "(load one again to follow it): release", "Files that were changed: new.go\n", "f64.go and 6 earlier ones", `policy changed from "ask" to "never"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "failed.go") {
		t.Error("a call that failed changed nothing")
	}
}

func TestTheTranscriptFits(t *testing.T) {
	l := newLog(t)
	l.user("the task " + strings.Repeat("and more ", 50))
	for range 40 {
		l.calls("bash", `{"command":"`+strings.Repeat("x", 3000)+`"}`, strings.Repeat("output é\n", 3000), 2)
	}
	l.user("the end </transcript> of it")
	p := Plan{Replaced: session.Surface(l.Events())}
	for _, room := range []int64{1 << 30, 100_000, 20_000, 5_000, 1_000, 200} {
		s := transcript(p.Replaced, room)
		if n := Tokens(s); n > room+300 {
			t.Errorf("%d tokens where %d fit", n, room)
		}
		if room >= 1000 && !strings.Contains(s, "the task") || !strings.Contains(s, "of it") {
			t.Errorf("room %d: the beginning or the end is missing", room)
		}
		if strings.Contains(s, "</transcript") {
			t.Error("a message can end the transcript")
		}
	}
	req := Request(p, " mind the gap ", 1000)
	if len(req.Messages) != 1 || len(req.Tools) != 0 || req.MaxTokens == 0 || !strings.HasSuffix(req.Messages[0].Text(), "mind the gap") {
		t.Errorf("%+v", req)
	}
}

func TestUsed(t *testing.T) {
	l := newLog(t)
	l.user(strings.Repeat("word ", 100))
	if n := Used(l.Events(), 1000); n < 1100 || n > 1200 {
		t.Errorf("a guess of %d", n)
	}
	l.says("yes", 5000, 100)
	if n := Used(l.Events(), 1000); n != 5100 {
		t.Errorf("%d, where the provider counted 5100", n)
	}
	l.user(strings.Repeat("word ", 100))
	if n := Used(l.Events(), 1000); n < 5200 || n > 5300 {
		t.Errorf("%d after another message", n)
	}
	p, _ := Choose(l.Events(), 1, 500)
	l.replace(p, "S")
	if n := Used(l.Events(), 1000); n > 1500 {
		t.Errorf("%d after a summary: the old count was believed", n)
	}
	// Nor is an old count believed that is still part of the conversation.
	old := newLog(t)
	old.user("a")
	old.says("b")
	old.says("c", 5000, 100)
	old.replace(Plan{Replaced: session.Surface(old.Events())[:2], Kept: session.Surface(old.Events())[2:]}, "S")
	if n := Used(old.Events(), 1000); n > 1500 {
		t.Errorf("%d after a summary: the old count was believed", n)
	}
	l.says("yes", 700, 10)
	if n := Used(l.Events(), 1000); n != 710 {
		t.Errorf("%d, where the provider counted 710", n)
	}
}

// Whatever the log and wherever it is cut: no call is parted from its result,
// nothing of the last request is lost, and the log keeps every event.
func TestAnySequenceOfSummaries(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newLog(rt)
		last := ""
		lines := map[int64]string{}
		for round := range rapid.IntRange(1, 4).Draw(rt, "rounds") {
			for i := range rapid.IntRange(1, 6).Draw(rt, "events") {
				switch rapid.IntRange(0, 5).Draw(rt, "kind") {
				case 0:
					last = fmt.Sprintf("request %d/%d", round, i)
					l.user(last)
				case 1:
					l.says("ok")
				case 2: // results out of order, notes between, ids that begin again, one that is missing
					drawCalls(rt, l)
				default:
					l.calls("read", `{"file_path":"a"}`, strings.Repeat("r", rapid.IntRange(0, 400).Draw(rt, "size")), rapid.IntRange(1, 3).Draw(rt, "calls"))
				}
			}
			before := faults(l)
			for _, e := range l.Events() {
				lines[e.Seq] = string(e.AppendLine(nil))
			}
			p, ok := Choose(l.Events(), rapid.Int64Range(0, 200).Draw(rt, "keep"), rapid.Int64Range(0, 400).Draw(rt, "most"))
			if !ok {
				continue
			}
			l.replace(p, "S")
			if after := faults(l); after > before {
				rt.Fatalf("%d calls or results lost their other half, after %d before:\n%v", after, before, session.Messages(l.Events()))
			}
			for seq, line := range lines {
				if got := string(l.Events()[seq].AppendLine(nil)); got != line {
					rt.Fatalf("event %d changed", seq)
				}
			}
			all := ""
			for _, m := range session.Messages(l.Events()) {
				all += m.Text() + "\n"
			}
			if !strings.Contains(all, last) {
				rt.Fatalf("%q is lost:\n%s", last, all)
			}
		}
	})
}

// drawCalls logs an answer with calls whose results come in any order.
func drawCalls(rt *rapid.T, l *log) {
	n := rapid.IntRange(1, 3).Draw(rt, "calls")
	parts := []model.Part{}
	var ids []string
	for i := range n {
		id := fmt.Sprint("again", i)
		ids = append(ids, id)
		parts = append(parts, model.Part{Type: model.PartToolCall, ID: id, Name: "bash", Arguments: "{}"})
	}
	l.add(session.TypeAssistantMessage, "content", model.PartsValue(parts))
	for _, id := range rapid.Permutation(ids).Draw(rt, "order") {
		if rapid.Bool().Draw(rt, "note") {
			l.add(session.TypeContextMessage, "content", texts("note"))
		}
		if rapid.IntRange(0, 9).Draw(rt, "lost") > 0 {
			l.add(session.TypeToolResult, "callId", id, "content", texts("r"), "isError", false)
		}
	}
}

// faults counts what the fold had to make up.
func faults(l *log) (n int) {
	for _, m := range session.Messages(l.Events()) {
		if strings.Contains(m.Text(), "no longer part of this conversation") || strings.Contains(m.Text(), "its outcome is unknown; verify") {
			n++
		}
	}
	return n
}
