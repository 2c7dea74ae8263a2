package session

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

func TestRepairGolden(t *testing.T) {
	l := NewMemory(Header{ID: "s", CreatedAt: clock()()}, Options{Now: clock()})
	for _, d := range []Draft{
		{Type: TypeTurnStart, Data: Data("turn", 3)},
		prompt("go"),
		{Type: TypeStepStart, Data: Data("turn", 3, "step", 2)},
		{Type: TypeAssistantMessage, Data: Data("turn", 3, "step", 2, "content", model.PartsValue([]model.Part{
			{Type: model.PartToolCall, ID: "a", Name: "read", Arguments: `{"file_path":"x"}`},
			{Type: model.PartToolCall, ID: "b", Name: "bash", Arguments: `{"command":"make"}`},
			{Type: model.PartToolCall, ID: "c", Name: "edit", Arguments: `{"broken`},
		}))},
		{Type: TypeToolCall, Data: Data("turn", 3, "step", 2, "callId", "a", "name", "read", "arguments", `{"file_path":"x"}`)},
		{Type: TypeToolResult, Data: Data("turn", 3, "step", 2, "callId", "a", "content", model.PartsValue([]model.Part{model.Text("x")}), "isError", false), Sources: []int64{4}},
		{Type: TypeToolCall, Data: Data("turn", 3, "step", 2, "callId", "b", "name", "bash", "arguments", `{"command":"make"}`)},
	} {
		mustAppend(t, l, d)
	}
	drafts := Repair(l.Events())
	if _, err := l.AppendAll(drafts); err != nil {
		t.Fatal(err)
	}
	golden(t, "repair.golden.jsonl", lines(l.Header(), l.Events()))
	if again := Repair(l.Events()); again != nil {
		t.Errorf("a repaired log wants repair: %v", again)
	}
}

func TestRepairLeavesWholeLogsAlone(t *testing.T) {
	for _, events := range [][]Event{
		nil,
		{{Type: TypeTitle}},
		{{Type: TypeTurnStart}, {Type: TypeTurnEnd}},
		{{Type: TypeTurnStart}, {Type: TypeTurnEnd}, {Type: TypePlanMode}},
	} {
		if d := Repair(events); d != nil {
			t.Errorf("%v: %v", events, d)
		}
	}
}

// Any prefix of a valid log loads, and after repair every call has exactly one
// result, and turns and steps are balanced.
func TestAnyCutCanBeRepaired(t *testing.T) {
	dir := t.TempDir()
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++
		s := NewStore(filepath.Join(dir, fmt.Sprint(run)), Options{Sync: SyncNever})
		l, err := s.Create(Header{Cwd: "/w"})
		if err != nil {
			rt.Fatal(err)
		}
		headerLen := l.size
		drawLog(rt, l)
		_ = l.Close()
		data, err := os.ReadFile(l.Path())
		if err != nil {
			rt.Fatal(err)
		}
		cut := rapid.Int64Range(headerLen, int64(len(data))).Draw(rt, "cut")
		if err := os.WriteFile(l.Path(), data[:cut], 0o600); err != nil {
			rt.Fatal(err)
		}
		again, err := s.Open(l.Header().ID)
		if err != nil {
			rt.Fatal(err)
		}
		defer func() { _ = again.Close() }()
		if _, err := again.AppendAll(Repair(again.Events())); err != nil {
			rt.Fatal(err)
		}
		if err := balanceFault(again.Events()); err != nil {
			rt.Fatal(err)
		}
		if err := conversationFault(Messages(again.Events())); err != nil {
			rt.Fatal(err)
		}
		if Repair(again.Events()) != nil {
			rt.Fatal("a repaired log wants repair")
		}
		// What a new process would load is what this one has.
		rec, err := s.Load(again.Header().ID)
		if err != nil {
			rt.Fatal(err)
		}
		if got, want := lines(rec.Header, rec.Events), lines(again.Header(), again.Events()); got != want {
			rt.Fatalf("file and memory differ:\n%s\n%s", got, want)
		}
		if !bytes.HasPrefix([]byte(lines(rec.Header, rec.Events)), data[:bytes.LastIndexByte(data[:cut], '\n')+1]) {
			rt.Fatal("whole lines were lost")
		}
	})
}

