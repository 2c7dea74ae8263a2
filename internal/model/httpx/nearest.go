package httpx

import "strings"

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
