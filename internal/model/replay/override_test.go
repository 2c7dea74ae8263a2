package replay

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

func TestWhatARecordingAddsToAnOverride(t *testing.T) {
	synctest.Test(t, whatARecordingAddsToAnOverride)
}

func whatARecordingAddsToAnOverride(t *testing.T) {
	file := filepath.Join(t.TempDir(), "override.json")
	err := os.WriteFile(file, []byte(`[
		{"kind":"throw","chunks":[],"message":"busy","code":"OVERLOADED","retryable":true,"waitMs":7},
		{"kind":"hang","chunks":[{"type":"block-start","index":0,"blockType":"text"},{"type":"text-delta","index":0,"text":"in {{cwd}}"}]},
		{"kind":"chunks","chunks":[{"type":"tool-call-delta","index":0,"id":"c","name":"read","argumentsDelta":"{\"file_path\":\"{{cwd}}/a\"}"},
			{"type":"block-end","index":0,"block":{"type":"tool-call","id":"c","name":"read","arguments":"{\"file_path\":\"{{cwd}}/a\"}"}},
			{"type":"finish","reason":{"kind":"tool-calls"}}]}
	]`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	p := New(Config{Override: file})
	play := func() (said string, failed error) {
		// Of the bubble's time: it ends the answer that hangs, and no other.
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		for c, err := range p.Stream(ctx, model.Request{SessionID: "s", Cwd: `/w/"q"`}) {
			if err != nil {
				return said, err
			}
			said += c.Text + c.ArgumentsDelta
			if c.Block != nil {
				said += c.Block.Arguments
			}
		}
		return said, nil
	}
	_, failed := play()
	e := model.AsError(failed)
	if e == nil || !e.Retryable {
		t.Fatalf("%v", failed)
	}
	if r, err := (model.Backoff{}).Next(1, e); err != nil || r.Wait != 7*time.Millisecond {
		t.Errorf("waits %v, %v", r.Wait, err)
	}
	if said, failed := play(); said != `in /w/"q"` || failed == nil {
		t.Errorf("%q, %v", said, failed)
	}
	args := `{"file_path":"/w/\"q\"/a"}`
	if said, failed := play(); said != args+args || failed != nil {
		t.Errorf("%q, %v", said, failed)
	}
}
