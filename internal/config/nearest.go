package config

// nearest gives the candidate closest to word, and whether it is close enough
// to be what was meant: at most a third of the letters differ, and at least
// one edit is always forgiven.
func nearest(word string, candidates []string) (string, bool) {
	best, bestDistance := "", -1
	for _, c := range candidates {
		d := distance(word, c)
		if bestDistance < 0 || d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if bestDistance < 0 {
		return "", false
	}
	limit := max(1, max(len(word), len(best))/3)
	return best, bestDistance <= limit
}

// distance is the number of letters to insert, delete, replace or swap with
// their neighbour to get from a to b.
func distance(a, b string) int {
	ra, rb := []rune(a), []rune(b)
	if len(ra) > 64 || len(rb) > 64 {
		return max(len(ra), len(rb))
	}
	rows := make([][]int, len(ra)+1)
	for i := range rows {
		rows[i] = make([]int, len(rb)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(ra); i++ {
		for j := 1; j <= len(rb); j++ {
			cost := 1
			if ra[i-1] == rb[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && ra[i-1] == rb[j-2] && ra[i-2] == rb[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(ra)][len(rb)]
}

// Nearest gives the candidate that word was probably meant to be; "" when none is
// close enough.
func Nearest(word string, candidates []string) string {
	if best, ok := nearest(word, candidates); ok {
		return best
	}
	return ""
}
