package sdk

import "bytes"

// unionBuilder prints a union without repeating a branch: next, print, done,
// for each branch, then operator.
type unionBuilder struct {
	e        *emitter
	branches []span
	before   int // where the text ended before the current branch
	from     int // where the current branch begins
	last     operator
}

// span is a piece of the emitter's text.
type span struct{ from, to int }

// next starts a branch.
func (u *unionBuilder) next() {
	u.before = len(u.e.out)
	if len(u.branches) > 0 {
		u.e.out = append(u.e.out, " | "...)
	}
	u.from = len(u.e.out)
}

// done ends a branch and takes it back if its text is there already.
func (u *unionBuilder) done(op operator) {
	for _, b := range u.branches {
		if bytes.Equal(u.e.out[b.from:b.to], u.e.out[u.from:]) {
			u.e.out = u.e.out[:u.before]
			return
		}
	}
	u.branches = append(u.branches, span{u.from, len(u.e.out)})
	u.last = op
}

// operator is what the printed text binds like.
func (u *unionBuilder) operator() operator {
	if len(u.branches) > 1 {
		return union
	}
	return u.last
}
