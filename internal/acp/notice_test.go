package acp

import (
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
)

func TestNoticesGoToClientsThatShowThem(t *testing.T) {
	h := newHarness(t, `{"session":{"notices":{}}}`)
	h.backend.opened = func(p SessionParams) { p.Notifier.Notice(SeverityWarning, "too early", "waits") }
	h.open()
	h.backend.params.Notifier.Notice(SeverityError, "later", "")
	h.wait("two notices", func() bool { return len(h.updatesLocked("notice")) == 2 })
	got := h.updates("notice")
	if want := `{"sessionUpdate":"notice","severity":"warning","title":"too early","description":"waits"}`; got[0] != want {
		t.Errorf("got %s", got[0])
	}
	if want := `{"sessionUpdate":"notice","severity":"error","title":"later"}`; got[1] != want {
		t.Errorf("got %s", got[1])
	}
	// The session was announced before its notices.
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, f := range h.frames {
		if strings.Contains(string(f["result"]), "sessionId") {
			break
		}
		if strings.Contains(string(f["params"]), "notice") {
			t.Fatal("a notice came before the session was known")
		}
	}
}

// Whoever tells something does not wait for a client that does not read.
func TestNoticesDoNotWaitForTheClient(t *testing.T) {
	h := newHarness(t, `{"session":{"notices":{}}}`)
	h.open()
	h.mu.Lock() // which the client needs to take what it reads
	told := make(chan struct{})
	go func() {
		defer close(told)
		for range 3 * wire.DefaultQueueFrames {
			h.backend.params.Notifier.Notice(SeverityInfo, "again", "")
		}
	}()
	select {
	case <-told:
		h.mu.Unlock()
	case <-time.After(patience):
		h.mu.Unlock()
		t.Error("a notice waits for the client")
		<-told
	}
	h.backend.params.Notifier.Notice(SeverityInfo, "again", "")
	h.wait("a notice", func() bool { return len(h.updatesLocked("notice")) > 0 })
}

func TestNoticesAreOnlyLoggedForOtherClients(t *testing.T) {
	h := newHarness(t, `{}`)
	h.backend.opened = func(p SessionParams) {
		for range 2 * maxEarlyNotices {
			p.Notifier.Notice(SeverityInfo, "early", "")
		}
	}
	s := h.open()
	h.backend.params.Notifier.Notice(SeverityWarning, "a server is missing", "start it")
	h.call("session/prompt", `{"sessionId":"`+s+`","prompt":[{"type":"text","text":"hi"}]}`)
	if got := h.updates("notice"); len(got) != 0 {
		t.Errorf("a client that did not ask for notices got %s", got)
	}
	if log := h.logged.String(); !strings.Contains(log, `level=WARN msg="a server is missing"`) || !strings.Contains(log, `description="start it"`) {
		t.Errorf("not in the log: %s", log)
	}
}
