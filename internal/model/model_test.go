package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func parse(t testing.TB, s string) jsonvalue.Value {
	t.Helper()
	v, err := jsonvalue.ParseString(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestChunksRoundTrip(t *testing.T) {
	for _, text := range []string{
		`{"type":"block-start","index":0,"blockType":"reasoning"}`,
		`{"type":"text-delta","index":3,"text":""}`,
		`{"type":"reasoning-delta","index":0,"text":"é\ud800"}`,
		`{"type":"tool-call-delta","index":1,"id":"c","name":"n","argumentsDelta":"{"}`,
		`{"type":"tool-call-delta","index":1,"argumentsDelta":"}"}`,
		`{"type":"block-end","index":0,"block":{"type":"reasoning","text":"x","signature":"s"}}`,
		`{"type":"block-end","index":0,"block":{"type":"tool-call","id":"c","name":"n","arguments":"{"}}`,
		`{"type":"block-end","index":0,"block":{"type":"novel","anything":[1]}}`,
		`{"type":"usage","usage":{"inputTokens":1,"outputTokens":2}}`,
		`{"type":"usage","usage":{"inputTokens":1,"outputTokens":2,"cacheReadTokens":0,"reasoningTokens":0}}`,
		`{"type":"finish","reason":{"kind":"stop"}}`,
		`{"type":"finish","reason":{"kind":"error","failure":{"message":"m","code":"C"}}}`,
	} {
		c, err := ChunkFromValue(parse(t, text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := c.Value().String(); got != text {
			t.Errorf("got  %s\nwant %s", got, text)
		}
	}
}

func TestChunkFaults(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                     "object",
		`{}`:                     `"type"`,
		`{"type":"other"}`:       "unknown type",
		`{"type":"block-start"}`: `"index"`,
		`{"type":"text-delta","index":-1,"text":""}`:                                      `"index"`,
		`{"type":"text-delta","index":1e9,"text":""}`:                                     `"index"`,
		`{"type":"text-delta","index":0}`:                                                 `"text"`,
		`{"type":"block-start","index":0,"blockType":1}`:                                  `"blockType"`,
		`{"type":"tool-call-delta","index":0,"id":1,"argumentsDelta":""}`:                 `"id"`,
		`{"type":"tool-call-delta","index":0,"id":"c"}`:                                   `"argumentsDelta"`,
		`{"type":"block-end","index":0}`:                                                  "content block",
		`{"type":"block-end","index":0,"block":{"type":"text"}}`:                          `"text"`,
		`{"type":"block-end","index":0,"block":{"type":"tool-call","id":"c","name":"n"}}`: `"arguments"`,
		`{"type":"usage"}`:                           "usage",
		`{"type":"usage","usage":{"inputTokens":1}}`: `"outputTokens"`,
		`{"type":"usage","usage":{"inputTokens":1,"outputTokens":2,"cacheReadTokens":-1}}`:    `"cacheReadTokens"`,
		`{"type":"usage","usage":{"inputTokens":1,"outputTokens":2,"reasoningTokens":"few"}}`: `"reasoningTokens"`,
		`{"type":"finish"}`: `"kind"`,
		`{"type":"finish","reason":{"kind":"error","failure":"x"}}`: "failure",
	} {
		if _, err := ChunkFromValue(parse(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

func add(t *testing.T, a *Accumulator, chunks ...Chunk) {
	t.Helper()
	for _, c := range chunks {
		if err := a.Add(c); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAccumulatorOverlappingAndUnendedBlocks(t *testing.T) {
	var a Accumulator
	add(
		t, &a,
		StartChunk(0, PartReasoning), ReasoningChunk(0, "th"),
		StartChunk(1, PartText), TextChunk(1, "he"), ReasoningChunk(0, "ink"),
		EndChunk(0, Part{Type: PartReasoning, Text: "think!"}), // the end is authoritative
		TextChunk(1, "llo"),
		// Never started, never ended, and out of order.
		ToolCallChunk(3, "c3", "edit", ""), ToolCallChunk(2, "c2", "", `{"a"`), ToolCallChunk(3, "", "", "{}"),
		ToolCallChunk(2, "", "read", `:1}`),
		StartChunk(4, PartText), // empty
		UsageChunk(Usage{InputTokens: 1}), UsageChunk(Usage{InputTokens: 5, OutputTokens: 2, CacheReadTokens: new(int64(3))}),
	)
	if a.Finish() != nil {
		t.Error("finished without a finish")
	}
	add(t, &a, FinishChunk(FinishToolCalls))
	want := `[{"type":"reasoning","text":"think!"},{"type":"text","text":"hello"},` +
		`{"type":"tool-call","id":"c2","name":"read","arguments":"{\"a\":1}"},{"type":"tool-call","id":"c3","name":"edit","arguments":"{}"}]`
	if got := PartsValue(a.Content()).String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if calls := a.ToolCalls(); len(calls) != 2 || calls[0].ID != "c2" || calls[1].ID != "c3" {
		t.Errorf("calls %v", calls)
	}
	if a.Text() != "hello" || a.Usage().Context() != 10 || !a.Finish().Kind.Whole() {
		t.Errorf("text %q, context %d", a.Text(), a.Usage().Context())
	}
	if m := a.Message("p", "m"); m.Role != RoleAssistant || m.Provider != "p" || m.Model != "m" || len(m.Content) != 4 {
		t.Errorf("message %+v", m)
	}
}

func TestAccumulatorRefusesWhatCannotBelong(t *testing.T) {
	tests := []struct {
		name   string
		before []Chunk
		bad    Chunk
	}{
		{"after finish", []Chunk{FinishChunk(FinishStop)}, TextChunk(0, "x")},
		{"second finish", []Chunk{FinishChunk(FinishStop)}, FinishChunk(FinishStop)},
		{"started twice", []Chunk{StartChunk(0, PartText)}, StartChunk(0, PartText)},
		{"wrong delta", []Chunk{StartChunk(0, PartText)}, ReasoningChunk(0, "x")},
		{"delta after end", []Chunk{EndChunk(0, Text("x"))}, TextChunk(0, "x")},
		{"ended twice", []Chunk{EndChunk(0, Text("x"))}, EndChunk(0, Text("x"))},
		{"ended as another", []Chunk{StartChunk(0, PartText)}, EndChunk(0, Part{Type: PartReasoning})},
		{"end without block", nil, Chunk{Type: ChunkBlockEnd}},
		{"finish without reason", nil, Chunk{Type: ChunkFinish}},
		{"unknown", nil, Chunk{Type: "noise"}},
	}
	for _, tt := range tests {
		var a Accumulator
		add(t, &a, tt.before...)
		before := fmt.Sprint(PartsValue(a.Content()), a.Finish())
		var e *Error
		if err := a.Add(tt.bad); !errors.As(err, &e) || e.Code != "PROTOCOL" {
			t.Errorf("%s: %v", tt.name, err)
		}
		if after := fmt.Sprint(PartsValue(a.Content()), a.Finish()); after != before {
			t.Errorf("%s: changed %s to %s", tt.name, before, after)
		}
	}
}

// However a message's blocks are cut into deltas and interleaved, the
// accumulator gives the message back.
func TestAccumulatorProperty(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(0, 5).Draw(rt, "blocks")
		want := make([]Part, n)
		queues := make([][]Chunk, n)
		for i := range want {
			text := rapid.StringN(1, 12, -1).Draw(rt, "text")
			cut := rapid.IntRange(0, len(text)).Draw(rt, "cut")
			switch rapid.IntRange(0, 2).Draw(rt, "type") {
			case 0:
				want[i] = Text(text)
				queues[i] = []Chunk{TextChunk(i, text[:cut]), TextChunk(i, text[cut:])}
			case 1:
				want[i] = Part{Type: PartReasoning, Text: text}
				queues[i] = []Chunk{ReasoningChunk(i, text[:cut]), ReasoningChunk(i, text[cut:])}
			case 2:
				want[i] = Part{Type: PartToolCall, ID: fmt.Sprint("c", i), Name: "t", Arguments: text}
				queues[i] = []Chunk{ToolCallChunk(i, want[i].ID, "t", text[:cut]), ToolCallChunk(i, "", "", text[cut:])}
			}
			if rapid.Bool().Draw(rt, "start") {
				queues[i] = append([]Chunk{StartChunk(i, want[i].Type)}, queues[i]...)
			}
			if rapid.Bool().Draw(rt, "end") {
				queues[i] = append(queues[i], EndChunk(i, want[i]))
			}
		}
		var a Accumulator
		for {
			var waiting []int
			for i, q := range queues {
				if len(q) > 0 {
					waiting = append(waiting, i)
				}
			}
			if len(waiting) == 0 {
				break
			}
			i := rapid.SampledFrom(waiting).Draw(rt, "next")
			if err := a.Add(queues[i][0]); err != nil {
				rt.Fatal(err)
			}
			queues[i] = queues[i][1:]
		}
		if got, want := PartsValue(a.Content()), PartsValue(want); !got.Equal(want) {
			rt.Fatalf("got %s\nwant %s", got, want)
		}
	})
}

func TestWithoutImages(t *testing.T) {
	image := Part{Type: PartImage, Extra: parse(t, `{"mimeType":"image/png","data":"aGk="}`)}
	if mime, data, ok := image.Image(); !ok || mime != "image/png" || data != "aGk=" {
		t.Error("the image is not one")
	}
	in := []Message{
		{Role: RoleUser, Content: []Part{Text("a"), image, image}},
		{Role: RoleTool, Content: []Part{Text("b")}},
	}
	out := WithoutImages(in)
	if in[0].Content[1].Type != PartImage {
		t.Error("the input was changed")
	}
	for _, m := range out {
		for _, p := range m.Content {
			if p.Type == PartImage || p.Text == "" {
				t.Errorf("part %+v", p)
			}
		}
	}
	if plain := WithoutImages(in[1:]); &plain[0] != &in[1] {
		t.Error("a conversation without images was copied")
	}
}

func TestArgumentsObject(t *testing.T) {
	for raw, want := range map[string]string{
		`{"a": 1}`: `{"a":1}`, ``: `{}`, `{"a"`: `{}`, `[1]`: `{}`, `null`: `{}`, `{"a":1,"a":2}`: `{}`,
	} {
		if got := (Part{Arguments: raw}).ArgumentsObject().String(); got != want {
			t.Errorf("%q: %s", raw, got)
		}
	}
}

func TestAsError(t *testing.T) {
	if AsError(nil) != nil {
		t.Error("nil became an error")
	}
	e := &Error{Code: "X", Err: context.Canceled}
	if AsError(fmt.Errorf("outer: %w", e)) != e {
		t.Error("a wrapped error was not found")
	}
	if !errors.Is(AsError(context.Canceled), context.Canceled) || e.Error() != "context canceled" {
		t.Error("the cause is lost")
	}
}

func FuzzChunk(f *testing.F) {
	f.Add(`{"type":"block-end","index":0,"block":{"type":"text","text":"x","n":null}}`)
	f.Add(`{"type":"tool-call-delta","index":1,"id":"c","name":"n","argumentsDelta":"{"}`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := jsonvalue.ParseString(text)
		if err != nil {
			return
		}
		c, err := ChunkFromValue(v)
		if err != nil {
			return
		}
		again, err := ChunkFromValue(c.Value())
		if err != nil || !again.Value().Equal(c.Value()) {
			t.Fatalf("%s: %v, %s", c.Value(), err, again.Value())
		}
		var a Accumulator
		if err := a.Add(c); err != nil {
			t.Fatal(err)
		}
		_ = PartsValue(a.Content())
	})
}
