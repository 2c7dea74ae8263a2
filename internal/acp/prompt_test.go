package acp

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

const pngHead = "\x89PNG\r\n\x1a\n rest of it"

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func blocksOf(t testing.TB, text string) []protocol.ContentBlock {
	t.Helper()
	p, perr := protocol.DecodePrompt(json.RawMessage(`{"sessionId":"s","prompt":` + text + `}`))
	if perr != nil {
		t.Fatal(perr)
	}
	return p.Prompt
}

var takesImages = imageSupport{advertised: true, model: "m", taken: true}

func TestReadPrompt(t *testing.T) {
	png := b64(pngHead)
	for _, c := range []struct {
		name, prompt string
		model        string // JSON; the text alone when it begins with no bracket
		same         bool   // what is shown is what the model reads
	}{
		{name: "one text", prompt: `[{"type":"text","text":"hi"}]`, model: "hi", same: true},
		{name: "texts", prompt: `[{"type":"text","text":"a"},{"type":"text","text":"b"}]`, model: "ab"},
		{name: "a text with annotations", prompt: `[{"type":"text","text":"a","annotations":{"priority":1},"_meta":{"k":[1]}}]`, model: "a"},
		{name: "a link", prompt: `[{"type":"text","text":"see"},{"type":"resource_link","uri":"file:///w/a.go","name":"a.go"},{"type":"text","text":"."}]`, model: "see\n[resource_link name=\"a.go\" uri=\"file:///w/a.go\"]\n."},
		{name: "a link with lines", prompt: `[{"type":"resource_link","uri":"file:///w/a%20b.go#L10-20","name":"x","size":3,"title":"t"}]`, model: "\n[resource_link name=\"x\" uri=\"file:///w/a%20b.go#L10-20\" path=\"/w/a b.go\" lines=\"10-20\"]\n"},
		{name: "a link of another scheme", prompt: `[{"type":"resource_link","uri":"zed:///agent/x?line=3","name":"sel"}]`, model: "\n[resource_link name=\"sel\" uri=\"zed:///agent/x?line=3\"]\n"},
		{name: "an embedded text", prompt: `[{"type":"resource","resource":{"uri":"file:///w/a.go:3","text":"package a\n"}}]`, model: "\n[resource uri=\"file:///w/a.go:3\" path=\"/w/a.go\" lines=\"3\"]\npackage a\n[/resource]\n"},
		{name: "a blob that is text", prompt: `[{"type":"resource","resource":{"uri":"x:1","mimeType":"application/json; charset=utf-8","blob":"` + b64("{}") + `"}}]`, model: "\n[resource uri=\"x:1\"]\n{}\n[/resource]\n"},
		{name: "a blob without a type", prompt: `[{"type":"resource","resource":{"uri":"x:1","blob":"` + b64("plain") + `"}}]`, model: "\n[resource uri=\"x:1\"]\nplain\n[/resource]\n"},
		{name: "a binary blob", prompt: `[{"type":"resource","resource":{"uri":"file:///w/a.pdf","mimeType":"application/pdf","blob":"` + b64("%PDF\x00\xff") + `"}}]`, model: "\n[resource uri=\"file:///w/a.pdf\": 6 bytes of \"application/pdf\", not shown]\n"},
		{name: "text by name only", prompt: `[{"type":"resource","resource":{"uri":"x:1","mimeType":"text/plain","blob":"` + b64("\xff\xfe") + `"}}]`, model: "\n[resource uri=\"x:1\": 2 bytes of \"text/plain\", not shown]\n"},
		{name: "an image", prompt: `[{"type":"text","text":"a"},{"type":"image","data":"` + png + `","mimeType":"image/png"},{"type":"text","text":"b"}]`, model: `[{"type":"text","text":"a"},{"type":"image","data":"` + png + `","mimeType":"image/png"},{"type":"text","text":"b"}]`, same: true},
		{name: "an image alone", prompt: `[{"type":"image","data":"` + png + `","mimeType":"image/png","uri":"file:///w/a.png"}]`, model: `[{"type":"image","data":"` + png + `","mimeType":"image/png","uri":"file:///w/a.png"}]`, same: true},
		{name: "an image under a wrong type", prompt: `[{"type":"image","data":"` + png + `","mimeType":"image/jpeg"}]`, model: `[{"type":"image","data":"` + png + `","mimeType":"image/png"}]`},
		{name: "an image as a blob", prompt: `[{"type":"resource","resource":{"uri":"file:///w/a.png","mimeType":"image/png","blob":"` + png + `"}}]`, model: `[{"type":"text","text":"\n[resource uri=\"file:///w/a.png\": the image that follows]\n"},{"type":"image","data":"` + png + `","mimeType":"image/png"}]`},
	} {
		t.Run(c.name, func(t *testing.T) {
			blocks := blocksOf(t, c.prompt)
			p, perr := readPrompt(blocks, takesImages)
			if perr != nil {
				t.Fatal(perr)
			}
			want := c.model
			if !strings.HasPrefix(want, "[") {
				want = content.ToValue([]content.Block{content.Text(want)}).String()
			}
			if got := content.ToValue(p.model).String(); got != want {
				t.Errorf("the model reads\n%s\nwant\n%s", got, want)
			}
			if (p.shown == nil) != c.same {
				t.Fatalf("shown: %v", p.shown)
			}
			shown := p.shown
			if c.same {
				shown = p.model
			}
			// What is shown later is what was sent.
			sent, err := jsonvalue.Parse([]byte(c.prompt))
			if err != nil {
				t.Fatal(err)
			}
			for i, b := range shown {
				back, ok := blockFor(b)
				raw, err := json.Marshal(back)
				if !ok || err != nil {
					t.Fatalf("block %d cannot be shown: %v", i, err)
				}
				again, _ := jsonvalue.Parse(raw)
				if asSent := sent.At(i); !equalUnordered(again, asSent) {
					t.Errorf("sent %s\nshown %s", asSent, again)
				}
			}
		})
	}
}

