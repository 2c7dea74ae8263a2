package session

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// Whatever is appended and whenever memory is given back, Events has everything,
// Kept has everything but chunks, and the conversation is the same.
func TestSettledChunksAreInTheFileAlone(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		store := NewStore(dir, Options{Sync: SyncNever})
		log, err := store.Create(Header{Cwd: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		var all []Event
		var snapshots [][]Event
		var texts []string
		remember := func() {
			snap := log.Kept()
			snapshots, texts = append(snapshots, snap), append(texts, fmt.Sprint(snap))
		}
		add := func(d Draft) {
			e, err := log.Append(d)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, e)
		}
		for range rapid.IntRange(1, 30).Draw(t, "events") {
			switch rapid.IntRange(0, 6).Draw(t, "kind") {
			case 0, 1, 2:
				for range rapid.IntRange(1, 90).Draw(t, "chunks") {
					add(Draft{Type: TypeAssistantChunk, Data: Data("chunk", model.TextChunk(0, "x").Value())})
				}
			case 3:
				add(Draft{Type: TypeAssistantMessage, Data: Data("content", model.PartsValue([]model.Part{model.Text("x")}))})
			case 4:
				add(Draft{Type: TypeUserMessage, Data: Data("content", model.PartsValue([]model.Part{model.Text("y")}))})
			case 5:
				add(Draft{Type: TypeTurnEnd, Data: Data("turn", 1)})
			case 6:
				log.Settle()
			}
			remember()
		}
		if got := log.Events(); !slices.EqualFunc(got, all, equalEvents) {
			t.Fatalf("%d events, want %d", len(got), len(all))
		}
		if log.Len() != len(all) {
			t.Fatalf("Len is %d, want %d", log.Len(), len(all))
		}
		notChunk := func(e Event) bool { return e.Type == TypeAssistantChunk }
		kept := slices.DeleteFunc(slices.Clone(log.Kept()), notChunk)
		if want := slices.DeleteFunc(slices.Clone(all), notChunk); !slices.EqualFunc(kept, want, equalEvents) {
			t.Fatalf("kept %d events that are not chunks, want %d", len(kept), len(want))
		}
		if got, want := fmt.Sprint(Messages(log.Kept())), fmt.Sprint(Messages(all)); got != want {
			t.Fatalf("the conversation is\n%s\nwant\n%s", got, want)
		}
		for i, snap := range snapshots {
			if fmt.Sprint(snap) != texts[i] {
				t.Fatalf("snapshot %d has changed", i)
			}
		}
		log.Settle()
		last := slices.IndexFunc(all, settles)
		for i, e := range all {
			if settles(e) {
				last = i
			}
		}
		for _, e := range log.Kept() {
			if e.Type == TypeAssistantChunk && int(e.Seq) < last {
				t.Fatalf("chunk %d is still in memory", e.Seq)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func equalEvents(a, b Event) bool {
	return a.Type == b.Type && a.Seq == b.Seq && a.Data.Equal(b.Data) && a.Time.Equal(b.Time)
}
