package config

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// maxFileBytes and maxLineBytes bound a configuration file: far more than
// anybody writes, and little enough that a wrong path (a log, a device) is
// noticed at once and that the parser, whose time grows with the square of
// some inputs, stays quick on a file that a hostile workspace brings.
const (
	maxFileBytes = 64 << 10
	maxLineBytes = 4 << 10
)

// maxDepth bounds nesting: the deepest documented key is four levels down.
const maxDepth = 32

type kind uint8

const (
	kindNull kind = iota
	kindBool
	kindNumber
	kindString
	kindList
	kindMap
)

func (k kind) String() string {
	return [...]string{"nothing", "true or false", "a number", "text", "a list", "a mapping"}[k]
}

// node is a YAML value reduced to what a configuration needs: no anchors, no
// tags, no merge keys, and a position for every value so that each complaint
// can name its line.
type node struct {
	kind    kind
	text    string // scalars: the text as written, quotes removed
	line    int
	column  int
	items   []*node
	entries []entry
}

type entry struct {
	key          string
	line, column int
	value        *node
}

// parse reads one YAML document. A file without content gives an empty mapping.
func parse(name string, data []byte) (root *node, err error) {
	data = bytes.TrimPrefix(data, []byte("\ufeff")) // some editors put a byte order mark first
	if len(data) > maxFileBytes {
		return nil, &Error{File: name, Message: fmt.Sprintf("the file has more than %d bytes; a configuration is smaller", maxFileBytes)}
	}
	if err := checkNesting(name, data); err != nil {
		return nil, err
	}
	// The library has panicked on broken input before; a configuration must
	// never take the process down.
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, &Error{File: name, Message: fmt.Sprintf("not valid YAML: the parser failed: %v", r)}
		}
	}()
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, syntaxError(name, err)
	}
	empty := &node{kind: kindMap, line: 1, column: 1}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc == nil || doc.Body == nil {
			continue
		}
		if body != nil {
			return nil, positioned(name, doc.Body, "a configuration file holds one YAML document; this is a second one")
		}
		body = doc.Body
	}
	if body == nil {
		return empty, nil
	}
	root, err = convert(name, body, 0)
	if err != nil {
		return nil, err
	}
	if root.kind == kindNull {
		return empty, nil
	}
	if root.kind != kindMap {
		return nil, &Error{File: name, Line: root.line, Column: root.column, Message: fmt.Sprintf("expected a mapping of keys at the top level, got %s", root.kind)}
	}
	return root, nil
}

// checkNesting refuses what would make a recursive parser dig too deep. It
// over-counts brackets inside text, which no real configuration has so many of.
func checkNesting(name string, data []byte) error {
	depth, line, start := 0, 1, 0
	dashes := 0
	for i, c := range data {
		if i-start > maxLineBytes {
			return &Error{File: name, Line: line, Message: fmt.Sprintf("a line of a configuration has at most %d bytes", maxLineBytes)}
		}
		switch c {
		case '\n':
			line, start = line+1, i+1
			dashes = 0
		case '[', '{':
			depth++
		case ']', '}':
			depth = max(0, depth-1)
		case '-', '?', ':', '!', '&':
			dashes++
		}
		if depth > 4*maxDepth || dashes > 1024 {
			return &Error{File: name, Line: line, Message: "nested too deeply for a configuration"}
		}
	}
	return nil
}

func syntaxError(name string, err error) error {
	e := &Error{File: name, Message: "not valid YAML: " + firstLine(err.Error())}
	var positioned interface{ GetToken() *token.Token }
	if errors.As(err, &positioned) {
		if t := positioned.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	var worded interface{ GetMessage() string }
	if errors.As(err, &worded) {
		e.Message = "not valid YAML: " + firstLine(worded.GetMessage())
	}
	return e
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return s
}

func positioned(name string, n ast.Node, format string, args ...any) error {
	line, column := position(n)
	return &Error{File: name, Line: line, Column: column, Message: fmt.Sprintf(format, args...)}
}

func position(n ast.Node) (line, column int) {
	if n == nil {
		return 0, 0
	}
	if t := n.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line, t.Position.Column
	}
	return 0, 0
}

func convert(name string, n ast.Node, depth int) (*node, error) {
	line, column := position(n)
	out := &node{line: line, column: column}
	if depth > maxDepth {
		return nil, positioned(name, n, "nested too deeply for a configuration")
	}
	switch n := n.(type) {
	case *ast.NullNode:
		out.kind = kindNull
	case *ast.BoolNode:
		out.kind, out.text = kindBool, fmt.Sprint(n.Value)
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		out.kind, out.text = kindNumber, n.GetToken().Value
	case *ast.StringNode:
		out.kind, out.text = kindString, n.Value
	case *ast.LiteralNode:
		out.kind = kindString
		if n.Value != nil {
			out.text = n.Value.Value
		}
	case *ast.SequenceNode:
		out.kind = kindList
		for _, v := range n.Values {
			item, err := convert(name, v, depth+1)
			if err != nil {
				return nil, err
			}
			out.items = append(out.items, item)
		}
	case *ast.MappingNode:
		out.kind = kindMap
		for _, v := range n.Values {
			if err := convertEntry(name, out, v, depth); err != nil {
				return nil, err
			}
		}
		if len(out.entries) > 0 {
			out.line, out.column = out.entries[0].line, out.entries[0].column
		}
	case *ast.MappingValueNode:
		out.kind = kindMap
		if err := convertEntry(name, out, n, depth); err != nil {
			return nil, err
		}
		out.line, out.column = out.entries[0].line, out.entries[0].column
	case *ast.AnchorNode, *ast.AliasNode, *ast.MergeKeyNode:
		return nil, positioned(name, n, "anchors, aliases and merge keys are not read here; write the value out")
	case *ast.TagNode:
		return nil, positioned(name, n, "tags (!name) are not read here; write the plain value")
	case nil:
		out.kind = kindNull
	default:
		return nil, positioned(name, n, "this form of YAML is not read here (%s)", n.Type())
	}
	return out, nil
}

func convertEntry(name string, out *node, v *ast.MappingValueNode, depth int) error {
	key, ok := v.Key.(ast.Node)
	if !ok || key == nil {
		return positioned(name, v, "a key is missing")
	}
	keyNode, err := convert(name, key, depth+1)
	if err != nil {
		return err
	}
	if keyNode.kind == kindList || keyNode.kind == kindMap || keyNode.kind == kindNull {
		return positioned(name, key, "a key must be text")
	}
	for _, e := range out.entries {
		if e.key == keyNode.text {
			return positioned(name, key, "%q is given twice; the first is in line %d", keyNode.text, e.line)
		}
	}
	value, err := convert(name, v.Value, depth+1)
	if err != nil {
		return err
	}
	if value.line == 0 {
		value.line, value.column = keyNode.line, keyNode.column
	}
	out.entries = append(out.entries, entry{key: keyNode.text, line: keyNode.line, column: keyNode.column, value: value})
	return nil
}
