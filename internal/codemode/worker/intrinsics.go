package worker

import (
	"reflect"

	"github.com/dop251/goja"
)

// intrinsics are the parts of the language that the engine itself relies on,
// taken before the program can change them.
type intrinsics struct {
	objectProto, arrayProto, promiseProto, mapProto, setProto *goja.Object
	weakMapProto, weakSetProto, typedProto, bufferProto       *goja.Object
	yes, no, empty                                            goja.Value

	ownDescriptor                    goja.Callable
	mapEach, setEach                 func(this goja.Value, args ...goja.Value) (goja.Value, error)
	functionToString, regexpToString func(this goja.Value, args ...goja.Value) (goja.Value, error)
	dateToISO                        func(this goja.Value, args ...goja.Value) (goja.Value, error)
	primitives                       map[string]goja.Callable // valueOf by class

	toolCallError, syntaxError *goja.Object
}

// capture takes the intrinsics from a fresh VM.
func (in *intrinsics) capture(vm *goja.Runtime) {
	object := func(path ...string) *goja.Object {
		o := vm.GlobalObject()
		for _, name := range path {
			o = o.Get(name).(*goja.Object)
		}
		return o
	}
	callable := func(path ...string) goja.Callable {
		f, _ := goja.AssertFunction(object(path...))
		return f
	}
	in.objectProto = object("Object", "prototype")
	in.arrayProto = object("Array", "prototype")
	in.promiseProto = object("Promise", "prototype")
	in.mapProto = object("Map", "prototype")
	in.setProto = object("Set", "prototype")
	in.weakMapProto = object("WeakMap", "prototype")
	in.weakSetProto = object("WeakSet", "prototype")
	in.typedProto = object("Uint8Array").Prototype().Get("prototype").(*goja.Object)
	in.bufferProto = object("ArrayBuffer", "prototype")
	in.yes, in.no, in.empty = vm.ToValue(true), vm.ToValue(false), vm.ToValue("")
	in.syntaxError = object("SyntaxError")
	in.ownDescriptor = callable("Object", "getOwnPropertyDescriptor")
	in.mapEach = callable("Map", "prototype", "forEach")
	in.setEach = callable("Set", "prototype", "forEach")
	in.functionToString = callable("Function", "prototype", "toString")
	in.regexpToString = callable("RegExp", "prototype", "toString")
	in.dateToISO = callable("Date", "prototype", "toISOString")
	in.primitives = map[string]goja.Callable{
		"Number":  callable("Number", "prototype", "valueOf"),
		"String":  callable("String", "prototype", "valueOf"),
		"Boolean": callable("Boolean", "prototype", "valueOf"),
	}
}

// descriptor is an own property, seen without running a getter. value is nil
// for an accessor.
type descriptor struct {
	value    goja.Value
	get, set bool
}

func (e *Engine) descriptor(o *goja.Object, key string) (descriptor, bool) {
	return e.describe(o, e.vm.ToValue(key))
}

func (e *Engine) describe(o *goja.Object, key goja.Value) (descriptor, bool) {
	v, err := e.intrinsics.ownDescriptor(goja.Undefined(), o, key)
	d, ok := v.(*goja.Object)
	if err != nil || !ok {
		return descriptor{}, false
	}
	isSet := func(name string) bool {
		v := d.Get(name)
		return v != nil && !goja.IsUndefined(v)
	}
	if isSet("get") || isSet("set") {
		return descriptor{get: isSet("get"), set: isSet("set")}, true
	}
	out := descriptor{value: d.Get("value")}
	if out.value == nil {
		out.value = goja.Undefined()
	}
	return out, true
}

func (e *Engine) owns(o *goja.Object, key string) bool {
	_, ok := e.descriptor(o, key)
	return ok
}

// symbolValue is the plain value of an own property named by a symbol.
func (e *Engine) symbolValue(o *goja.Object, s *goja.Symbol) (goja.Value, bool) {
	d, ok := e.describe(o, s)
	return d.value, ok && d.value != nil
}

// symbolData is symbolValue for text.
func (e *Engine) symbolData(o *goja.Object, s *goja.Symbol) (string, bool) {
	v, ok := e.symbolValue(o, s)
	if !ok {
		return "", false
	}
	text, ok := v.(goja.String)
	if !ok {
		return "", false
	}
	return text.String(), true
}

// kind tells the built-in objects apart that goja gives no class of their own.
type kind int

const (
	kindOther kind = iota
	kindPromise
	kindMap
	kindSet
	kindWeak
	kindTyped
	kindBuffer
)

var promiseType = reflect.TypeFor[*goja.Promise]()

func (e *Engine) kind(o *goja.Object) kind {
	in := &e.intrinsics
	for p := o.Prototype(); p != nil; p = p.Prototype() {
		switch p {
		case in.promiseProto:
			if o.ExportType() == promiseType {
				return kindPromise
			}
		case in.mapProto:
			return kindMap
		case in.setProto:
			return kindSet
		case in.weakMapProto, in.weakSetProto:
			return kindWeak
		case in.typedProto:
			return kindTyped
		case in.bufferProto:
			return kindBuffer
		}
	}
	return kindOther
}

// primitive is what a boxed value holds.
func (e *Engine) primitive(o *goja.Object) goja.Value {
	if f := e.intrinsics.primitives[o.ClassName()]; f != nil {
		if v, err := f(o); err == nil {
			return v
		}
	}
	return goja.Undefined()
}

// each visits a Map or a Set by its own intrinsic forEach.
func (e *Engine) each(forEach goja.Callable, o *goja.Object, visit func(value, key goja.Value)) {
	_, _ = forEach(o, e.vm.ToValue(func(call goja.FunctionCall) goja.Value {
		visit(call.Argument(0), call.Argument(1))
		return goja.Undefined()
	}))
}

func bufferBytes(o *goja.Object) []byte {
	if b, ok := o.Export().(goja.ArrayBuffer); ok {
		return b.Bytes()
	}
	return nil
}
