package assemble

import (
	"errors"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
	"github.com/dsh-acp/dsh-acp/internal/model/prepare"
)

func tools() *prepare.ToolSet {
	object := jsonvalue.MustFromGo(map[string]any{"type": "object"})
	return prepare.Tools([]model.ToolSchema{{Name: "read", Parameters: object}, {Name: "fs.write", Parameters: object}}, 0, nil)
}

// play runs the accumulator over what a builder makes.
func play(t *testing.T, kind model.FinishKind, f func(b *Builder)) (string, []model.Chunk, error) {
	t.Helper()
	var acc model.Accumulator
	var chunks []model.Chunk
	b := New(tools(), func(c model.Chunk) bool {
		if err := acc.Add(c); err != nil {
			t.Errorf("chunk %s: %v", c.Value(), err)
		}
		chunks = append(chunks, c)
		return true
	})
	f(b)
	err := b.Finish(kind, &model.Usage{InputTokens: 1})
	out := model.PartsValue(acc.Content()).String()
	if fin := acc.Finish(); fin != nil {
		out += " " + string(fin.Kind)
	}
	return out, chunks, err
}

func TestBuilder(t *testing.T) {
	for _, c := range []struct {
		name, want string
		kind       model.FinishKind
		do         func(b *Builder)
	}{
		{"blocks", `[{"type":"reasoning","text":"th","signature":"s"},{"type":"text","text":"hi"},{"type":"reasoning","text":"more"},{"type":"text","text":"!"}] stop`, model.FinishStop, func(b *Builder) {
			b.Reasoning("t")
			b.Reasoning("h")
			b.Extra("signature", jsonvalue.String("s"))
			b.Text("h")
			b.Text("i")
			b.Reasoning("more")
			b.Text("!")
		}},
		{"late name and id", `[{"type":"tool-call","id":"c1","name":"fs.write","arguments":"{\"a\":1}"}] tool-calls`, model.FinishStop, func(b *Builder) {
			c := b.Call("", "")
			c.Args(`{"a"`)
			c.SetName(prepare.WireName("fs.write"))
			c.Args(`:1}`)
			c.SetID("c1")
		}},
		{"no id, blank arguments", `[{"type":"tool-call","id":"call_0","name":"read","arguments":""}] tool-calls`, model.FinishToolCalls, func(b *Builder) {
			b.Call("", "read").Args(" \n")
		}},
		{"cut characters", `[{"type":"text","text":"a😀b�c�"}] stop`, model.FinishStop, func(b *Builder) {
			b.Text("a\xED\xA0\xBD")
			b.Text("\xED\xB8\x80b")
			b.Text("\xED\xA0\xBDc")
			b.Text("\xED\xA0\xBD")
		}},
		{"leak", `[{"type":"text","text":"Look."},{"type":"tool-call","id":"call_1","name":"read","arguments":"{}"}] tool-calls`, model.FinishStop, func(b *Builder) {
			b.Text("Look.<｜DS")
			b.Text("ML｜invoke name=\"read\"></｜DSML｜invoke>")
		}},
		{"leak of another family, with thoughts", `[{"type":"reasoning","text":"I read."},{"type":"tool-call","id":"call_1","name":"read","arguments":"{\"a\":1}"}] tool-calls`, model.FinishStop, func(b *Builder) {
			b.Text("<|channel|>analysis<|message|>I read.<|end|><|start|>assist")
			b.Text("ant<|channel|>commentary to=functions.read <|constrain|>json<|message|>{\"a\":1}<|call|>")
		}},
		{"leak behind text", `[{"type":"text","text":"Look. "},{"type":"tool-call","id":"call_1","name":"read","arguments":"{}"}] tool-calls`, model.FinishStop, func(b *Builder) {
			b.Text("Look. [TOOL_CALLS][{\"name\":\"read\",\"arguments\":{}}]")
		}},
		{"leak in reasoning alone", `[{"type":"reasoning","text":"I read."},{"type":"tool-call","id":"call_1","name":"read","arguments":"{}"}] tool-calls`, model.FinishStop, func(b *Builder) {
			b.Reasoning("I read.<｜DSML｜invoke name=\"read\"></｜DSML｜invoke>")
		}},
		{"leak in reasoning beside an answer", `[{"type":"reasoning","text":"I read."},{"type":"text","text":"Done."}] stop`, model.FinishStop, func(b *Builder) {
			b.Reasoning("I read.<｜DSML｜invoke name=\"read\"></｜DSML｜invoke>")
			b.Text("Done.")
		}},
		{"leak of a call that was made", `[{"type":"tool-call","id":"x","name":"read","arguments":"{\"a\": 1}"}] tool-calls`, model.FinishToolCalls, func(b *Builder) {
			b.Call("x", "read").Args(`{"a": 1}`)
			b.Text(`<｜DSML｜invoke name="read"><｜DSML｜parameter name="a" string="false">1</｜DSML｜parameter></｜DSML｜invoke>`)
		}},
		{"stray end beside a call", `[{"type":"tool-call","id":"x","name":"read","arguments":""}] tool-calls`, model.FinishStop, func(b *Builder) {
			b.Call("x", "read")
			b.Text("</｜DSML｜function_calls>")
		}},
		{"leak cut by the limit", `[{"type":"text","text":"a"}] max-tokens`, model.FinishMaxTokens, func(b *Builder) {
			b.Text("a<｜DSML｜invoke name=\"read\"><｜DSML｜parameter name=\"p\" string=\"true\">never")
		}},
		{"held text before a call", `[{"type":"reasoning","text":"x <"},{"type":"text","text":"a |"},{"type":"tool-call","id":"x","name":"read","arguments":""},{"type":"text","text":"b"}] tool-calls`, model.FinishStop, func(b *Builder) {
			b.Reasoning("x <")
			b.Text("a |")
			b.Call("x", "read")
			b.Text("b")
		}},
		{"nothing but held text before a call", `[{"type":"text","text":"<"},{"type":"tool-call","id":"x","name":"read","arguments":""}] tool-calls`, model.FinishStop, func(b *Builder) {
			b.Text("<")
			b.Call("x", "read")
		}},
		{"nothing but held reasoning before text", `[{"type":"reasoning","text":"<"},{"type":"text","text":"a <b"}] stop`, model.FinishStop, func(b *Builder) {
			b.Reasoning("<")
			b.Text("a <")
			b.Text("b")
		}},
		{"held text", `[{"type":"text","text":"a <"}] stop`, model.FinishStop, func(b *Builder) { b.Text("a <") }},
	} {
		got, chunks, err := play(t, c.kind, c.do)
		if err != nil || got != c.want {
			t.Errorf("%s:\ngot  %s %v\nwant %s", c.name, got, err, c.want)
		}
		if n := len(chunks); n < 2 || chunks[n-2].Type != model.ChunkUsage || chunks[n-1].Type != model.ChunkFinish {
			t.Errorf("%s: the end is not usage, finish", c.name)
		}
	}
}

