package mcp

import (
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// A result never looks whole when something of it could not be read.
func TestPartsThatCannotBeReadAreNamed(t *testing.T) {
	reg, err := registry.New(registry.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tool := newServer(New(Options{Scope: reg.Global().Child("s")}), Config{Name: "s"}).tool(readTool([]byte(`{"name":"a"}`)))
	for result, want := range map[string]string{
		`{"content":[]}`:                           "(the tool returned nothing)",
		`{"content":"plain"}`:                      "plain",
		`{"content":{"type":"text","text":"a"}}`:   "[the content of the result could not be read and is left out: it is no list but object]",
		`{"content":null}`:                         "(the tool returned nothing)",
		`{"content":[{"type":"text","text":"a"}]}`: "a",
		`{"content":[{"type":"hologram","x":1}]}`:  `[1 part of the result could not be read and is left out: type "hologram"]`,
		`{"content":[{"type":"text","text":"a"},5,null,{"type":"image","data":"!!","mimeType":"image/png"}]}`:     `a|[3 parts of the result could not be read and are left out: type "", "image"]`,
		`{"content":[{"type":"a\u001b[31m\n"},{"type":"b"},{"type":"c"},{"type":"d"},{"type":"e"},{"type":"f"}]}`: `[6 parts of the result could not be read and are left out: type "a [31m", "b", "c", "d", "e", …]`,
		`{"content":[{"type":"resource","resource":{"uri":"x:y"}}],"structuredContent":{"k":1}}`:                  `[1 part of the result could not be read and is left out: type "resource"]|{"k":1}`,
	} {
		v, err := jsonvalue.ParseString(result)
		if err != nil {
			t.Fatal(err)
		}
		value, _ := tool.value(v)
		blocks, err := render(jsonvalue.Value{}, value)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, b := range blocks {
			text, _ := b.Text()
			texts = append(texts, text)
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("%s:\n%q, want\n%q", result, got, want)
		}
	}
}
