package schema

import (
	"strconv"
	"strings"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Validator checks values against one schema of the enforced subset. It is
// immutable and safe for concurrent use.
type Validator struct {
	root *node
}

// Validate returns every violation of v in order (rules R9.4 and R10.3): of an
// object first the missing required properties, then the violations of its
// properties in schema order, then undeclared keys. Paths begin with label, as
// in label.a[2]. nil means v is valid. A valid value costs no allocation.
func (val *Validator) Validate(v jsonvalue.Value, label string) []string {
	return validate(val.root, v, label, label)
}

// ParamsValidator checks a typed tool's arguments. It is immutable and safe
// for concurrent use.
type ParamsValidator struct {
	root   *node
	schema jsonvalue.Value
}

// CompileParams converts p once for any number of validations. The error is
// that of [Params.JSONSchema].
func CompileParams(p Params) (*ParamsValidator, error) {
	s, err := p.JSONSchema()
	if err != nil {
		return nil, err
	}
	n, err := compileSubset(s, false)
	if err != nil {
		return nil, err
	}
	return &ParamsValidator{root: n, schema: s}, nil
}

// JSONSchema returns the JSON Schema of the parameters.
func (p *ParamsValidator) JSONSchema() jsonvalue.Value { return p.schema }

// ValidateArgs returns every violation in the order of [Validator.Validate];
// the root is called "arguments" and left out of the paths below it (rule
// R9.4). Extra keys pass unless their object is closed, defaults are not
// applied, and an explicit null is present.
func (p *ParamsValidator) ValidateArgs(args jsonvalue.Value) []string {
	return validate(p.root, args, "arguments", "")
}

// Check is ValidateArgs as an error: nil or an *[ArgsError].
func (p *ParamsValidator) Check(args jsonvalue.Value) error {
	if v := p.ValidateArgs(args); v != nil {
		return &ArgsError{Violations: v}
	}
	return nil
}

// run is one validation. It walks with its own stack, so that the depth of a
// value is bounded by memory alone (rule R10.4).
type run struct {
	root   string // what the value itself is called
	prefix string // what paths below it begin with
	stack  []frame
	unions []int // positions of the open union frames in stack
	out    list
}

type frame struct {
	node    *node
	value   jsonvalue.Value
	next    int // the property, element or branch to visit next
	matched int // branches of a union that matched, or properties found, so far
}

var runs = sync.Pool{New: func() any { return &run{stack: make([]frame, 0, 16)} }}

func validate(n *node, v jsonvalue.Value, root, prefix string) []string {
	r := runs.Get().(*run)
	r.root, r.prefix = root, prefix
	r.walk(n, v)
	out := r.out.texts
	if cap(r.stack) <= 1024 {
		clear(r.stack[:cap(r.stack)]) // keep the room, not the values
		*r = run{stack: r.stack[:0], unions: r.unions[:0]}
		runs.Put(r)
	}
	return out
}

func (r *run) walk(n *node, v jsonvalue.Value) {
	r.visit(n, v)
	for len(r.stack) > 0 {
		f := &r.stack[len(r.stack)-1]
		switch f.node.kind {
		case objectNode:
			r.object(f)
		case arrayNode:
			r.array(f)
		default:
			r.union(f)
		}
	}
}

// visit checks v alone, and opens a frame when there is more to look at. It
// reports whether the walk must go back to the loop: a frame was opened, or a
// failure inside a union has unwound the stack.
func (r *run) visit(n *node, v jsonvalue.Value) (yield bool) {
	if fail := n.check(v); fail != "" {
		return r.report("", fail, "")
	}
	if !n.entersValue() {
		return false
	}
	if n.kind == unionNode {
		r.unions = append(r.unions, len(r.stack))
	}
	r.stack = append(r.stack, frame{node: n, value: v})
	if n.kind == objectNode {
		// Missing properties come before anything below.
		for i, name := range n.required {
			if v.IndexOfNear(name, i) < 0 && r.report("missing required property ", "", name) {
				break
			}
		}
	}
	return true
}

func (r *run) object(f *frame) {
	n, v := f.node, f.value
	for f.next < len(n.props) {
		p := &n.props[f.next]
		i := v.IndexOfNear(p.name, f.next)
		f.next++
		if i < 0 {
			continue
		}
		f.matched++
		if p.node.kind != anyNode && r.visit(p.node, v.At(i)) {
			return
		}
	}
	if n.closed && f.matched < v.Len() {
		f.next = len(n.props) + 1 // the path now ends in what report is told
		for i := range v.Len() {
			if key := v.KeyAt(i); !n.declares(key) && r.report("", " is not a declared property (additionalProperties: false)", key) {
				return
			}
		}
	}
	r.pop()
}

func (r *run) array(f *frame) {
	items := f.node.items
	for f.next < f.value.Len() {
		f.next++
		if r.visit(items, f.value.At(f.next-1)) {
			return
		}
	}
	r.pop()
}

func (r *run) union(f *frame) {
	for f.next < len(f.node.branches) {
		b := f.node.branches[f.next]
		f.next++
		if b.check(f.value) != "" {
			continue
		}
		if !b.entersValue() {
			f.matched++
			continue
		}
		r.visit(b, f.value)
		return
	}
	matched := f.matched
	r.unions = r.unions[:len(r.unions)-1]
	r.stack = r.stack[:len(r.stack)-1]
	if matched == 1 {
		r.closed()
		return
	}
	r.report("", " must match exactly one oneOf branch (matched "+strconv.Itoa(matched)+")", "")
}

// pop closes the innermost frame, which found no fault below a union.
func (r *run) pop() {
	r.stack = r.stack[:len(r.stack)-1]
	r.closed()
}

// closed tells a union whose branch was just finished that it matched.
func (r *run) closed() {
	if k := len(r.stack); k > 0 && r.stack[k-1].node.kind == unionNode {
		r.stack[k-1].matched++
	}
}

// report records a violation at the current position, with key below it when
// not "". Inside a union it only rules out the branch: the stack is unwound to
// the union, and the caller must return to the loop. So it is when the list is
// full, with nothing left on the stack.
func (r *run) report(before, after, key string) (unwound bool) {
	if k := len(r.unions); k > 0 {
		r.stack = r.stack[:r.unions[k-1]+1]
		return true
	}
	var b strings.Builder
	b.WriteString(before)
	b.WriteByte('"')
	b.WriteString(r.path(key, before != "" || key != ""))
	b.WriteByte('"')
	b.WriteString(after)
	r.out.add(b.String())
	if r.out.full {
		r.stack = r.stack[:0] // nothing more will be said
	}
	return r.out.full
}

func (r *run) path(key string, hasKey bool) string {
	b := []byte(r.prefix)
	below := false // b names something below the root, if only ""
	dot := func(name string) {
		if len(b) > 0 || below {
			b = append(b, '.')
		}
		b = append(b, name...)
		below = true
	}
	for i := range r.stack {
		f := &r.stack[i]
		switch {
		case f.node.kind == arrayNode:
			b = append(b, '[')
			b = strconv.AppendInt(b, int64(f.next-1), 10)
			b = append(b, ']')
		case f.node.kind == objectNode && f.next > 0 && f.next <= len(f.node.props):
			dot(f.node.props[f.next-1].name)
		}
	}
	if hasKey {
		dot(key)
	}
	if len(b) == 0 && !below {
		return r.root
	}
	return string(b)
}
