package config

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// setting is one value of one source, ready to be applied.
type setting struct {
	key    *key
	name   string // dotted
	origin string
	line   int
	apply  change
}

// reader turns one file into settings.
type reader struct {
	file      string // as messages name it
	dir       string // what relative paths belong to
	home      string
	workspace bool

	root     *key
	settings []setting
	warnings []Warning
	errors   Errors
}

func (r *reader) origin(line int) string {
	if line == 0 {
		return r.file
	}
	return fmt.Sprintf("%s:%d", r.file, line)
}

func (r *reader) warn(line int, key, message string) {
	r.warnings = append(r.warnings, Warning{File: r.file, Line: line, Key: key, Message: message})
}

func (r *reader) fail(line, column int, key string, err error) {
	var l *located
	if errors.As(err, &l) {
		line, column = l.line, l.column
	}
	r.errors = append(r.errors, &Error{File: r.file, Line: line, Column: column, Key: key, Message: err.Error()})
}

// read walks a document along the tree of keys.
func (r *reader) read(data []byte) error {
	doc, err := parse(r.file, data)
	if err != nil {
		return err
	}
	r.section(r.root, "", doc)
	if len(r.errors) > 0 {
		return r.errors
	}
	return nil
}

func (r *reader) section(at *key, prefix string, n *node) {
	for _, e := range n.entries {
		name := prefix + e.key
		i := slices.IndexFunc(at.children, func(k *key) bool { return k.name == e.key })
		if i < 0 {
			r.fail(e.line, e.column, strings.TrimSuffix(prefix, "."), r.unknown(at, e.key))
			continue
		}
		k := at.children[i]
		if k.scope == sectionOf {
			switch e.value.kind {
			case kindMap:
				r.section(k, name+".", e.value)
			case kindNull: // a heading with nothing under it
			default:
				r.fail(e.value.line, e.value.column, name, fmt.Errorf("expected a mapping with %s, got %s", listKeys(k), describe(e.value)))
			}
			continue
		}
		r.value(k, name, e)
	}
}

func (r *reader) value(k *key, name string, e entry) {
	if r.workspace && (k.scope == userOnly || k.scope == reported) {
		// Still read, so that a mistake is not hidden behind the warning.
		silent := *r
		silent.warnings = nil
		if _, err := k.read(&silent, e.value); err != nil {
			r.fail(e.value.line, e.value.column, name, err)
			return
		}
		r.warn(e.line, name, "a workspace file cannot set this; put it into your own configuration to have it")
		return
	}
	apply, err := k.read(r, e.value)
	if err != nil {
		r.fail(e.value.line, e.value.column, name, err)
		return
	}
	if e.value.kind == kindNull {
		return // "key:" with nothing behind it leaves what was
	}
	r.settings = append(r.settings, setting{key: k, name: name, origin: r.origin(e.line), line: e.line, apply: apply})
}

// unknown says which key was probably meant: one of the same section that is
// spelled alike, one of that very name in another section, or else the nearest
// of all, with the list.
func (r *reader) unknown(at *key, name string) error {
	var here []string
	for _, c := range at.children {
		here = append(here, c.name)
	}
	if best, ok := nearest(strings.ToLower(strings.ReplaceAll(name, "-", "_")), here); ok {
		return fmt.Errorf("unknown key %q; did you mean %q?", name, best)
	}
	if elsewhere := find(r.root, "", name); elsewhere != "" {
		return fmt.Errorf("unknown key %q here; did you mean %q?", name, elsewhere)
	}
	return unknownKey(name, here)
}

func find(k *key, prefix, name string) string {
	for _, c := range k.children {
		if c.name == name {
			return prefix + c.name
		}
		if found := find(c, prefix+c.name+".", name); found != "" {
			return found
		}
	}
	return ""
}

func unknownKey(name string, known []string) error {
	best, near := nearest(strings.ToLower(name), known)
	if near {
		return fmt.Errorf("unknown key %q; did you mean %q?", name, best)
	}
	return fmt.Errorf("unknown key %q; the nearest is %q, and there are %s", name, best, strings.Join(known, ", "))
}

func listKeys(k *key) string {
	var names []string
	for _, c := range k.children {
		names = append(names, c.name)
	}
	return strings.Join(names, ", ")
}

func sortedKeys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
