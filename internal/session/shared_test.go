package session

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// recordings lists the optional recorded scenarios beside the repository, or in
// $DSH_TRANSCRIPTS.
func recordings(t testing.TB) []string {
	t.Helper()
	dir := os.Getenv("DSH_TRANSCRIPTS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "transcripts")
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*", "session*.jsonl"))
	if len(files) == 0 {
		t.Skip("no recorded scenarios here: set DSH_TRANSCRIPTS to their folder")
	}
	return files
}

func TestRecordedLogsDecode(t *testing.T) {
	for _, file := range recordings(t) {
		name := filepath.Base(filepath.Dir(file)) + "/" + filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			rec, err := ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if rec.Torn != nil {
				t.Errorf("torn: %+v", rec.Torn)
			}
			if drafts := Repair(rec.Events); drafts != nil {
				t.Errorf("a whole log wants repair: %v", drafts)
			}
			checkConversation(t, Messages(rec.Events))
		})
	}
}

// The bytes of an event that was read and written again are the recording's.
func TestRecordedLogsRoundTrip(t *testing.T) {
	for _, file := range recordings(t) {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		rec, err := ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(filepath.Dir(file)) == "packed-chunks" {
			continue // rows are expanded
		}
		got := rec.Header.AppendLine(nil)
		if rec.Header.DelegationDepth == 0 && !containsDepth(want) {
			got = nil // a header without it gets the default
			want = want[indexNewline(want)+1:]
		}
		for _, e := range rec.Events {
			got = e.AppendLine(got)
		}
		if string(got) != string(want) {
			t.Errorf("%s: the log changes when it is written again", file)
		}
	}
}

func TestRecordedPackedEqualsUnpacked(t *testing.T) {
	dir := filepath.Dir(filepath.Dir(recordings(t)[0]))
	packed, err := ReadFile(filepath.Join(dir, "packed-chunks", "session.jsonl"))
	if err != nil {
		t.Skip(err)
	}
	plain, err := ReadFile(filepath.Join(dir, "hook-cc-pretool-deny", "session.jsonl"))
	if err != nil {
		t.Skip(err)
	}
	diffLines(t, lines(plain.Header, plain.Events), lines(packed.Header, packed.Events))
}

// What the accumulator makes of recorded chunks is what was recorded as the
// assistant's message.
func TestRecordedChunksMakeTheirMessage(t *testing.T) {
	for _, file := range recordings(t) {
		rec, err := ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var acc model.Accumulator
		for _, e := range rec.Events {
			switch e.Type {
			case TypeStepStart:
				acc = model.Accumulator{}
			case TypeAssistantChunk:
				c, err := ChunkOf(e)
				if err != nil {
					t.Fatalf("%s event %d: %v", file, e.Seq, err)
				}
				if !c.Value().Equal(e.Data.Get("chunk")) {
					t.Errorf("%s event %d: chunk changes: %s", file, e.Seq, c.Value())
				}
				if err := acc.Add(c); err != nil {
					t.Fatalf("%s event %d: %v", file, e.Seq, err)
				}
			case TypeAssistantMessage:
				if got := model.PartsValue(acc.Content()); !got.Equal(e.Data.Get("content")) {
					t.Errorf("%s event %d:\n got %s\nwant %s", file, e.Seq, got, e.Data.Get("content"))
				}
				if u, ok := e.Data.Lookup("usage"); ok && !acc.Usage().Value().Equal(u) {
					t.Errorf("%s event %d: usage %s", file, e.Seq, acc.Usage().Value())
				}
			}
		}
	}
}
