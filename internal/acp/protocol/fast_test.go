package protocol

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// The short way writes what the general encoder writes, to the byte where the
// text is valid UTF-8, and leaves everything with more in it to that.
func TestShortWayOfTextChunks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "a\nb\t\"\\</>&", "\u2028\u2029\x7f\x00\b\f", "\xff\xc3(", "🙂"}))
		n := NewSessionNotification(text.Draw(t, "session"), MessageChunk{
			SessionUpdate: rapid.SampledFrom([]ChunkKind{ChunkAgent, ChunkThought, ChunkUser}).Draw(t, "kind"),
			Content:       TextBlock(text.Draw(t, "text")), MessageID: text.Draw(t, "message"),
		})
		want, err := encode(n)
		if err != nil {
			t.Fatal(err)
		}
		got, ok := n.AppendJSON([]byte("x"))
		want = bytes.ReplaceAll(want, []byte(`\ufffd`), []byte("\ufffd"))
		if !ok || string(got) != "x"+string(want) {
			t.Fatalf("got %s\nwant %s", got, want)
		}
	})
	for name, n := range map[string]SessionNotification{
		"image":       NewSessionNotification("s", AgentChunk("", ImageBlock("", "image/png"))),
		"plan":        NewSessionNotification("s", Plan{}),
		"meta":        {SessionID: "s", Update: AgentChunk("", TextBlock("x")), Meta: NewMeta("dsh/x", 1)},
		"chunk meta":  NewSessionNotification("s", MessageChunk{SessionUpdate: ChunkAgent, Content: TextBlock("x"), Meta: NewMeta("dsh/x", 1)}),
		"block meta":  NewSessionNotification("s", AgentChunk("", ContentBlock{Type: BlockText, Meta: NewMeta("dsh/x", 1)})),
		"annotations": NewSessionNotification("s", AgentChunk("", ContentBlock{Type: BlockText, Annotations: &Annotations{}})),
	} {
		if got, ok := n.AppendJSON(nil); ok || got != nil {
			t.Errorf("%s: %s", name, got)
		}
	}
}