func equalUnordered(a, b jsonvalue.Value) bool {
	var x, y any
	_ = json.Unmarshal(a.JSON(), &x)
	_ = json.Unmarshal(b.JSON(), &y)
	xs, _ := json.Marshal(x)
	ys, _ := json.Marshal(y)
	return string(xs) == string(ys)
}

func TestRefusedPrompts(t *testing.T) {
	image := func(data, mime string) string {
		return `{"type":"image","data":"` + data + `","mimeType":"` + mime + `"}`
	}
	many := strings.Repeat(image(b64(pngHead), "image/png")+",", maxPromptImage) + image(b64(pngHead), "image/png")
	big := b64(pngHead + strings.Repeat("x", maxImageBytes))
	for _, c := range []struct {
		name, prompt string
		images       imageSupport
		field, why   string
	}{
		{"nothing", `[]`, takesImages, "prompt", "the prompt is empty"},
		{"blanks", `[{"type":"text","text":" \n"}]`, takesImages, "prompt", "the prompt is empty"},
		{"sound", `[{"type":"text","text":"a"},{"type":"audio","data":"AAAA","mimeType":"audio/wav"}]`, takesImages, "prompt[1].type", "audio blocks are not supported"},
		{"images nobody takes", `[` + image(b64(pngHead), "image/png") + `]`, imageSupport{model: "m"}, "prompt[0].type", "the agent does not advertise them"},
		{"images this model does not take", `[` + image(b64(pngHead), "image/png") + `]`, imageSupport{advertised: true, model: "mole"}, "prompt[0].type", "the model mole takes no images: choose another model"},
		{"no base64", `[` + image("no!", "image/png") + `]`, takesImages, "prompt[0].data", "is not base64"},
		{"no image", `[` + image(b64("BM bitmap"), "image/bmp") + `]`, takesImages, "prompt[0].data", "send PNG, JPEG, GIF or WebP (this is called image/bmp)"},
		{"a large image", `[` + image(big, "image/png") + `]`, takesImages, "prompt[0].data", "the image is too large: 5242899 bytes, and at most 5242880 are taken"},
		{"many images", `[` + many + `]`, takesImages, "prompt[20].data", "at most 20 images"},
		{"a link to nowhere", `[{"type":"resource_link","uri":"","name":"n"}]`, takesImages, "prompt[0]", "Invalid params: prompt[0]: uri is empty"},
		{"a bad blob", `[{"type":"resource","resource":{"uri":"x:1","blob":"*"}}]`, takesImages, "prompt[0].resource.blob", "is not base64"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, perr := readPrompt(blocksOf(t, c.prompt), c.images)
			if perr == nil || perr.Code != protocol.CodeInvalidParams || !strings.Contains(perr.Message, c.why) || !strings.Contains(string(perr.Data), quoted(c.field)) {
				t.Errorf("%+v %s", perr, perr.Data)
			}
		})
	}
	much := protocol.BlobResourceBlock("x:1", "application/zip", strings.Repeat("AAAA", maxPromptData/4+1))
	if _, perr := readPrompt([]protocol.ContentBlock{much}, takesImages); perr == nil || !strings.Contains(perr.Message, "may take 25165824 bytes together") {
		t.Errorf("%v", perr)
	}
	// Where a blob is an image that the model cannot take, it is a file like another.
	p, perr := readPrompt(blocksOf(t, `[{"type":"resource","resource":{"uri":"x:1","mimeType":"image/png","blob":"`+b64(pngHead)+`"}}]`), imageSupport{})
	if perr != nil || !strings.Contains(p.text, `not shown`) {
		t.Errorf("%q %v", p.text, perr)
	}
}

