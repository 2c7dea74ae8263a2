package sdk

import (
	"slices"
	"strings"
)

// maxNearest is how many names a suggestion offers.
const maxNearest = 3

// Nearest returns the names that somebody who wrote this one may have meant,
// likeliest first: names that differ by case, separators or a few characters,
// then names made of the same words. It may be empty.
func (c *Catalogue) Nearest(name string) []string {
	asked := squash(name)
	type near struct {
		name     string
		distance int
	}
	var found []near
	if asked != "" {
		limit := min(len(asked)/3, 3) // short names have no room for mistakes
		for i := range c.tools {
			if d := editDistance(asked, squash(c.tools[i].Name), limit); d <= limit {
				found = append(found, near{c.tools[i].Name, d})
			}
		}
		slices.SortStableFunc(found, func(a, b near) int { return a.distance - b.distance })
	}
	names := make([]string, 0, maxNearest)
	for _, n := range found {
		names = append(names, n.name)
	}
	for _, m := range c.Search(name, maxNearest) {
		if asked != "" && !slices.Contains(names, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names[:min(len(names), maxNearest)]
}

// maxNameLength bounds the names that are compared character by character.
const maxNameLength = 128

// squash takes away what spellings of one name differ by.
func squash(name string) string {
	if len(name) > maxNameLength {
		return ""
	}
	return strings.ToLower(strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. /:", r) {
			return -1
		}
		return r
	}, name))
}

// editDistance counts the bytes to insert, remove, replace or swap with their
// neighbour to get from a to b. It may stop at anything over the limit.
func editDistance(a, b string, limit int) int {
	if d := len(a) - len(b); d > limit || -d > limit {
		return limit + 1
	}
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
