package session

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
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
		again, err := store.Open(log.Header().ID)
		if err != nil {
			t.Fatal(err)
		}
		if got, want := fmt.Sprint(again.Kept()), fmt.Sprint(log.Kept()); got != want {
			t.Fatalf("opened again it has\n%s\nin memory, want\n%s", got, want)
		}
		if got := again.Events(); !slices.EqualFunc(got, all, equalEvents) {
			t.Fatalf("opened again it has %d events, want %d", len(got), len(all))
		}
		if got, want := fmt.Sprint(Repair(again.Kept())), fmt.Sprint(Repair(all)); got != want {
			t.Fatalf("its repair is\n%s\nwant\n%s", got, want)
		}
		if e, err := again.Append(Draft{Type: TypeTurnEnd}); err != nil || e.Seq != int64(len(all)) {
			t.Fatalf("the next event is %d, want %d (%v)", e.Seq, len(all), err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// settledLog is a log of which only the last two of its five events are in memory.
func settledLog(t *testing.T) *Log {
	t.Helper()
	log, err := NewStore(t.TempDir(), Options{Sync: SyncNever}).Create(Header{Cwd: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = log.Close() })
	for range 3 {
		if _, err := log.Append(Draft{Type: TypeAssistantChunk, Data: Data("chunk", model.TextChunk(0, "x").Value())}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := log.AppendAll([]Draft{{Type: TypeTurnEnd}, {Type: TypeTurnStart}}); err != nil {
		t.Fatal(err)
	}
	log.Settle()
	if len(log.Kept()) != 2 {
		t.Fatalf("%d events are in memory", len(log.Kept()))
	}
	return log
}

func TestAllCanBeLeftAtAnyEvent(t *testing.T) {
	log := settledLog(t)
	for stop := range 6 {
		var seqs []int64
		for e := range log.All() {
			if seqs = append(seqs, e.Seq); len(seqs) == stop {
				break
			}
		}
		want := []int64{0, 1, 2, 3, 4}
		if stop > 0 {
			want = want[:stop]
		}
		if !slices.Equal(seqs, want) {
			t.Errorf("left after %d: %d", stop, seqs)
		}
	}
}

func TestAllEndsWhereItBegan(t *testing.T) {
	log := settledLog(t)
	n := 0
	for range log.All() {
		if n++; n == 1 || n == 5 {
			if _, err := log.Append(Draft{Type: TypeTurnEnd}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n != 5 {
		t.Errorf("%d events, want the 5 that were there", n)
	}
}

// Without its file a log still has what is in memory, each event once.
func TestAllWithoutTheFile(t *testing.T) {
	for name, damage := range map[string]func(path string) error{
		"gone":    os.Remove,
		"emptied": func(path string) error { return os.Truncate(path, 0) },
		"broken":  func(path string) error { return os.WriteFile(path, []byte("{}\n{}\n"), 0o600) },
	} {
		log := settledLog(t)
		if err := damage(log.Path()); err != nil {
			t.Fatal(err)
		}
		var seqs []int64
		for e := range log.All() {
			seqs = append(seqs, e.Seq)
		}
		if !slices.Equal(seqs, []int64{3, 4}) {
			t.Errorf("%s: %d", name, seqs)
		}
	}
	log := settledLog(t)
	data, err := os.ReadFile(log.Path())
	if err != nil {
		t.Fatal(err)
	}
	// Cut in the middle of the third event: two are left of those in the file alone.
	lines := bytes.SplitAfter(data, []byte("\n"))
	if err := os.WriteFile(log.Path(), append(bytes.Join(lines[:3], nil), lines[3][:5]...), 0o600); err != nil {
		t.Fatal(err)
	}
	var seqs []int64
	for e := range log.All() {
		seqs = append(seqs, e.Seq)
	}
	if !slices.Equal(seqs, []int64{0, 1, 3, 4}) {
		t.Errorf("cut: %d", seqs)
	}
}

func equalEvents(a, b Event) bool {
	return a.Type == b.Type && a.Seq == b.Seq && a.Data.Equal(b.Data) && a.Time.Equal(b.Time)
}

// What an open session keeps does not depend on how long its lines or its answers
// were.
func TestNothingStaysOfLongLinesAndShortAnswers(t *testing.T) {
	log := settledLog(t)
	if _, err := log.Append(Draft{Type: TypeTitle, Data: Data("title", strings.Repeat("x", 100_000))}); err != nil {
		t.Fatal(err)
	}
	if n := cap(log.buf); n > keptBuffer {
		t.Errorf("a buffer of %d bytes is kept", n)
	}
	for range 3 {
		for range settleAfter {
			if _, err := log.Append(Draft{Type: TypeAssistantChunk, Data: Data("chunk", model.TextChunk(0, "x").Value())}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := log.Append(Draft{Type: TypeAssistantMessage, Data: Data("content", model.PartsValue([]model.Part{model.Text("x")}))}); err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(log.Kept(), isChunk) {
			t.Error("chunks of a complete message are kept")
		}
	}
	if n := cap(log.events) - len(log.events); n > settleAfter {
		t.Errorf("there is room for %d more events", n)
	}
}
