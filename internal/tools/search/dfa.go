package search

import (
	"encoding/binary"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// maxStates bounds the memory of an automaton: about a kilobyte a state. When
// there are more, they are forgotten and made again as needed.
const maxStates = 2000

// automaton says where in a text a match ends first. It reads each character
// once, whatever the expression; its states are made when they are first
// needed. It is not safe for concurrent use.
type automaton struct {
	prog   *syntax.Prog
	states map[string]*state
	start  *state
	found  *state // reached when a match has ended before the character read

	// For making states.
	seen  []uint32 // by instruction: the round in which it was added
	round uint32
	stack []uint32
	key   []byte
}

// state is a set of places in the program, before what they demand of their
// surroundings is looked at, and the kind of the character before.
type state struct {
	places   []uint32
	previous rune // one of the kind
	ascii    [utf8.RuneSelf]*state
	other    map[rune]*state
}

// endOfText is read behind the last character.
const endOfText rune = -1

func newAutomaton(prog *syntax.Prog) *automaton {
	a := &automaton{prog: prog, found: &state{}, seen: make([]uint32, len(prog.Inst))}
	a.forget()
	return a
}

func (a *automaton) forget() {
	a.states = make(map[string]*state)
	a.start = a.intern(nil, endOfText)
}

// cursor is a search that goes on over the pieces of a text.
type cursor struct{ at *state }

func (a *automaton) begin() cursor { return cursor{a.start} }

// find reads p and returns how much of it comes before the end of the first
// match, -1 when there is none so far. last says that the text ends with p.
func (a *automaton) find(c *cursor, p []byte, last bool) int {
	s := c.at
	for i := 0; i < len(p); {
		var next *state
		width := 1
		if b := p[i]; b < utf8.RuneSelf {
			if next = s.ascii[b]; next == nil {
				next = a.step(s, rune(b))
				s.ascii[b] = next
			}
		} else {
			var r rune
			r, width = utf8.DecodeRune(p[i:])
			if next = s.other[r]; next == nil {
				next = a.step(s, r)
				if s.other == nil || len(s.other) > maxStates {
					s.other = make(map[rune]*state)
				}
				s.other[r] = next
			}
		}
		if next == a.found {
			return i
		}
		s = next
		i += width
	}
	c.at = s
	if last && a.step(s, endOfText) == a.found {
		return len(p)
	}
	return -1
}

// step is where a character leads.
func (a *automaton) step(s *state, r rune) *state {
	flags := syntax.EmptyOpContext(s.previous, r)
	a.round++
	var after []uint32
	a.stack = append(a.stack[:0], uint32(a.prog.Start))
	a.stack = append(a.stack, s.places...)
	for len(a.stack) > 0 {
		pc := a.stack[len(a.stack)-1]
		a.stack = a.stack[:len(a.stack)-1]
		if a.seen[pc] == a.round {
			continue
		}
		a.seen[pc] = a.round
		in := &a.prog.Inst[pc]
		switch in.Op {
		case syntax.InstMatch:
			return a.found
		case syntax.InstAlt, syntax.InstAltMatch:
			a.stack = append(a.stack, in.Out, in.Arg)
		case syntax.InstCapture, syntax.InstNop:
			a.stack = append(a.stack, in.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(in.Arg)&^flags == 0 {
				a.stack = append(a.stack, in.Out)
			}
		case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
			if r != endOfText && in.MatchRune(r) {
				after = append(after, in.Out)
			}
		}
	}
	if len(a.states) >= maxStates {
		a.forget()
	}
	return a.intern(after, r)
}

// intern returns the one state of its kind.
func (a *automaton) intern(places []uint32, previous rune) *state {
	switch {
	case previous == endOfText || previous == '\n':
	case syntax.IsWordChar(previous):
		previous = 'a'
	default:
		previous = ' '
	}
	slices.Sort(places)
	places = slices.Compact(places)
	a.key = binary.AppendVarint(a.key[:0], int64(previous))
	for _, pc := range places {
		a.key = binary.AppendUvarint(a.key, uint64(pc))
	}
	if s, ok := a.states[string(a.key)]; ok {
		return s
	}
	s := &state{places: places, previous: previous}
	a.states[string(a.key)] = s
	return s
}
