package replay

import (
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/session"
)

// A recording of a request that was repeated answers with the attempt that held.
func TestARepeatedAttemptLeavesNothing(t *testing.T) {
	log := `{"type":"session","version":1,"id":"x","createdAt":0,"delegationDepth":0}
{"type":"assistant/chunk","seq":0,"time":0,"data":{"turn":1,"step":1,"chunk":{"type":"block-start","index":0,"blockType":"text"}}}
{"type":"assistant/chunk","seq":1,"time":0,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"half"}}}
{"type":"llm/retry","seq":2,"time":0,"data":{"turn":1,"step":1,"attempt":2,"maxAttempts":4,"delayMs":1,"failure":{"message":"busy"}}}
{"type":"assistant/chunk","seq":3,"time":0,"data":{"turn":1,"step":1,"chunk":{"type":"text-delta","index":0,"text":"whole"}}}
{"type":"assistant/chunk","seq":4,"time":0,"data":{"turn":1,"step":1,"chunk":{"type":"finish","reason":{"kind":"stop"}}}}
`
	_, events, err := session.Decode(strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	entries := group(events)
	if len(entries) != 1 || entries[0].broken != nil || len(entries[0].chunks) != 2 || entries[0].chunks[0].Text != "whole" {
		t.Errorf("%+v", entries)
	}
}
