package prepare

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

func parse(t testing.TB, s string) jsonvalue.Value {
	t.Helper()
	v, err := jsonvalue.ParseString(s)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestWireName(t *testing.T) {
	for _, same := range []string{"read", "mcp__a-b_C9", strings.Repeat("x", 64), "a_0123456789a"} {
		if got := WireName(same); got != same {
			t.Errorf("%q became %q", same, got)
		}
	}
	for _, name := range []string{"a.b", "a/b", "", "héllo", strings.Repeat("x", 65), "a b", "a_0123456789ab"} {
		if got := WireName(name); got == name || !plainName.MatchString(got) {
			t.Errorf("%q became %q", name, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		gen := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-c._]{1,3}`), rapid.StringMatching(`[ab]_[0-9a-f]{12}`))
		a, b := gen.Draw(t, "a"), gen.Draw(t, "b")
		wa, wb := WireName(a), WireName(b)
		if !plainName.MatchString(wa) {
			t.Fatalf("%q became %q", a, wa)
		}
		if a != b && (wa == wb || WireName(wa) == wb && wa != a && wb != WireName(wa)) {
			t.Fatalf("%q and %q both became %q", a, b, wa)
		}
		// A tool that is called like another's wire name is not mistaken for it.
		if wa != a && WireName(wa) == wa {
			t.Fatalf("%q on the wire is %q, and so is the tool of that name", a, wa)
		}
	})
}

func TestSchema(t *testing.T) {
	const empty = `{"type":"object","properties":{}}`
	for in, want := range map[string]string{
		`null`: empty, `true`: empty, `{}`: empty, `{"type":"object"}`: empty, `{"type":["object","null"],"properties":{}}`: empty,
		`{"properties":{"a":{"type":"string"}},"required":["a"]}`:                                                                              `{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`,
		`{"type":"object","description":"d","additionalProperties":false,"properties":{"a":true,"b":{"type":"array","items":true},"c":false}}`: `{"type":"object","description":"d","additionalProperties":false,"properties":{"a":{},"b":{"type":"array","items":{}},"c":{"not":{}}}}`,
		// References.
		`{"$schema":"s","$defs":{"P":{"type":"string","description":"x"}},"type":"object","properties":{"a":{"$ref":"#/$defs/P","description":"own"},"b":{"$ref":"#/$defs/P"}}}`: `{"type":"object","properties":{"a":{"type":"string","description":"own"},"b":{"type":"string","description":"x"}}}`,
		`{"$ref":"#/definitions/A","definitions":{"A":{"type":"object","properties":{"x":{"type":"number"}}}}}`:                                                                  `{"type":"object","properties":{"x":{"type":"number"}}}`,
		`{"type":"object","$defs":{"N":{"type":"object","properties":{"next":{"$ref":"#/$defs/N"}}}},"properties":{"n":{"$ref":"#/$defs/N"}}}`:                                   `{"type":"object","properties":{"n":{"type":"object","properties":{"next":{}}}}}`,
		`{"type":"object","properties":{"self":{"$ref":"#"}}}`:                                                                                                                   `{"type":"object","properties":{"self":{"type":"object","properties":{"self":{}}}}}`,
		// Unions at the root.
		`{"oneOf":[{"type":"object","properties":{"a":{"type":"string"},"k":{"const":1}},"required":["a","k"]},{"type":"object","properties":{"b":{"type":"number"},"k":{"const":2}},"required":["k"]}],"additionalProperties":false}`: `{"type":"object","properties":{"a":{"type":"string"},"k":{"anyOf":[{"const":1},{"const":2}]},"b":{"type":"number"}},"required":["k"]}`,
		`{"type":"object","properties":{"a":{}},"allOf":[{"properties":{"b":{}},"required":["b"]}],"anyOf":[{"type":"string"},{"required":["a"]}]}`:                                                                                    `{"type":"object","properties":{"a":{},"b":{}},"required":["b","a"]}`,
		// A union further down stays.
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`: `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`,
		// A property may be called like a keyword.
		`{"type":"object","properties":{"$ref":{"type":"string"},"id":{"type":"string"},"definitions":{"type":"string"}}}`: `{"type":"object","properties":{"$ref":{"type":"string"},"id":{"type":"string"},"definitions":{"type":"string"}}}`,
		// What is no schema is left alone.
		`{"type":"object","properties":{"a":{"default":{"$ref":"#/x"},"enum":[true,{"$id":1}]}}}`: `{"type":"object","properties":{"a":{"default":{"$ref":"#/x"},"enum":[true,{"$id":1}]}}}`,
	} {
		got, err := Schema(parse(t, in))
		if err != nil || got.String() != want {
			t.Errorf("%s\ngot  %s %v\nwant %s", in, got, err, want)
		}
	}
	if got, err := Schema(jsonvalue.Value{}); err != nil || got.String() != empty {
		t.Error(got, err)
	}
}

func TestSchemasThatCannotBeUsed(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 200) + `{}` + strings.Repeat(`}}`, 200)
	wide := `{"type":"object","$defs":{"a0":{"type":"string"}`
	for i := 1; i < 20; i++ { // 2^19 once followed
		wide += fmt.Sprintf(`,"a%d":{"properties":{"l":{"$ref":"#/$defs/a%d"},"r":{"$ref":"#/$defs/a%d"}}}`, i, i-1, i-1)
	}
	wide += `},"properties":{"x":{"$ref":"#/$defs/a19"}}}`
	for in, want := range map[string]string{
		`false`: "false", `[]`: "object", `{"type":"string"}`: "object", `{"type":"object","properties":{"a":{"$ref":"http://x/y"}}}`: "outside",
		`{"type":"object","properties":{"a":{"$ref":"#/no"}}}`: "nowhere", `{"anyOf":[{"type":"string"}]}`: "branch",
		`{"type":"object","properties":[]}`: "properties", `{"type":"object","properties":{"a":1}}`: "number", `{"type":"object","properties":{"a":{"$ref":1}}}`: "$ref",
		deep: "deep", wide: "large",
	} {
		if got, err := Schema(parse(t, in)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %.80s %v, want %q", in, got, err, want)
		}
	}
}

func TestToolSet(t *testing.T) {
	object := parse(t, `{"type":"object","properties":{"p":{"type":"string"}}}`)
	s := Tools([]model.ToolSchema{
		{Name: "read", Parameters: object},
		{Name: "fs.read", Parameters: object},
		{Name: "bad", Parameters: parse(t, `{"type":"array"}`)},
		{Name: "read", Parameters: object},
		{Name: "", Parameters: object},
		{Name: "vetoed", Parameters: object},
		{Name: "third", Parameters: object},
		{Name: "surplus", Parameters: object},
	}, 3, func(t model.ToolSchema) string {
		if t.Name == "vetoed" {
			return "the server refused it"
		}
		return ""
	})
	if len(s.Tools) != 3 || s.Tools[1].Wire == "fs.read" || s.Original(s.Tools[1].Wire) != "fs.read" || s.Original("other") != "other" {
		t.Errorf("%+v", s.Tools)
	}
	if !s.Has("fs.read") || !s.Has(s.Tools[1].Wire) || s.Has("bad") || s.ParameterType("fs.read", "p") != "string" || s.ParameterType("x", "p") != "" {
		t.Error("look-ups")
	}
	var why []string
	for _, q := range s.Quarantined {
		why = append(why, q.Name+": "+q.Reason)
	}
	want := []string{"bad: .*object", "read: .*another", ": .*no name", "vetoed: the server refused it", "surplus: .*3 tools"}
	if len(why) != len(want) {
		t.Fatalf("%q", why)
	}
	for i := range want {
		if !regexp.MustCompile(want[i]).MatchString(why[i]) {
			t.Errorf("%q, want %q", why[i], want[i])
		}
	}
}

func call(id, name string) model.Part {
	return model.Part{Type: model.PartToolCall, ID: id, Name: name, Arguments: "{}"}
}

func result(id, text string) model.Message {
	return model.Message{Role: model.RoleTool, ToolCallID: id, Content: []model.Part{model.Text(text)}}
}

func assistant(parts ...model.Part) model.Message {
	return model.Message{Role: model.RoleAssistant, Content: parts}
}

func user(parts ...model.Part) model.Message {
	return model.Message{Role: model.RoleUser, Content: parts}
}

// show writes a conversation on one line.
func show(ms []model.Message) string {
	var b strings.Builder
	for _, m := range ms {
		fmt.Fprintf(&b, "%s", m.Role[:1])
		if m.Role == model.RoleTool {
			fmt.Fprintf(&b, "(%s)", m.ToolCallID)
		}
		for _, p := range m.Content {
			switch p.Type {
			case model.PartToolCall:
				fmt.Fprintf(&b, "[%s %s]", p.ID, p.Name)
			case model.PartImage:
				b.WriteString("[image]")
			default:
				fmt.Fprintf(&b, "[%.12s]", p.Text)
			}
		}
		b.WriteString(" ")
	}
	return strings.TrimSpace(b.String())
}

func TestHistory(t *testing.T) {
	image := model.Part{Type: model.PartImage, Extra: parse(t, `{"mimeType":"image/png","data":"aGk="}`)}
	novel := model.Part{Type: "video", Extra: parse(t, `{"x":1}`)}
	for _, c := range []struct {
		name   string
		in     []model.Message
		images bool
		want   string
		notes  string
	}{
		{"whole", []model.Message{user(model.Text("hi")), assistant(call("a", "f")), result("a", "r")}, false, "u[hi] a[a f] t(a)[r]", ""},
		{"orphan call", []model.Message{assistant(call("a", "f"), call("b", "g")), result("b", "r"), user(model.Text("go"))}, false, "a[a f][b g] t(a)[[This call h] t(b)[r] u[go]", "ORPHAN_CALL"},
		{"result after other messages", []model.Message{assistant(call("a", "f")), user(model.Text("x")), result("a", "r")}, false, "a[a f] t(a)[r] u[x]", ""},
		{"wrong order", []model.Message{assistant(call("a", "f"), call("b", "g")), result("b", "2"), result("a", "1")}, false, "a[a f][b g] t(a)[1] t(b)[2]", ""},
		{"orphan result", []model.Message{user(model.Text("x")), result("a", "r")}, false, "u[x] u[[Result of a][r]", "ORPHAN_RESULT"},
		{"answered twice", []model.Message{assistant(call("a", "f")), result("a", "1"), result("a", "2")}, false, "a[a f] t(a)[1] u[[Result of a][2]", "ORPHAN_RESULT"},
		{"an id used again", []model.Message{assistant(call("a", "f")), result("a", "1"), assistant(call("a", "f")), result("a", "2")}, false, "a[a f] t(a)[1] a[a_2 f] t(a_2)[2]", ""},
		{"an id used again, first unanswered", []model.Message{assistant(call("a", "f")), assistant(call("a", "f")), result("a", "2")}, false, "a[a f] t(a)[[This call h] a[a_2 f] t(a_2)[2]", "ORPHAN_CALL"},
		{"no ids", []model.Message{assistant(call("", "f"), call("", "g")), result("", "1"), result("", "2")}, false, "a[call f][call_2 g] t(call)[1] t(call_2)[2]", ""},
		{"empty", []model.Message{user(), user(model.Text("")), assistant(model.Text("")), assistant(call("a", "f")), {Role: model.RoleTool, ToolCallID: "a"}}, false, "a[a f] t(a)[[no output]]", ""},
		{"images", []model.Message{user(model.Text("x"), image), assistant(call("a", "f")), {Role: model.RoleTool, ToolCallID: "a", Content: []model.Part{image}}}, true, "u[x][image] a[a f] t(a)[image]", ""},
		{"images not taken", []model.Message{user(model.Text("x"), image, image)}, false, "u[x][[An image wa][[An image wa]", "IMAGE_DROPPED"},
		{"image without data", []model.Message{user(model.Part{Type: model.PartImage})}, true, "u[[An image wa]", "IMAGE_DROPPED"},
		{"unknown part", []model.Message{user(novel)}, true, "u[[Content of ]", "PART_DROPPED"},
	} {
		before := show(c.in)
		got, notes := History(c.in, c.images)
		var codes []string
		for _, n := range notes {
			codes = append(codes, n.Code)
		}
		if show(got) != c.want || strings.Join(codes, " ") != c.notes {
			t.Errorf("%s:\ngot  %s %v\nwant %s %s", c.name, show(got), notes, c.want, c.notes)
		}
		if show(c.in) != before {
			t.Errorf("%s: the input was changed", c.name)
		}
	}
}

// Whatever the conversation, each call is answered once and right after it, and
// adding to its end changes nothing before its last assistant message.
func TestHistoryProperty(t *testing.T) {
	id := rapid.SampledFrom([]string{"a", "b", "c", ""})
	rapid.Check(t, func(t *rapid.T) {
		in := rapid.SliceOf(rapid.Custom(func(t *rapid.T) model.Message {
			switch rapid.IntRange(0, 2).Draw(t, "role") {
			case 0:
				return user(model.Text(rapid.StringN(0, 2, -1).Draw(t, "text")))
			case 1:
				var parts []model.Part
				for _, i := range rapid.SliceOfN(id, 0, 3).Draw(t, "calls") {
					parts = append(parts, call(i, "f"))
				}
				return assistant(parts...)
			}
			return result(id.Draw(t, "id"), "r")
		})).Draw(t, "messages")
		out, _ := History(in, false)
		seen := map[string]bool{}
		for i := 0; i < len(out); i++ {
			if out[i].Role == model.RoleTool {
				t.Fatalf("%s: an answer without its call", show(out))
			}
			for _, p := range out[i].ToolCalls() {
				if seen[p.ID] {
					t.Fatalf("%s: the id %q twice", show(out), p.ID)
				}
				seen[p.ID] = true
			}
			at := i
			for _, p := range out[at].ToolCalls() {
				if i++; i == len(out) || out[i].ToolCallID != p.ID {
					t.Fatalf("%s: %q has no answer", show(out), p.ID)
				}
			}
		}
		again, notes := History(out, false)
		if show(again) != show(out) || len(notes) > 0 {
			t.Fatalf("repairing twice: %s, %s, %v", show(out), show(again), notes)
		}
	})
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"$ref":"#"},true]}}}`)
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/properties/a"}},"oneOf":[{},false]}`)
	f.Fuzz(func(t *testing.T, text string) {
		v, err := jsonvalue.ParseString(text)
		if err != nil {
			return
		}
		out, err := Schema(v)
		if err != nil {
			return
		}
		if out.GetString("type") != "object" || !out.Get("properties").IsObject() {
			t.Fatalf("%s became %s", text, out)
		}
		again, err := Schema(out)
		if err != nil || !again.Equal(out) {
			t.Fatalf("%s became %s, and that %s %v", text, out, again, err)
		}
	})
}