// drawLog appends a log as the agent loop would write it.
func drawLog(rt *rapid.T, l *Log) {
	add := func(d Draft) Event {
		e, err := l.Append(d)
		if err != nil {
			rt.Fatal(err)
		}
		return e
	}
	id := 0
	for turn := range rapid.IntRange(1, 3).Draw(rt, "turns") {
		add(Draft{Type: TypeTurnStart, Data: Data("turn", turn+1)})
		add(prompt(rapid.StringN(0, 6, -1).Draw(rt, "prompt")))
		for step := range rapid.IntRange(0, 3).Draw(rt, "steps") {
			at := []any{"turn", turn + 1, "step", step + 1}
			add(Draft{Type: TypeStepStart, Data: Data(at...)})
			add(Draft{Type: TypeAssistantChunk, Data: Data(append(at, "chunk", model.TextChunk(0, "é").Value())...)})
			if rapid.Bool().Draw(rt, "cancelled") {
				add(Draft{Type: TypeStepEnd, Data: Data(at...)})
				continue
			}
			reuse := rapid.Bool().Draw(rt, "ids start again")
			content := []model.Part{model.Text("é")}
			calls := rapid.IntRange(0, 3).Draw(rt, "calls")
			for i := range calls {
				id++
				name := fmt.Sprint("call", id)
				if reuse {
					name = fmt.Sprint("call", i)
				}
				content = append(content, model.Part{Type: model.PartToolCall, ID: name, Name: "read", Arguments: "{}"})
			}
			add(Draft{Type: TypeAssistantMessage, Data: Data(append(at, "content", model.PartsValue(content))...)})
			callSeq := make(map[string]int64)
			call := func(p model.Part) {
				callSeq[p.ID] = add(Draft{Type: TypeToolCall, Data: Data(append(at, "callId", p.ID, "name", p.Name, "arguments", p.Arguments)...)}).Seq
			}
			parallel := rapid.Bool().Draw(rt, "parallel")
			if parallel {
				for _, p := range content[1:] {
					call(p)
				}
			}
			for _, p := range content[1:] {
				if !parallel {
					call(p)
				}
				add(Draft{Type: TypeToolResult, Sources: []int64{callSeq[p.ID]}, Data: Data(append(at, "callId", p.ID,
					"content", model.PartsValue([]model.Part{model.Text("ok")}), "isError", false)...)})
				if rapid.Bool().Draw(rt, "context") {
					add(Draft{Type: TypeContextMessage, Data: Data("content", model.PartsValue([]model.Part{model.Text("note")}))})
				}
			}
			drawCompaction(rt, l)
			add(Draft{Type: TypeStepEnd, Data: Data(at...)})
		}
		add(Draft{Type: TypeTurnEnd, Data: Data("turn", turn+1, "reason", Data("kind", EndCompleted))})
		drawCompaction(rt, l)
	}
}

// drawCompaction appends a compaction as the agent writes it, or none.
func drawCompaction(rt *rapid.T, l *Log) {
	if !rapid.Bool().Draw(rt, "compaction") {
		return
	}
	s := surfaceOf(l.Events())
	id := fmt.Sprint("k", l.Len())
	drafts := []Draft{{Type: TypeCompactStart, Data: Data("id", id)}}
	if rapid.Bool().Draw(rt, "summary") {
		drafts = append(drafts,
			Draft{Type: TypeCompactSummary, Data: Data("id", id, "content", model.PartsValue([]model.Part{model.Text("é")}))},
			Draft{
				Type: TypeContextMessage, SurfaceOp: Replace(s[0], s[len(s)-1]),
				Data: Data("content", model.PartsValue([]model.Part{model.Text("é")}), "source", Data("kind", SourceCompaction, "id", id)),
			},
			Draft{Type: TypeCompactEnd, Data: Data("id", id, "status", CompactCompleted)})
	} else {
		drafts = append(drafts, Draft{Type: TypeCompactEnd, Data: Data("id", id, "status", CompactFailed)})
	}
	if _, err := l.AppendAll(drafts); err != nil {
		rt.Fatal(err)
	}
}

// balanceFault checks turns, steps and the pairs of calls and results.
func balanceFault(events []Event) error {
	inTurn, inStep, compacting := false, false, ""
	named, called, answered := map[string]int{}, map[string]int{}, map[string]int{}
	key := func(e Event, id string) string { return fmt.Sprint(e.Turn(), "/", e.Step(), "/", id) }
	for _, e := range events {
		var ok bool
		switch e.Type {
		case TypeTurnStart:
			ok, inTurn = !inTurn, true
		case TypeTurnEnd:
			ok, inTurn = inTurn && !inStep, false
		case TypeStepStart:
			ok, inStep = inTurn && !inStep, true
		case TypeStepEnd:
			ok, inStep = inStep, false
		default:
			ok = true
		}
		if !ok {
			return fmt.Errorf("event %d (%s) does not belong there", e.Seq, e.Type)
		}
		switch e.Type {
		case TypeCompactStart:
			if compacting != "" {
				return fmt.Errorf("compaction %s begins inside of %s", e.Data.GetString("id"), compacting)
			}
			compacting = e.Data.GetString("id")
		case TypeCompactEnd:
			if compacting == "" || e.Data.GetString("id") != compacting {
				return fmt.Errorf("compaction %s ends, and %q was open", e.Data.GetString("id"), compacting)
			}
			replaced := slices.ContainsFunc(events, func(m Event) bool { return m.Data.Get("source").GetString("id") == compacting })
			if done := e.Data.GetString("status") == CompactCompleted; done != replaced {
				return fmt.Errorf("compaction %s: completed %v, replaced %v", compacting, done, replaced)
			}
			compacting = ""
		case TypeAssistantMessage:
			for _, p := range parts(e.Data.Get("content")) {
				if p.Type == model.PartToolCall {
					named[key(e, p.ID)]++
				}
			}
		case TypeToolCall:
			called[key(e, e.Data.GetString("callId"))]++
		case TypeToolResult:
			k := key(e, e.Data.GetString("callId"))
			answered[k]++
			if src := e.SourceEventSeqs; len(src) != 1 || key(events[src[0]], events[src[0]].Data.GetString("callId")) != k {
				return fmt.Errorf("result %d derives from %v", e.Seq, src)
			}
		}
	}
	if compacting != "" {
		return fmt.Errorf("compaction %s has no end", compacting)
	}
	if inTurn || inStep {
		return fmt.Errorf("the log ends inside a turn")
	}
	for k, n := range named {
		if called[k] != n || answered[k] != n {
			return fmt.Errorf("call %s: %d calls and %d results", k, called[k], answered[k])
		}
	}
	if len(called) != len(named) || len(answered) != len(named) {
		return fmt.Errorf("calls nobody made: %v %v %v", named, called, answered)
	}
	return nil
}
