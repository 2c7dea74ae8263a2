package sdk

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// invalidRef stands for a reference that is not a string; nothing resolves it.
const invalidRef = "\x00"

// What references may add to one type. A schema in which every definition
// mentions the next one twice doubles with each level; after this much the
// remaining references print as JsonValue.
const (
	maxRefNodes = 4_000
	maxRefBytes = 64 << 10
)

// maxAnchorNodes bounds the walk that looks for named subschemas.
const maxAnchorNodes = 100_000

// resolver finds the targets of references within one schema document. It
// never leaves the document: what a server names elsewhere stays unknown.
type resolver struct {
	root    jsonvalue.Value
	found   map[string]jsonvalue.Value // Undefined: known not to resolve
	anchors map[string]jsonvalue.Value // built when a name is first asked for
	active  []string                   // references being printed, outermost first
	nodes   int                        // schema nodes visited through references
	bytes   int                        // text printed by references that ended
	begin   int                        // where the outermost active one began
}

// resolve returns the schema a reference points at.
func (r *resolver) resolve(ref string) (jsonvalue.Value, bool) {
	if ref == "#" {
		return r.root, true
	}
	if v, ok := r.found[ref]; ok {
		return v, !v.IsUndefined()
	}
	v := r.lookup(ref)
	if r.found == nil {
		r.found = make(map[string]jsonvalue.Value)
	}
	r.found[ref] = v
	return v, !v.IsUndefined()
}

func (r *resolver) lookup(ref string) jsonvalue.Value {
	if ref == invalidRef {
		return jsonvalue.Value{}
	}
	base, fragment, _ := strings.Cut(ref, "#")
	from := r.root
	if base != "" && base != r.root.GetString("$id") {
		from = r.named(base)
	}
	switch {
	case from.IsUndefined() || fragment == "":
		return from
	case strings.HasPrefix(fragment, "/"):
		return pointer(from, fragment)
	default:
		return r.named("#" + fragment)
	}
}

// pointer walks a JSON Pointer in its URI fragment form.
func pointer(v jsonvalue.Value, fragment string) jsonvalue.Value {
	if text, err := url.PathUnescape(fragment); err == nil {
		fragment = text
	}
	for token := range strings.SplitSeq(fragment[1:], "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		if v.Kind() != jsonvalue.ArrayKind {
			v = v.Get(token)
			continue
		}
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= v.Len() {
			return jsonvalue.Value{}
		}
		v = v.At(i)
	}
	return v
}

// named returns the subschema that carries an $id or anchor.
func (r *resolver) named(name string) jsonvalue.Value {
	if r.anchors == nil {
		r.anchors = make(map[string]jsonvalue.Value)
		r.index()
	}
	return r.anchors[name]
}

// index collects every $id, $anchor and $dynamicAnchor, the first of a name
// winning. It walks with its own stack, so depth costs no goroutine stack.
func (r *resolver) index() {
	stack := []jsonvalue.Value{r.root}
	for seen := 0; len(stack) > 0 && seen < maxAnchorNodes; seen++ {
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		var children []jsonvalue.Value
		switch v.Kind() {
		case jsonvalue.ObjectKind:
			for name, x := range v.Members() {
				s, _ := x.Str()
				switch {
				case s == "":
					children = append(children, x)
				case name == "$id" || name == "id":
					r.name(s, v)
				case name == "$anchor" || name == "$dynamicAnchor":
					r.name("#"+s, v)
				}
			}
		case jsonvalue.ArrayKind:
			for _, x := range v.Elements() {
				children = append(children, x)
			}
		}
		slices.Reverse(children) // the stack hands them out in order
		stack = append(stack, children...)
	}
}

func (r *resolver) name(name string, v jsonvalue.Value) {
	if _, taken := r.anchors[name]; !taken {
		r.anchors[name] = v
	}
}

// enter notes that a reference is being printed, its text starting at the given
// offset. It refuses one that is being printed already, and any reference once
// they have added as much as they may.
func (r *resolver) enter(ref string, at int) bool {
	added := r.bytes
	if len(r.active) > 0 {
		added += at - r.begin
	}
	if ref == "#" || added > maxRefBytes || r.nodes > maxRefNodes || slices.Contains(r.active, ref) {
		return false
	}
	if len(r.active) == 0 {
		r.begin = at
	}
	r.active = append(r.active, ref)
	return true
}

// leave ends the innermost reference, whose text ends at the given offset.
func (r *resolver) leave(at int) {
	r.active = r.active[:len(r.active)-1]
	if len(r.active) == 0 {
		r.bytes += at - r.begin
	}
}
