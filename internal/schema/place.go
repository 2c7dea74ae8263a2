package schema

import (
	"slices"
	"strings"
)

// place is a position in a schema; its text is only spelled when needed, as
// spelling every path of a deep schema would cost the square of its depth.
type place struct {
	up  *place
	seg string // with its separator: ".properties.a", "[1]"
}

// String spells the path from the root.
func (p *place) String() string {
	var segs []string
	for ; p != nil; p = p.up {
		segs = append(segs, p.seg)
	}
	slices.Reverse(segs)
	return strings.Join(segs, "")
}

// short spells the path for a message about its very length.
func (p *place) short() string {
	s := p.String()
	if len(s) > 80 {
		return s[:77] + "..."
	}
	return s
}

// maxViolationText bounds the texts of one list of violations, in bytes. Each
// names its path, so that a deep schema or value that is wrong at every level
// would otherwise cost the square of its depth.
const maxViolationText = 8 << 20

// list collects violations up to maxViolationText, and says when it stops.
type list struct {
	texts []string
	size  int
	full  bool
}

// add appends a violation unless the list is full.
func (l *list) add(text string) {
	if l.full {
		return
	}
	if l.size += len(text); l.size > maxViolationText {
		l.full = true
		text = "further violations are not listed"
	}
	l.texts = append(l.texts, text)
}
