package acp

import (
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// What a session leaves behind is known by its id: a session that is opened again
// meanwhile would lose what it has just begun, its confinement too.
func TestASessionIsOpenedAgainOnceItsEndIsDone(t *testing.T) {
	h := newHarness(t, `{}`)
	id := h.open()
	var times atomic.Int32
	ending, goOn := make(chan struct{}, 2), make(chan struct{})
	h.backend.closed = func(string) { times.Add(1); ending <- struct{}{}; <-goOn }
	load := func() string {
		return string(h.call("session/load", `{"sessionId":"`+id+`","cwd":`+strconv.Quote(t.TempDir())+`,"mcpServers":[]}`)["error"])
	}
	first := h.request("session/close", `{"sessionId":"`+id+`"}`)
	<-ending
	if got := load(); !strings.Contains(got, "already open") {
		t.Errorf("while it ends: %s", got)
	}
	second := h.request("session/delete", `{"sessionId":"`+id+`"}`)
	close(goOn)
	for _, r := range []string{first, second} {
		if err := h.reply(r)["error"]; err != nil {
			t.Errorf("%s", err)
		}
	}
	if n := times.Load(); n != 1 {
		t.Errorf("its end was done %d times", n)
	}
	if got := load(); strings.Contains(got, "already open") {
		t.Errorf("after its end: %s", got)
	}
}
