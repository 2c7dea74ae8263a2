package search

// wildcard is a compiled pattern of an ignore file. It works on bytes, as git
// does: a `?` is one byte of a longer character.
type wildcard struct {
	tokens []token
	never  bool // a pattern that git cannot read matches nothing
}

type tokenKind uint8

const (
	tokenByte  tokenKind = iota // exactly this byte
	tokenAny                    // one byte that is no slash
	tokenClass                  // one byte of a set, no slash
	tokenStar                   // any number of bytes without a slash
	tokenDeep                   // any number of bytes
	tokenMaybe                  // skips the two tokens after it, or does not
)

type token struct {
	kind tokenKind
	char byte
	set  *[256]bool
}

// compileWildcard reads a pattern. Two stars are special where they are a whole
// path segment; the beginning of the pattern counts as the beginning of one.
func compileWildcard(p string) wildcard {
	var w wildcard
	add := func(t token) { w.tokens = append(w.tokens, t) }
	for i := 0; i < len(p); i++ {
		switch c := p[i]; c {
		case '\\':
			i++
			if i == len(p) {
				return wildcard{never: true}
			}
			add(token{kind: tokenByte, char: p[i]})
		case '?':
			add(token{kind: tokenAny})
		case '[':
			set, end := compileClass(p, i+1)
			if set == nil {
				return wildcard{never: true}
			}
			add(token{kind: tokenClass, set: set})
			i = end
		case '*':
			first := i
			for i+1 < len(p) && p[i+1] == '*' {
				i++
			}
			rest := p[i+1:]
			opens := first == 0 || p[first-1] == '/'
			switch {
			case i == first || !opens:
				add(token{kind: tokenStar})
			case rest == "" || len(rest) > 1 && rest[:2] == `\/`:
				add(token{kind: tokenDeep})
			case rest[0] == '/':
				add(token{kind: tokenMaybe})
				add(token{kind: tokenDeep})
				add(token{kind: tokenByte, char: '/'})
				i++
			default:
				add(token{kind: tokenStar})
			}
		default:
			add(token{kind: tokenByte, char: c})
		}
	}
	return w
}

// classes are the named sets of the C locale.
var classes = map[string]func(byte) bool{
	"alnum":  func(c byte) bool { return isAlpha(c) || isDigit(c) },
	"alpha":  isAlpha,
	"blank":  func(c byte) bool { return c == ' ' || c == '\t' },
	"cntrl":  func(c byte) bool { return c < ' ' || c == 0x7f },
	"digit":  isDigit,
	"graph":  func(c byte) bool { return c > ' ' && c < 0x7f },
	"lower":  func(c byte) bool { return c >= 'a' && c <= 'z' },
	"print":  func(c byte) bool { return c >= ' ' && c < 0x7f },
	"punct":  func(c byte) bool { return c > ' ' && c < 0x7f && !isAlpha(c) && !isDigit(c) },
	"space":  func(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' },
	"upper":  func(c byte) bool { return c >= 'A' && c <= 'Z' },
	"xdigit": func(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' },
}

func isAlpha(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// compileClass reads a bracket expression from behind its bracket and returns
// the place of the closing one; nil when the expression is broken.
func compileClass(p string, i int) (*[256]bool, int) {
	var set [256]bool
	negated := i < len(p) && (p[i] == '!' || p[i] == '^')
	if negated {
		i++
	}
	previous := -1 // the character that a dash would start a range from
	for first := true; ; first = false {
		if i >= len(p) {
			return nil, 0
		}
		c := p[i]
		switch {
		case c == ']' && !first:
			if negated {
				for b := range set {
					set[b] = !set[b]
				}
			}
			set['/'] = false
			return &set, i
		case c == '\\':
			i++
			if i >= len(p) {
				return nil, 0
			}
			set[p[i]] = true
			previous = int(p[i])
		case c == '-' && previous > 0 && i+1 < len(p) && p[i+1] != ']':
			i++
			if p[i] == '\\' {
				i++
				if i >= len(p) {
					return nil, 0
				}
			}
			for b := previous; b <= int(p[i]); b++ {
				set[b] = true
			}
			previous = -1
		case c == '[' && i+1 < len(p) && p[i+1] == ':':
			end := i + 2
			for end < len(p) && p[end] != ']' {
				end++
			}
			if end == len(p) {
				return nil, 0
			}
			if end == i+2 || p[end-1] != ':' {
				set['['] = true // an ordinary bracket
				previous = '['
				break
			}
			is, ok := classes[p[i+2:end-1]]
			if !ok {
				return nil, 0
			}
			for b := range set {
				set[b] = set[b] || is(byte(b))
			}
			previous = -1
			i = end
		default:
			set[c] = true
			previous = int(c)
		}
		i++
	}
}

// match says whether the whole of s matches. Its time is bounded by the product
// of the lengths, whatever the pattern.
func (w wildcard) match(s string) bool {
	if w.never {
		return false
	}
	n := len(w.tokens)
	var small [2][64]bool
	cur, next := small[0][:], small[1][:]
	if n >= len(cur) {
		cur, next = make([]bool, n+1), make([]bool, n+1)
	}
	cur[0] = true
	w.skip(cur)
	for i := range len(s) {
		c := s[i]
		alive := false
		clear(next[:n+1])
		for at, t := range w.tokens {
			if !cur[at] {
				continue
			}
			switch t.kind {
			case tokenByte:
				next[at+1] = next[at+1] || c == t.char
			case tokenAny:
				next[at+1] = next[at+1] || c != '/'
			case tokenClass:
				next[at+1] = next[at+1] || t.set[c]
			case tokenStar:
				next[at] = next[at] || c != '/'
			case tokenDeep:
				next[at] = true
			}
			alive = alive || next[at] || next[at+1]
		}
		if !alive {
			return false
		}
		cur, next = next, cur
		w.skip(cur)
	}
	return cur[n]
}

// skip adds the places that are reached without a byte.
func (w wildcard) skip(at []bool) {
	for i, t := range w.tokens {
		if !at[i] {
			continue
		}
		switch t.kind {
		case tokenStar, tokenDeep:
			at[i+1] = true
		case tokenMaybe:
			at[i+1], at[i+3] = true, true
		}
	}
}
