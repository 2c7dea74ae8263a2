package jsonvalue

import (
	"math"
	"strconv"
	"strings"
)

// LosslessError says where data cannot be JSON without losing something, and
// why. Path is written like a.b[2].c, "" for the value itself.
type LosslessError struct {
	Path   string
	Reason string
}

// Error gives the path and the reason.
func (e *LosslessError) Error() string {
	if e.Path == "" {
		return "not lossless JSON: " + e.Reason
	}
	return "not lossless JSON at " + e.Path + ": " + e.Reason
}

// Code is the stable code of the error.
func (e *LosslessError) Code() string { return "NOT_LOSSLESS" }

// CheckLossless refuses with a *[LosslessError] a value that a double-based
// reader would change beyond rounding: Undefined, negative zero (also by
// underflow), and numbers out of the range of a double (decision 18, rules
// R11.1 and R11.2). Integers beyond 2^53 pass, as their literal is kept; see
// [CheckJavaScript] for values that reach a JavaScript program.
func CheckLossless(v Value) error { return check(v, losslessReason) }

// CheckJavaScript is [CheckLossless], and also refuses integers that a double
// cannot hold exactly: a program would silently get another number (decision 18).
func CheckJavaScript(v Value) error { return check(v, javaScriptReason) }

func losslessReason(lit string) string {
	// Without an exponent, so few digits cannot leave the range of a double.
	if len(lit) < 300 && !strings.ContainsAny(lit, "eE") {
		if lit[0] != '-' || strings.ContainsAny(lit, "123456789") {
			return ""
		}
	}
	f, err := strconv.ParseFloat(lit, 64)
	switch {
	case err != nil:
		return "the number " + brief(lit) + " is out of the range of a double"
	case f == 0 && math.Signbit(f):
		return "negative zero does not survive JSON"
	}
	return ""
}

func javaScriptReason(lit string) string {
	if r := losslessReason(lit); r != "" {
		return r
	}
	d := decimalOf(lit)
	if !d.integral() {
		return ""
	}
	if f, err := strconv.ParseFloat(lit, 64); err != nil || !exactDouble(lit, f) {
		return "the integer " + brief(lit) + " is not exact as a double; pass it as a string"
	}
	return ""
}

func brief(lit string) string {
	if len(lit) > 40 {
		return lit[:37] + "..."
	}
	return lit
}

func check(v Value, reason func(string) string) error {
	if v.kind == Undefined {
		return &LosslessError{Reason: "there is no value"}
	}
	if v.kind == NumberKind && v.flag&flagSafeInt == 0 {
		if r := reason(v.s); r != "" {
			return &LosslessError{Reason: r}
		}
	}
	if v.c == nil {
		return nil
	}
	var local [32]writeFrame
	stack := append(local[:0], writeFrame{c: v.c})
	for len(stack) > 0 {
		f := &stack[len(stack)-1]
		if f.next == len(f.c.elems) {
			stack = stack[:len(stack)-1]
			continue
		}
		e := &f.c.elems[f.next]
		f.next++
		if e.c != nil {
			stack = append(stack, writeFrame{c: e.c})
		} else if e.kind == NumberKind && e.flag&flagSafeInt == 0 {
			if r := reason(e.s); r != "" {
				return &LosslessError{Path: pathOf(stack), Reason: r}
			}
		}
	}
	return nil
}

// pathOf spells the position the stack stands at.
func pathOf(stack []writeFrame) string {
	var b strings.Builder
	for _, f := range stack {
		if f.c.shape != nil {
			if b.Len() > 0 {
				b.WriteByte('.')
			}
			b.WriteString(f.c.shape.keys[f.next-1])
			continue
		}
		b.WriteByte('[')
		b.WriteString(strconv.Itoa(f.next - 1))
		b.WriteByte(']')
	}
	return b.String()
}
