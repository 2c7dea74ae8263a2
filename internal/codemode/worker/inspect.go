package worker

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/dop251/goja"

	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
)

// Limits of what the console shows of a value (C7.2). Text passed directly is
// shown whole.
const (
	inspectDepth  = 4
	inspectItems  = 100
	inspectString = 10_000
	inspectWidth  = 80
	inspectNested = 3       // levels that may share one line
	inspectTotal  = 4 << 20 // bytes after which nothing more is added
)

// inspector shows values the way Node's console does. Getters are not run.
type inspector struct {
	e     *Engine
	open  []*goja.Object
	refs  map[*goja.Object]int // objects met again inside themselves, numbered
	level int                  // the depth of the object formatted last
	lead  int                  // columns of indentation
	size  int
}

// inspect shows a value inside a container: text in quotes.
func (c *console) inspect(v goja.Value) string {
	p := &inspector{e: c.e}
	var text string
	if ex := c.e.vm.Try(func() { text = p.value(v, 0) }); ex != nil {
		// An object that only pretends to be built in; its own methods would
		// have to be asked.
		if o, ok := v.(*goja.Object); ok {
			return "[" + o.ClassName() + "]"
		}
	}
	return text
}

func (p *inspector) value(v goja.Value, depth int) string {
	switch v := v.(type) {
	case nil:
		return "undefined"
	case *goja.Object:
		return p.object(v, depth)
	case goja.String:
		return p.text(v.String())
	case *goja.Symbol:
		return symbolText(v)
	}
	if goja.IsBigInt(v) {
		return v.String() + "n"
	}
	if f, ok := v.Export().(float64); ok && f == 0 && math.Signbit(f) {
		return "-0"
	}
	return v.String()
}

func symbolText(s *goja.Symbol) string { return "Symbol(" + s.String() + ")" }

