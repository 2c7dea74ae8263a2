package config

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// parseDuration reads 60s, 1m30s, 500ms. A bare number is refused, because
// seconds and milliseconds are both plausible.
func parseDuration(n *node) (time.Duration, error) {
	if n.kind == kindNumber {
		return 0, fmt.Errorf("a duration needs a unit: write %ss or %sms", n.text, n.text)
	}
	if n.kind != kindString {
		return 0, fmt.Errorf("expected a duration such as 60s, got %s", n.kind)
	}
	d, err := time.ParseDuration(strings.ReplaceAll(n.text, " ", ""))
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration; write for example 60s, 1m30s or 500ms", n.text)
	}
	if d <= 0 {
		return 0, fmt.Errorf("must be more than zero, got %s", n.text)
	}
	return d, nil
}

var sizeUnits = []struct {
	suffix string
	bytes  int64
}{
	{"KiB", 1 << 10},
	{"MiB", 1 << 20},
	{"GiB", 1 << 30},
	{"kB", 1e3},
	{"KB", 1e3},
	{"MB", 1e6},
	{"GB", 1e9},
	{"B", 1},
}

// parseSize reads 512MiB, 64MB, or a plain number of bytes.
func parseSize(n *node) (int64, error) {
	if n.kind != kindNumber && n.kind != kindString {
		return 0, fmt.Errorf("expected a size such as 512MiB, got %s", n.kind)
	}
	text, unit := strings.ReplaceAll(strings.TrimSpace(n.text), "_", ""), int64(1)
	for _, u := range sizeUnits {
		if rest, ok := strings.CutSuffix(text, u.suffix); ok {
			text, unit = strings.TrimSpace(rest), u.bytes
			break
		}
	}
	count, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(count) || math.IsInf(count, 0) {
		return 0, fmt.Errorf("%q is not a size; write for example 512MiB, 64MB or a number of bytes", n.text)
	}
	total := count * float64(unit)
	if total < 1 {
		return 0, fmt.Errorf("must be more than zero, got %s", n.text)
	}
	if total > math.MaxInt64/2 {
		return 0, fmt.Errorf("%s is more than any machine has", n.text)
	}
	if total != math.Trunc(total) {
		return 0, fmt.Errorf("%s is not a whole number of bytes", n.text)
	}
	return int64(total), nil
}

// parseCount reads a whole number from 1 to limit.
func parseCount(n *node, limit int) (int, error) {
	if n.kind != kindNumber {
		return 0, fmt.Errorf("expected a whole number, got %s", describe(n))
	}
	v, err := strconv.ParseInt(strings.ReplaceAll(n.text, "_", ""), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("expected a whole number, got %s", n.text)
	}
	if v < 1 {
		return 0, fmt.Errorf("must be at least 1, got %s", n.text)
	}
	if v > int64(limit) {
		return 0, fmt.Errorf("must be at most %d, got %s", limit, n.text)
	}
	return int(v), nil
}

// parseText reads text. Numbers and true/false are taken as they are written:
// a model may be called 4.
func parseText(n *node) (string, error) {
	switch n.kind {
	case kindString, kindNumber, kindBool:
		if strings.ContainsRune(n.text, 0) {
			return "", errors.New("must not contain a NUL character")
		}
		return n.text, nil
	case kindNull:
		return "", nil
	}
	return "", fmt.Errorf("expected text, got %s", n.kind)
}

// parseEnum reads one of a fixed vocabulary.
func parseEnum(n *node, values []string) (string, error) {
	if n.kind != kindString {
		return "", fmt.Errorf("expected one of %s, got %s", strings.Join(values, ", "), describe(n))
	}
	return checkEnum(n.text, values)
}

func checkEnum(text string, values []string) (string, error) {
	for _, v := range values {
		if v == text {
			return v, nil
		}
	}
	if best, ok := nearest(strings.ToLower(text), values); ok {
		return "", fmt.Errorf("unknown value %q; did you mean %q? It takes %s", text, best, strings.Join(values, ", "))
	}
	return "", fmt.Errorf("unknown value %q; it takes %s", text, strings.Join(values, ", "))
}

// checkEnvName refuses what is no name of an environment variable, above all
// a key pasted where the name of its variable belongs. The text is not quoted
// back: it may be a secret.
func checkEnvName(text string) error {
	if text == "" || isEnvName(text) && !looksLikeKey(text) {
		return nil
	}
	return errors.New("must be the name of an environment variable (such as DEEPSEEK_API_KEY), not the key itself; keys do not belong into this file")
}

func isEnvName(text string) bool {
	for i, c := range text {
		letter := c == '_' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return text != ""
}

func looksLikeKey(text string) bool {
	return len(text) >= 32 && strings.ToUpper(text) != text
}

func describe(n *node) string {
	switch n.kind {
	case kindList, kindMap, kindNull:
		return n.kind.String()
	}
	text := n.text
	if r := []rune(text); len(r) > 40 {
		text = string(r[:40]) + "…"
	}
	return strconv.Quote(text)
}

// resolvePath makes a path of a configuration file absolute: ~/ is the home
// folder, anything relative belongs to the file's own folder.
func resolvePath(path, dir, home string) string {
	if path == "" {
		return ""
	}
	if path == "~" && home != "" {
		return home
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok && home != "" {
		return filepath.Join(home, rest)
	}
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}
