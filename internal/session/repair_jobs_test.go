package session

import (
	"slices"
	"testing"
)

// What ran in the background when the program stopped has ended, whether a turn
// was open or not; and a repaired log is whole.
func TestRepairEndsJobs(t *testing.T) {
	job := func(typ, id string) Draft { return Draft{Type: typ, Data: Data("taskId", id)} }
	for name, tail := range map[string][]Draft{
		"between turns": {{Type: TypeTurnEnd, Data: Data("turn", 1, "reason", Data("kind", EndCompleted))}},
		"in a turn":     nil,
	} {
		log := NewMemory(Header{}, Options{})
		drafts := append([]Draft{
			{Type: TypeTurnStart, Data: Data("turn", 1)},
			job(TypeJobStart, "bash_1"), job(TypeJobStart, "bash_2"), job(TypeJobEnd, "bash_1"), job(TypeJobStart, "bash_3"),
		}, tail...)
		if _, err := log.AppendAll(drafts); err != nil {
			t.Fatal(err)
		}
		repair := Repair(log.Events())
		if _, err := log.AppendAll(repair); err != nil {
			t.Fatal(err)
		}
		var ended []string
		for _, e := range log.Events()[len(drafts):] {
			if e.Type == TypeJobEnd {
				ended = append(ended, e.Data.GetString("taskId")+" "+e.Data.GetString("status"))
			}
		}
		if want := []string{"bash_2 killed", "bash_3 killed"}; !slices.Equal(ended, want) {
			t.Errorf("%s: ended %q, want %q", name, ended, want)
		}
		if again := Repair(log.Events()); again != nil {
			t.Errorf("%s: repaired again with %v", name, again)
		}
	}
}
