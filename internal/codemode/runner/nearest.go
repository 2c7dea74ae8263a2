package runner

import "strings"

// nearest is the known name that a wrong one most likely meant, or "".
func nearest(name string, known []string) string {
	best, bestCost := "", len(name)/3+1
	plain := squash(name)
	for _, k := range known {
		other := squash(k)
		cost := distance(plain, other)
		// read_file for read, and the other way round.
		if len(plain) > 2 && len(other) > 2 && (strings.HasPrefix(plain, other) || strings.HasPrefix(other, plain)) {
			cost = min(cost, 1)
		}
		if cost < bestCost {
			best, bestCost = k, cost
		}
	}
	return best
}

// squash takes away what names are spelled differently by: case and separators.
func squash(s string) string {
	s = clip(s, 80)
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// distance is the number of letters changed, added, left out or swapped with
// their neighbour.
func distance(a, b string) int {
	last, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			cost := row[j]
			if a[i] != b[j] {
				cost++
			}
			next[j+1] = min(cost, next[j]+1, row[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], last[j-1]+1)
			}
		}
		last, row = row, next
	}
	return row[len(b)]
}