// Ids that some server refuses are replaced: the same in every request, different
// for different calls, and in the answer too.
func TestIdsThatServersRefuse(t *testing.T) {
	long := strings.Repeat("a", 5000)
	ids := []string{"call_00_abc", "functions.bash:0", long, long + "b", "a\nb\"", "ключ", strings.Repeat("x", 40), strings.Repeat("x", 41), ""}
	var in []model.Message
	for _, id := range ids {
		in = append(in,
			model.Message{Role: model.RoleAssistant, Content: []model.Part{{Type: model.PartToolCall, ID: id, Name: "bash", Arguments: "{}"}}},
			model.Message{Role: model.RoleTool, ToolCallID: id, Content: []model.Part{model.Text("out of " + id)}},
		)
	}
	once := func(in []model.Message) (got []string) {
		out, _ := History(in, true)
		for i, m := range out {
			if m.Role != model.RoleAssistant {
				continue
			}
			id := m.Content[0].ID
			if out[i+1].ToolCallID != id || out[i+1].Content[0].Text != "out of "+ids[len(got)] {
				t.Errorf("%q is answered by %q", id, out[i+1].Content[0].Text)
			}
			got = append(got, id)
		}
		return got
	}
	got := once(in)
	if len(got) != len(ids) {
		t.Fatalf("%d calls of %d", len(got), len(ids))
	}
	seen := map[string]bool{}
	for i, id := range got {
		if seen[id] || len(id) > 40 || strings.ContainsAny(id, "\n\"к") {
			t.Errorf("%.50q becomes %q", ids[i], id)
		}
		seen[id] = true
	}
	if got[0] != ids[0] || got[1] != ids[1] || got[6] != ids[6] {
		t.Errorf("changed without need: %q", got)
	}
	if before := once(in[:8]); !slices.Equal(before, got[:4]) {
		t.Errorf("not the same in the next request: %q, %q", before, got[:4])
	}
}
