package sdk

import (
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
