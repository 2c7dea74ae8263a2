package jsonvalue

import (
	"math"
	"strconv"
	"strings"
)

// FormatNumber writes f as JavaScript's Number.prototype.toString does: the
// shortest digits that read back as f, plain up to 1e21 and down to 1e-6, an
// exponent without padding beyond (rule of section 11: 1e+21, 100 for 1E2).
// Negative zero is "0"; NaN and the infinities are "NaN", "Infinity" and
// "-Infinity", which are not JSON.
func FormatNumber(f float64) string { return string(appendNumber(nil, f)) }

func appendNumber(dst []byte, f float64) []byte {
	switch {
	case math.IsNaN(f):
		return append(dst, "NaN"...)
	case math.IsInf(f, 1):
		return append(dst, "Infinity"...)
	case math.IsInf(f, -1):
		return append(dst, "-Infinity"...)
	case f == 0:
		return append(dst, '0')
	}
	if a := math.Abs(f); a >= 1e-6 && a < 1e21 {
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// Go pads the exponent to two digits, JavaScript does not.
	if n := len(dst); dst[n-2] == '0' && (dst[n-3] == '-' || dst[n-3] == '+') {
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}

// isSafeInt reports whether the literal is an integer every reader agrees on:
// digits only, at most 15 of them, and not -0.
func isSafeInt(lit string) bool {
	d := lit
	if d != "" && d[0] == '-' {
		d = d[1:]
		if d == "0" {
			return false
		}
	}
	if len(d) == 0 || len(d) > 15 {
		return false
	}
	for i := 0; i < len(d); i++ {
		if d[i] < '0' || d[i] > '9' {
			return false
		}
	}
	return true
}

// decimal is the exact value of a literal: ±0.d₁d₂… × 10^exp in effect, kept
// as digits without leading or trailing zeros and the power of ten of the last
// one. Zero has no digits.
type decimal struct {
	neg    bool
	digits string
	exp    int64 // value = digits × 10^exp
}

const hugeExp = int64(1) << 40 // exponents saturate here; far beyond any double

func decimalOf(lit string) decimal {
	var d decimal
	if lit[0] == '-' {
		d.neg = true
		lit = lit[1:]
	}
	mant, expText := lit, ""
	if i := strings.IndexAny(lit, "eE"); i >= 0 {
		mant, expText = lit[:i], lit[i+1:]
	}
	d.exp = parseExp(expText)
	if intPart, frac, ok := strings.Cut(mant, "."); ok {
		d.exp -= int64(len(frac))
		mant = intPart + frac
	}
	trimmed := strings.TrimRight(mant, "0")
	d.exp += int64(len(mant) - len(trimmed))
	d.digits = strings.TrimLeft(trimmed, "0")
	if d.digits == "" {
		return decimal{}
	}
	return d
}

func parseExp(s string) int64 {
	if s == "" {
		return 0
	}
	neg := s[0] == '-'
	if s[0] == '-' || s[0] == '+' {
		s = s[1:]
	}
	var n int64
	for i := 0; i < len(s) && n < hugeExp; i++ {
		n = n*10 + int64(s[i]-'0')
	}
	n = min(n, hugeExp)
	if neg {
		return -n
	}
	return n
}

func (d decimal) integral() bool { return d.exp >= 0 || d.digits == "" }

func (d decimal) int64() (int64, bool) {
	if d.digits == "" {
		return 0, true
	}
	if d.exp < 0 || int64(len(d.digits))+d.exp > 19 {
		return 0, false
	}
	s := d.digits + strings.Repeat("0", int(d.exp))
	if d.neg {
		s = "-" + s
	}
	i, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return 0, false // out of range: not the saturated value
	}
	return i, true
}

// sameNumber compares exact values: 1, 1.0 and 1e0 are the same; 2^53 and
// 2^53+1 are not, although one double stands for both. -0 is 0.
func sameNumber(a, b string) bool {
	if a == b {
		return true
	}
	return decimalOf(a) == decimalOf(b)
}

// exactDouble reports whether the integer literal survives a double.
func exactDouble(lit string, f float64) bool {
	return sameNumber(lit, strconv.FormatFloat(f, 'f', -1, 64)) ||
		sameNumber(lit, strconv.FormatFloat(f, 'f', 0, 64))
}

// IsLosslessNumber reports whether v is a number that [CheckLossless] accepts:
// in the range of a double and not negative zero.
func (v Value) IsLosslessNumber() bool {
	return v.kind == NumberKind && (v.flag&flagSafeInt != 0 || losslessReason(v.s) == "")
}
