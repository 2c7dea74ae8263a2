package content

import (
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func TestBlocks(t *testing.T) {
	v, err := jsonvalue.Parse([]byte(`[{"type":"text","text":"a"},{"type":"image","data":"AAA="},{"type":"text","text":"b"}]`))
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := ListFromValue(v)
	if err != nil {
		t.Fatal(err)
	}
	if got := ToValue(blocks).String(); got != v.String() {
		t.Errorf("round trip: %s", got)
	}
	if got := JoinText(blocks); got != "a\nb" {
		t.Errorf("JoinText = %q", got)
	}
	if _, ok := blocks[1].Text(); ok || blocks[1].Type() != "image" {
		t.Error("an image block is not text")
	}
	if got := Text("x\xff").Value().String(); got != `{"type":"text","text":"x`+"\uFFFD"+`"}` {
		t.Errorf("Text = %s", got)
	}
}

func TestRefusedBlocks(t *testing.T) {
	for _, in := range []string{`1`, `{}`, `[1]`, `[{"type":""}]`, `[{"type":"text"}]`, `[{"type":"text","text":3}]`} {
		v, err := jsonvalue.Parse([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ListFromValue(v); err == nil {
			t.Errorf("ListFromValue(%s) accepted", in)
		}
	}
}