func TestAnswersThatMustNotBeUsed(t *testing.T) {
	for name, do := range map[string]func(b *Builder){
		"broken markup":            func(b *Builder) { b.Text("I did it. <｜DSML｜function_calls>") },
		"markup of another family": func(b *Builder) { b.Text("I read it.\n[TOOL_CALLS]read[ARGS]{\"path\": \"<DSML\"") },
		"call without name":        func(b *Builder) { b.Call("x", "").Args("{}") },
		"too large": func(b *Builder) {
			for range 9 {
				b.Text(strings.Repeat("x", 4<<20))
			}
		},
		"too many calls": func(b *Builder) {
			for range 300 {
				b.Call("", "read")
			}
		},
	} {
		got, chunks, err := play(t, model.FinishStop, do)
		var e *model.Error
		if !errors.As(err, &e) || e.Code != "PROTOCOL" {
			t.Errorf("%s: %v", name, err)
		}
		if chunks[len(chunks)-1].Type == model.ChunkFinish || strings.Contains(got, "DSML") {
			t.Errorf("%s: finished, or shown: %.200s", name, got)
		}
	}
	if _, _, err := play(t, model.FinishToolCalls, func(b *Builder) { b.Text("x") }); err == nil {
		t.Error("calls were announced, none made, and that was fine")
	}
}

func TestStop(t *testing.T) {
	n := 0
	b := New(tools(), func(model.Chunk) bool { n++; return n < 3 })
	for range 10 {
		b.Text("x")
	}
	if err := b.Finish(model.FinishStop, nil); !errors.Is(err, ErrStopped) || n != 3 {
		t.Errorf("%d chunks, %v", n, err)
	}
}