func FuzzReadPrompt(f *testing.F) {
	f.Add(`[{"type":"text","text":"a"},{"type":"resource_link","uri":"file:///%20#L1","name":""}]`)
	f.Add(`[{"type":"resource","resource":{"uri":"","blob":"iVBORw0KGgo="}}]`)
	f.Add(`[{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/gif"}]`)
	f.Fuzz(func(t *testing.T, prompt string) {
		r, perr := protocol.DecodePrompt(json.RawMessage(`{"sessionId":"s","prompt":` + prompt + `}`))
		if perr != nil {
			return
		}
		p, perr := readPrompt(r.Prompt, takesImages)
		if perr != nil {
			return
		}
		shown := p.shown
		if shown == nil {
			shown = p.model
		}
		for _, b := range shown {
			if _, ok := blockFor(b); !ok {
				t.Errorf("%s cannot be shown again", b.Value())
			}
		}
		if p.text == "" && len(p.model) == 0 {
			t.Error("an empty prompt was taken")
		}
	})
}

// Line breaks in base64 do not reach the model's server, which would refuse them.
func TestImagesInLinesAreJoined(t *testing.T) {
	one := b64(pngHead)
	for name, data := range map[string]string{"as it is": one, "lines": one[:9] + "\\n" + one[9:], "CRLF": one[:4] + "\\r\\n" + one[4:] + "\\r\\n"} {
		for kind, block := range map[string]string{
			"image":    `{"type":"image","data":"` + data + `","mimeType":"image/png"}`,
			"resource": `{"type":"resource","resource":{"uri":"file:///x.png","mimeType":"image/png","blob":"` + data + `"}}`,
		} {
			p, perr := readPrompt(blocksOf(t, `[`+block+`]`), takesImages)
			if perr != nil {
				t.Fatalf("%s, %s: %v", name, kind, perr)
			}
			if got := p.model[len(p.model)-1].Value().GetString("data"); got != one {
				t.Errorf("%s, %s: %q", name, kind, got)
			}
		}
	}
}