// text quotes a string with the quote that needs the least escaping.
func (p *inspector) text(s string) string {
	more := ""
	if n := utf8.RuneCountInString(s); n > inspectString {
		cut := 0
		for range inspectString {
			_, w := utf8.DecodeRuneInString(s[cut:])
			cut += w
		}
		more = fmt.Sprintf("... %d more character%s", n-inspectString, plural(n-inspectString))
		s = s[:cut]
	}
	quote := byte('\'')
	if strings.Contains(s, "'") {
		if !strings.Contains(s, `"`) {
			quote = '"'
		} else if !strings.Contains(s, "`") && !strings.Contains(s, "${") {
			quote = '`'
		}
	}
	var b strings.Builder
	b.WriteByte(quote)
	for _, r := range s {
		switch {
		case r == rune(quote) || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r == '\v':
			b.WriteString(`\v`)
		case r < 0x20 || r >= 0x7F && r < 0xA0:
			fmt.Fprintf(&b, `\x%02X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte(quote)
	return b.String() + more
}

func plural(n int) string {
	if n == 1 {
		return ""
	}
	return "s"
}

// shape is how one object is laid out.
type shape struct {
	base        string // what stands before the brace: a function, a date, an error
	open, close string
	entries     []string
	more        bool // the last entry counts what is left out
	array       bool
	numbers     bool
}

func (p *inspector) object(o *goja.Object, depth int) string {
	for _, seen := range p.open {
		if seen == o {
			if p.refs == nil {
				p.refs = map[*goja.Object]int{}
			}
			if p.refs[o] == 0 {
				p.refs[o] = len(p.refs) + 1
			}
			return fmt.Sprintf("[Circular *%d]", p.refs[o])
		}
	}
	if depth > inspectDepth || p.size > inspectTotal {
		name := p.className(o)
		if o.ClassName() == "Array" {
			name = "Array"
		}
		if name == "" {
			name = "Object: null prototype"
		}
		return "[" + name + "]"
	}
	p.level = depth
	p.open = append(p.open, o)
	s := p.shape(o, depth)
	p.open = p.open[:len(p.open)-1]
	out := p.layout(s, depth)
	if n := p.refs[o]; n > 0 {
		out = fmt.Sprintf("<ref *%d> ", n) + out
	}
	p.size += len(out)
	return out
}

// className is the name of the object's constructor as its prototypes say, ""
// for an object without prototype.
func (p *inspector) className(o *goja.Object) string {
	for proto := o; proto != nil; proto = proto.Prototype() {
		if proto == o && proto.Prototype() != nil && !p.e.owns(proto, "constructor") {
			continue
		}
		if d, ok := p.e.descriptor(proto, "constructor"); ok && d.value != nil {
			if c, ok := d.value.(*goja.Object); ok {
				if n, ok := p.e.descriptor(c, "name"); ok && n.value != nil {
					if name := n.value.String(); name != "" {
						return name
					}
				}
			}
		}
	}
	return ""
}

func (p *inspector) shape(o *goja.Object, depth int) *shape {
	class, name := o.ClassName(), p.className(o)
	prefix := ""
	if name == "Iterator" && p.tag(o) != "" {
		name = "Object" // the iterators and generators of the language
	}
	switch {
	case class == "Arguments":
		prefix = "[Arguments] "
	case name == "":
		prefix = fmt.Sprintf("[%s: null prototype] ", class)
	case name != "Object":
		prefix = name + " "
	}
	s := &shape{open: prefix + "{", close: "}"}
	skip := ""
	switch exported := p.e.kind(o); {
	case class == "Array":
		p.arrayShape(s, o, name, depth)
		return s
	case callable(o):
		s.base = p.functionText(o, name)
		s.open = "{"
	case class == "RegExp":
		s.base, s.open = p.safe(o), "{"
	case class == "Date":
		s.base, s.open = p.dateText(o), "{"
	case class == "Error":
		s.base, s.open = p.errorText(o), "{"
		skip = "stack message"
	case class == "Number" || class == "String" || class == "Boolean":
		v := p.value(p.e.primitive(o), 0)
		s.base, s.open = "["+class+": "+v+"]", "{"
		if class == "String" {
			return s
		}
	case exported == kindPromise:
		p.promiseShape(s, o, depth)
	case exported == kindMap:
		p.mapShape(s, o, name, depth)
	case exported == kindSet:
		p.setShape(s, o, name, depth)
	case exported == kindTyped:
		p.typedShape(s, o, name, depth)
		return s
	case exported == kindBuffer:
		s.entries = append(s.entries, fmt.Sprintf("byteLength: %d", len(bufferBytes(o))))
	case exported == kindWeak:
		s.entries = append(s.entries, "<items unknown>")
	default:
		if tag := p.tag(o); tag != "" && tag != name {
			if prefix == "" {
				prefix = "Object "
			}
			s.open = prefix + "[" + tag + "] {"
		}
	}
	p.properties(s, o, depth, skip)
	return s
}

// tag is the object's Symbol.toStringTag if it is plain data.
func (p *inspector) tag(o *goja.Object) string {
	for proto := o; proto != nil; proto = proto.Prototype() {
		if v, ok := p.e.symbolData(proto, goja.SymToStringTag); ok {
			return v
		}
	}
	return ""
}

func (p *inspector) arrayShape(s *shape, o *goja.Object, name string, depth int) {
	length := int(o.Get("length").ToInteger())
	s.array, s.open, s.close = true, "[", "]"
	if name != "Array" {
		s.open = fmt.Sprintf("%s(%d) [", name, length)
		if name == "" {
			s.open = fmt.Sprintf("[Array(%d): null prototype] [", length)
		}
	}
	s.numbers = true
	keys := o.Keys()
	k := 0 // position in keys: index keys come first, in order
	shown, i := 0, 0
	for i < length && shown < inspectItems {
		at := length
		if k < len(keys) {
			if n, err := strconv.Atoi(keys[k]); err == nil && n < length {
				at = n
			}
		}
		if at > i {
			s.entries = append(s.entries, fmt.Sprintf("<%d empty item%s>", at-i, plural(at-i)))
			s.numbers = false
			shown++
			i = at
			continue
		}
		s.entries = append(s.entries, p.member(o, keys[k], depth, &s.numbers))
		shown++
		k++
		i++
	}
	if i < length {
		s.entries = append(s.entries, fmt.Sprintf("... %d more item%s", length-i, plural(length-i)))
		s.more = true
	}
	for k < len(keys) {
		if n, err := strconv.Atoi(keys[k]); err == nil && n < length {
			k++
			continue
		}
		break
	}
	for ; k < len(keys); k++ {
		s.entries = append(s.entries, keyText(p, keys[k])+": "+p.member(o, keys[k], depth, nil))
	}
}

// member shows an own property's value, or that it is an accessor.
func (p *inspector) member(o *goja.Object, key string, depth int, numbers *bool) string {
	d, ok := p.e.descriptor(o, key)
	if !ok {
		return "undefined"
	}
	if numbers != nil && !goja.IsNumber(d.value) {
		*numbers = false
	}
	switch {
	case d.get && d.set:
		return "[Getter/Setter]"
	case d.get:
		return "[Getter]"
	case d.set:
		return "[Setter]"
	}
	p.lead += 2
	defer func() { p.lead -= 2 }()
	return p.value(d.value, depth+1)
}

func keyText(p *inspector, key string) string {
	if isIdentifier(key) {
		return key
	}
	return p.text(key)
}

func (p *inspector) properties(s *shape, o *goja.Object, depth int, skip string) {
	keys := o.Keys()
	for i, key := range keys {
		if skip != "" && strings.Contains(skip, key) {
			continue
		}
		if p.size > inspectTotal {
			s.entries = append(s.entries, fmt.Sprintf("... %d more", len(keys)-i))
			return
		}
		s.entries = append(s.entries, keyText(p, key)+": "+p.member(o, key, depth, nil))
	}
	for _, sym := range o.Symbols() {
		if v, ok := p.e.symbolValue(o, sym); ok {
			p.lead += 2
			s.entries = append(s.entries, "["+symbolText(sym)+"]: "+p.value(v, depth+1))
			p.lead -= 2
		}
	}
}

func callable(o *goja.Object) bool {
	_, ok := goja.AssertFunction(o)
	return ok
}

func (p *inspector) functionText(o *goja.Object, class string) string {
	source := p.safe(o)
	name := ""
	if d, ok := p.e.descriptor(o, "name"); ok && d.value != nil {
		name = d.value.String()
	}
	if strings.HasPrefix(source, "class") {
		text := "[class " + name
		if name == "" {
			text = "[class (anonymous)"
		}
		if parent := o.Prototype(); parent != nil {
			if d, ok := p.e.descriptor(parent, "name"); ok && d.value != nil && d.value.String() != "" {
				text += " extends " + d.value.String()
			}
		}
		return text + "]"
	}
	switch class {
	case "AsyncFunction", "GeneratorFunction", "AsyncGeneratorFunction":
	default:
		class = "Function"
		if strings.HasPrefix(source, "async") {
			class = "AsyncFunction"
		}
	}
	if name == "" {
		return "[" + class + " (anonymous)]"
	}
	return "[" + class + ": " + name + "]"
}

// safe is the object's string form by the intrinsics, not by its own methods.
func (p *inspector) safe(o *goja.Object) string {
	in := &p.e.intrinsics
	f := in.functionToString
	if o.ClassName() == "RegExp" {
		f = in.regexpToString
	}
	v, err := f(o)
	if err != nil {
		return "[" + o.ClassName() + "]"
	}
	return v.String()
}

func (p *inspector) dateText(o *goja.Object) string {
	v, err := p.e.intrinsics.dateToISO(o)
	if err != nil {
		return "Invalid Date"
	}
	return v.String()
}

var stackSuffix = lazyregexp.New(`(?m)(code\.ts:\d+:\d+)\(\d+\)`)

// errorText is an error as its stack tells it, in the model's positions; without
// a stack in brackets.
func (p *inspector) errorText(o *goja.Object) string {
	name, message := "Error", ""
	if v := p.data(o, "name"); v != "" {
		name = v
	}
	message = p.data(o, "message")
	head := name
	if message != "" {
		head += ": " + message
	}
	d, ok := p.e.descriptor(o, "stack")
	if !ok {
		return "[" + head + "]"
	}
	stack := ""
	if d.value != nil {
		stack = d.value.String()
	} else if d.get {
		if v := o.Get("stack"); v != nil {
			stack = v.String()
		}
	}
	frames := framesOfText(stack)
	if len(frames) == 0 {
		return "[" + head + "]"
	}
	for _, f := range frames {
		if f.Function == "" {
			head += fmt.Sprintf("\n    at %s:%d:%d", sourcefile, f.At.Line, f.At.Column)
		} else {
			head += fmt.Sprintf("\n    at %s (%s:%d:%d)", f.Function, sourcefile, f.At.Line, f.At.Column)
		}
	}
	if p.lead > 0 {
		head = strings.ReplaceAll(head, "\n", "\n"+strings.Repeat(" ", p.lead))
	}
	return head
}

// data is a property's value as text, searched along the prototypes, if it is
// plain data.
func (p *inspector) data(o *goja.Object, key string) string {
	for proto := o; proto != nil; proto = proto.Prototype() {
		if d, ok := p.e.descriptor(proto, key); ok {
			if s, ok := d.value.(goja.String); ok {
				return s.String()
			}
			return ""
		}
	}
	return ""
}

func (p *inspector) promiseShape(s *shape, o *goja.Object, depth int) {
	promise, ok := o.Export().(*goja.Promise)
	if !ok {
		return
	}
	switch promise.State() {
	case goja.PromiseStatePending:
		s.entries = append(s.entries, "<pending>")
	case goja.PromiseStateFulfilled:
		s.entries = append(s.entries, p.nested(promise.Result(), depth))
	default:
		s.entries = append(s.entries, "<rejected> "+p.nested(promise.Result(), depth))
	}
}

func (p *inspector) nested(v goja.Value, depth int) string {
	p.lead += 2
	defer func() { p.lead -= 2 }()
	return p.value(v, depth+1)
}

func (p *inspector) mapShape(s *shape, o *goja.Object, name string, depth int) {
	n := 0
	p.e.each(p.e.intrinsics.mapEach, o, func(v, k goja.Value) {
		if n++; n <= inspectItems {
			s.entries = append(s.entries, p.nested(k, depth)+" => "+p.nested(v, depth))
		}
	})
	p.count(s, name, n)
}

func (p *inspector) setShape(s *shape, o *goja.Object, name string, depth int) {
	n := 0
	p.e.each(p.e.intrinsics.setEach, o, func(v, _ goja.Value) {
		if n++; n <= inspectItems {
			s.entries = append(s.entries, p.nested(v, depth))
		}
	})
	p.count(s, name, n)
}

func (p *inspector) count(s *shape, name string, n int) {
	s.open = fmt.Sprintf("%s(%d) {", name, n)
	if n > inspectItems {
		s.entries = append(s.entries, fmt.Sprintf("... %d more item%s", n-inspectItems, plural(n-inspectItems)))
		s.more = true
	}
}

func (p *inspector) typedShape(s *shape, o *goja.Object, name string, depth int) {
	length := int(o.Get("length").ToInteger())
	s.open, s.close, s.array, s.numbers = fmt.Sprintf("%s(%d) [", name, length), "]", true, true
	for i := range min(length, inspectItems) {
		s.entries = append(s.entries, p.value(o.Get(strconv.Itoa(i)), depth+1))
	}
	if length > inspectItems {
		s.entries = append(s.entries, fmt.Sprintf("... %d more item%s", length-inspectItems, plural(length-inspectItems)))
		s.more = true
	}
}

// layout puts the parts on one line if they fit, else one entry a line; long
// arrays go in columns.
func (p *inspector) layout(s *shape, depth int) string {
	base := s.base
	if len(s.entries) == 0 {
		if base != "" {
			return base
		}
		return s.open + s.close
	}
	if base != "" {
		base += " "
	}
	entries := s.entries
	if s.array && len(entries) > 6 {
		entries = p.columns(s)
	}
	if p.level-depth < inspectNested && len(entries) == len(s.entries) {
		start := len(entries) + p.lead + utf8.RuneCountInString(s.open) + utf8.RuneCountInString(s.base) + 10
		if total := start + len(entries); fits(entries, total) && !strings.Contains(s.base, "\n") {
			return base + s.open + " " + strings.Join(entries, ", ") + " " + s.close
		}
	}
	indent := "\n" + strings.Repeat(" ", p.lead)
	return base + s.open + indent + "  " + strings.Join(entries, ","+indent+"  ") + indent + s.close
}

func fits(entries []string, total int) bool {
	for _, e := range entries {
		if total += utf8.RuneCountInString(e); total > inspectWidth || strings.Contains(e, "\n") {
			return false
		}
	}
	return true
}

// columns joins the entries of a long array to lines of equally wide columns,
// roughly as wide as high on a screen.
func (p *inspector) columns(s *shape) []string {
	entries := s.entries
	n := len(entries)
	if s.more {
		n--
	}
	widths := make([]int, n)
	total, widest := 0, 0
	for i, e := range entries[:n] {
		if strings.Contains(e, "\n") {
			return entries
		}
		widths[i] = utf8.RuneCountInString(e)
		total += widths[i] + 2
		widest = max(widest, widths[i])
	}
	column := widest + 2
	if column*3+p.lead >= inspectWidth || float64(total)/float64(column) <= 5 && widest > 6 {
		return entries
	}
	bias := math.Sqrt(float64(column) - float64(total)/float64(len(entries)))
	biased := math.Max(float64(column)-3-bias, 1)
	if biased < 1 {
		biased = 1
	}
	count := min(
		int(math.Floor(math.Sqrt(2.5*biased*float64(n))/biased+0.5)),
		(inspectWidth-p.lead)/column,
		inspectNested*4,
		15,
	)
	if count <= 1 {
		return entries
	}
	max := make([]int, count)
	for i, w := range widths {
		if w+2 > max[i%count] {
			max[i%count] = w + 2
		}
	}
	var lines []string
	for i := 0; i < n; i += count {
		var b strings.Builder
		last := min(i+count, n) - 1
		for j := i; j <= last; j++ {
			cell, width := entries[j]+", ", max[j-i]
			if j == last {
				cell, width = entries[j], width-2
			}
			pad := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
			switch {
			case s.numbers:
				b.WriteString(pad + cell)
			case j == last:
				b.WriteString(cell)
			default:
				b.WriteString(cell + pad)
			}
		}
		lines = append(lines, b.String())
	}
	if s.more {
		lines = append(lines, entries[n])
	}
	return lines
}
