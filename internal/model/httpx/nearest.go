package httpx

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// SuggestModel adds to a failure about a model's name the one that was probably
// meant, or a few that there are.
func SuggestModel(e *model.Error, name string, infos []model.Info) *model.Error {
	if len(infos) == 0 {
		return e
	}
	out := *e
	names := make([]string, len(infos))
	for i, m := range infos {
		if m.ID == name {
			// To ask whether this very name was meant would send a person in a circle.
			out.Message += ", although it lists it: the key may not cover it; choose another model in the editor, or set model.name"
			return &out
		}
		names[i] = m.ID
	}
	if best, ok := Nearest(name, names); ok {
		out.Message += fmt.Sprintf("; did you mean %q? Set model.name, or choose it in the editor", best)
		return &out
	}
	more := ""
	if len(names) > 8 {
		names, more = names[:8], fmt.Sprintf(" and %d more", len(infos)-8)
	}
	out.Message += "; it has " + strings.Join(names, ", ") + more
	return &out
}

// Nearest gives the name most like word, and whether it is like enough to have
// been meant: at most a third of the letters differ, or one holds the other.
func Nearest(word string, names []string) (string, bool) {
	best, bestDistance := "", 1<<30
	for _, n := range names {
		d := distance(strings.ToLower(word), strings.ToLower(n))
		// A name without its vendor or its date is meant more often than one
		// with other letters.
		if word != "" && (strings.HasPrefix(n, word) || strings.HasSuffix(n, "/"+word)) {
			d = 1
		}
		if d < bestDistance {
			best, bestDistance = n, d
		}
	}
	return best, best != "" && bestDistance <= max(1, max(len(word), len(best))/3)
}

// distance is Levenshtein's.
func distance(a, b string) int {
	if len(a) > 128 || len(b) > 128 {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			d := diagonal
			if a[i-1] != b[j-1] {
				d = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], d
		}
	}
	return row[len(b)]
}
