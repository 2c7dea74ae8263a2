package sdk

import (
	"slices"
	"strings"
	"unicode"
)

// maxIndexedText bounds how much of one text is searched.
const maxIndexedText = 8 << 10

// splitWords takes text apart into lower-case words: at anything but letters
// and digits, and where a name in camel case starts a new word. A plural counts
// as its singular.
func splitWords(s string) []string {
	if len(s) > maxIndexedText {
		s = strings.ToValidUTF8(s[:maxIndexedText], "")
	}
	var words []string
	var word []rune
	flush := func() {
		if len(word) > 0 {
			words = append(words, singular(strings.ToLower(string(word))))
			word = word[:0]
		}
	}
	runes := []rune(s)
	for i, r := range runes {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			flush()
			continue
		}
		if unicode.IsUpper(r) && i > 0 {
			afterLower := unicode.IsLower(runes[i-1]) || unicode.IsDigit(runes[i-1])
			// The last capital of a run belongs to the word after it: HTTPServer.
			beforeLower := unicode.IsUpper(runes[i-1]) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
			if afterLower || beforeLower {
				flush()
			}
		}
		word = append(word, r)
	}
	flush()
	return words
}

// maxQueryWords bounds the work of one search; nobody asks with more.
const maxQueryWords = 32

// fillers say nothing about a tool. In a small set they are rare enough to
// count as much as a real word, so a query does without them if it can.
var fillers = map[string]bool{
	"a": true, "an": true, "and": true, "any": true, "by": true, "for": true, "from": true, "i": true, "in": true,
	"is": true, "it": true, "my": true, "of": true, "on": true, "or": true, "that": true, "the": true, "this": true,
	"to": true, "tool": true, "with": true,
}

// queryWords are the different words of a query that are worth looking for.
func queryWords(query string) []string {
	words := splitWords(query)
	slices.Sort(words)
	words = slices.Compact(words)
	telling := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return fillers[w] })
	if len(telling) == 0 {
		telling = words
	}
	return telling[:min(len(telling), maxQueryWords)]
}

// singular undoes the English plural well enough for searching.
func singular(w string) string {
	switch {
	case len(w) > 4 && strings.HasSuffix(w, "ies"):
		return w[:len(w)-3] + "y"
	case len(w) > 3 && strings.HasSuffix(w, "s") && !strings.HasSuffix(w, "ss") && !strings.HasSuffix(w, "us"):
		return w[:len(w)-1]
	default:
		return w
	}
}
