package protocol

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
)

// decoder reads one JSON object member by member. The first fault is kept and
// names its member by path; what is read after it is of no use but safe. The
// decoders of the objects inside share the fault.
//
// Reading by hand is what makes the faults precise: which member, and whether
// it is missing or of the wrong type. It is also strict about letter case,
// which struct decoding is not. Unknown members are ignored.
type decoder struct {
	path    string // "" at the root, else ends before the dot
	members map[string]json.RawMessage
	first   **Error
}

// decodeParams starts on the parameters of a method. Absent parameters are an
// empty object, so that the fault of a method that needs some names them.
func decodeParams(params json.RawMessage) *decoder {
	var fault *Error
	d := &decoder{first: &fault}
	if len(params) == 0 || string(params) == "null" {
		return d
	}
	if params[0] != '{' || json.Unmarshal(params, &d.members) != nil {
		d.fail("", "params must be an object")
	}
	return d
}

func (d *decoder) fault() *Error { return *d.first }

func (d *decoder) fail(field, why string) {
	switch {
	case *d.first != nil:
	case field == "":
		*d.first = InvalidParams("", why)
	default:
		*d.first = badParam(field, field+" "+why)
	}
}

func (d *decoder) at(key string) string {
	if d.path == "" {
		return key
	}
	return d.path + "." + key
}

func (d *decoder) missing(key string)         { d.fail(d.at(key), "is required") }
func (d *decoder) wrongType(key, want string) { d.fail(d.at(key), "must be "+want) }

// raw gives a member's text, nil when absent or null.
func (d *decoder) raw(key string) json.RawMessage {
	if v := d.members[key]; string(v) != "null" {
		return v
	}
	return nil
}

// str reads a required string.
func (d *decoder) str(key string) string {
	if d.raw(key) == nil {
		d.missing(key)
		return ""
	}
	s, _ := d.optStr(key)
	return s
}

// optStr reads a string that may be absent or null.
func (d *decoder) optStr(key string) (string, bool) {
	raw := d.raw(key)
	if raw == nil {
		return "", false
	}
	var s string
	if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		d.wrongType(key, "a string")
		return "", false
	}
	return s, true
}

func (d *decoder) optStrPtr(key string) *string {
	if s, ok := d.optStr(key); ok {
		return &s
	}
	return nil
}

// absPath reads a required absolute path.
func (d *decoder) absPath(key string) string {
	s := d.str(key)
	if *d.first == nil && !filepath.IsAbs(s) {
		d.wrongType(key, "an absolute path")
	}
	return s
}

// boolean reads a required truth value.
func (d *decoder) boolean(key string) bool {
	switch raw := d.raw(key); string(raw) {
	case "true":
		return true
	case "false":
	case "":
		d.missing(key)
	default:
		d.wrongType(key, "true or false")
	}
	return false
}

// integer reads an integer between lo and hi that may be absent or null. An
// integer written as 1.0 counts.
func (d *decoder) integer(key string, lo, hi int64) (int64, bool) {
	raw := d.raw(key)
	if raw == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(string(raw), 64)
		if ferr != nil || f != float64(int64(f)) {
			d.wrongType(key, "an integer")
			return 0, false
		}
		n = int64(f)
	}
	if n < lo || n > hi {
		d.fail(d.at(key), "must be between "+strconv.FormatInt(lo, 10)+" and "+strconv.FormatInt(hi, 10))
		return 0, false
	}
	return n, true
}

// object reads an object that may be absent or null; nil then.
func (d *decoder) object(key string) *decoder {
	raw := d.raw(key)
	if raw == nil {
		return nil
	}
	sub := &decoder{path: d.at(key), first: d.first}
	if raw[0] != '{' || json.Unmarshal(raw, &sub.members) != nil {
		d.wrongType(key, "an object")
	}
	return sub
}

// need reads a required object.
func (d *decoder) need(key string) *decoder {
	sub := d.object(key)
	if sub == nil {
		d.missing(key)
		return &decoder{path: d.at(key), first: d.first}
	}
	return sub
}

// items reads an array that may be absent or null, as raw texts.
func (d *decoder) items(key string) []json.RawMessage {
	raw := d.raw(key)
	if raw == nil {
		return nil
	}
	var list []json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &list) != nil {
		d.wrongType(key, "an array")
	}
	return list
}

// objects calls f for each object of an array that may be absent or null.
func (d *decoder) objects(key string, f func(*decoder)) {
	for i, raw := range d.items(key) {
		sub := &decoder{path: d.at(key) + "[" + strconv.Itoa(i) + "]", first: d.first}
		if raw[0] != '{' || json.Unmarshal(raw, &sub.members) != nil {
			d.fail(sub.path, "must be an object")
		}
		if *d.first != nil {
			return
		}
		f(sub)
	}
}

// strs reads an array of strings that may be absent or null.
func (d *decoder) strs(key string) []string {
	var list []string
	for i, raw := range d.items(key) {
		var s string
		if raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
			d.fail(d.at(key)+"["+strconv.Itoa(i)+"]", "must be a string")
			return nil
		}
		list = append(list, s)
	}
	return list
}

// absPaths reads an array of absolute paths that may be absent or null.
func (d *decoder) absPaths(key string) []string {
	list := d.strs(key)
	for i, p := range list {
		if !filepath.IsAbs(p) {
			d.fail(d.at(key)+"["+strconv.Itoa(i)+"]", "must be an absolute path")
		}
	}
	return list
}

// meta reads _meta. It is free-form, so one that is no object is no fault.
func (d *decoder) meta() Meta {
	var m Meta
	if raw := d.raw("_meta"); raw != nil && json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return m
}

// flag reads a capability: true, and nothing else, means yes.
func (d *decoder) flag(key string) bool { return d != nil && string(d.members[key]) == "true" }

// marker reads a capability that is an object: any object means yes.
func (d *decoder) marker(key string) bool {
	return d != nil && strings.HasPrefix(string(d.members[key]), "{")
}

// part reads an object of capabilities; whatever else stands there means none.
func (d *decoder) part(key string) *decoder {
	if !d.marker(key) {
		return nil
	}
	return d.object(key)
}

// Meta is the _meta member that every object of ACP may carry: the only place
// for what the protocol does not define.
type Meta map[string]json.RawMessage

// Bool reports whether the entry is true.
func (m Meta) Bool(key string) bool { return string(m[key]) == "true" }

// NewMeta makes a Meta with one entry; ok values are those with a JSON form,
// any other is left out.
func NewMeta(key string, value any) Meta { return Meta{}.With(key, value) }

// With returns a copy with one more entry. A value without a JSON form is left
// out.
func (m Meta) With(key string, value any) Meta {
	c := make(Meta, len(m)+1)
	for k, v := range m {
		c[k] = v
	}
	if b, err := encode(value); err == nil {
		c[key] = b
	}
	return c
}
