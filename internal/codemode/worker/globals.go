package worker

import (
	"crypto/rand"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
	"github.com/dop251/goja_nodejs/url"
)

// prelude supplies what a model expects beside the language that goja speaks.
// It is parsed once a process and run once a VM.
//
// core-js was tried first: the chosen modules are 43 KB, take 27 ms to compile
// and 3 ms a VM, which alone would be over the budget of a first run; these
// take a tenth.
//
//go:embed prelude.js
var preludeSource string

var prelude = sync.OnceValues(func() (*goja.Program, error) {
	return goja.Compile("prelude.js", preludeSource, true)
})

// prepare gives a fresh VM its globals.
func (e *Engine) prepare() error {
	vm := e.vm
	e.intrinsics.capture(vm)
	e.awaits.vm = vm
	vm.SetAsyncContextTracker(&e.awaits)
	vm.SetPromiseRejectionTracker(e.rejections.track)
	e.console.install(e)
	require := vm.ToValue(func(call goja.FunctionCall) goja.Value {
		panic(vm.NewTypeError("require and import are not available in a Code Mode program (%s): every effect is a call of a tool", call.Argument(0)))
	})
	_ = vm.GlobalObject().DefineDataProperty("require", require, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
	program, err := prelude()
	if err != nil {
		return err
	}
	value, err := vm.RunProgram(program)
	if err != nil {
		return err
	}
	install, ok := goja.AssertFunction(value)
	if !ok {
		return fmt.Errorf("the prelude is not a function")
	}
	out, err := install(goja.Undefined(), e.host())
	if err != nil {
		return err
	}
	e.intrinsics.toolCallError = out.(*goja.Object)
	e.lazyURL()
	if err := e.installParse(); err != nil {
		return err
	}
	helpers, err := e.textFunctions()
	if err != nil {
		return err
	}
	helpers[checkName] = vm.ToValue(e.checkCallable)
	return e.hide(helpers)
}

// host is what the prelude builds on: one object of Go functions.
func (e *Engine) host() *goja.Object {
	vm := e.vm
	h := vm.NewObject()
	set := func(name string, f func(call goja.FunctionCall) goja.Value) { _ = h.Set(name, f) }
	_ = h.Set("console", e.console.object)
	timer := func(repeat bool) func(goja.FunctionCall) goja.Value {
		return func(call goja.FunctionCall) goja.Value {
			f, ok := goja.AssertFunction(call.Argument(0))
			if !ok {
				panic(vm.NewTypeError("The callback of a timer must be a function"))
			}
			var args []goja.Value
			if len(call.Arguments) > 2 {
				args = append(args, call.Arguments[2:]...)
			}
			return vm.ToValue(e.timers.set(f, call.Argument(1).ToFloat(), repeat, args))
		}
	}
	set("setTimeout", timer(false))
	set("setInterval", timer(true))
	set("clearTimer", func(call goja.FunctionCall) goja.Value {
		e.timers.clear(call.Argument(0).ToInteger())
		return goja.Undefined()
	})
	set("now", func(goja.FunctionCall) goja.Value { return vm.ToValue(e.now()) })
	set("random", func(call goja.FunctionCall) goja.Value {
		b, ok := viewBytes(call.Argument(0))
		if !ok {
			panic(vm.NewTypeError("getRandomValues needs an integer typed array"))
		}
		_, _ = rand.Read(b)
		return call.Argument(0)
	})
	set("uuid", func(goja.FunctionCall) goja.Value { return vm.ToValue(uuid()) })
	set("encode", func(call goja.FunctionCall) goja.Value {
		text := strings.ToValidUTF8(call.Argument(0).String(), "\uFFFD")
		return vm.ToValue(vm.NewArrayBuffer([]byte(text)))
	})
	set("decode", func(call goja.FunctionCall) goja.Value {
		b, ok := viewBytes(call.Argument(0))
		if !ok {
			panic(vm.NewTypeError("TextDecoder.decode needs a buffer"))
		}
		text, err := decodeText(call.Argument(1).String(), b, call.Argument(2).ToBoolean())
		if err != nil {
			panic(vm.NewTypeError("%s", err.Error()))
		}
		return vm.ToValue(text)
	})
	set("btoa", func(call goja.FunctionCall) goja.Value {
		s, ok := latin1(call.Argument(0).ToString().(goja.String))
		if !ok {
			return goja.Null()
		}
		return vm.ToValue(base64.StdEncoding.EncodeToString(s))
	})
	set("atob", func(call goja.FunctionCall) goja.Value {
		s := strings.Map(func(r rune) rune {
			if strings.ContainsRune(" \t\n\f\r", r) {
				return -1
			}
			return r
		}, call.Argument(0).String())
		b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
		if err != nil || strings.HasSuffix(s, "===") {
			return goja.Null()
		}
		units := make([]uint16, len(b))
		for i, c := range b {
			units[i] = uint16(c)
		}
		return goja.StringFromUTF16(units)
	})
	set("ranges", func(call goja.FunctionCall) goja.Value { return vm.ToValue(propertyClass(call.Argument(0).String())) })
	set("indices", func(call goja.FunctionCall) goja.Value {
		input, ok := call.Argument(2).(goja.String)
		if !ok {
			return goja.Null()
		}
		return e.matchIndices(call.Argument(0).String(), call.Argument(1).String(), input, int(call.Argument(3).ToInteger()))
	})
	set("zone", func(call goja.FunctionCall) goja.Value { return e.zoneParts(call) })
	return h
}

// checkCallable is the helper that rewrite puts before a call of a name that is
// no tool: the object itself if it has such a member after all, else a stand-in
// whose member throws the usual error once its arguments are evaluated.
func (e *Engine) checkCallable(call goja.FunctionCall) goja.Value {
	vm := e.vm
	name := call.Argument(1).String()
	tools, ok := call.Argument(0).(*goja.Object)
	if !ok || e.tools == nil || tools != e.tools.object {
		return call.Argument(0) // another variable of this name
	}
	if v := tools.Get(name); v != nil && !goja.IsUndefined(v) {
		return tools
	}
	at := "." + name
	if !isIdentifier(name) {
		at = fmt.Sprintf("[%q]", name)
	}
	standIn := vm.CreateObject(nil)
	_ = standIn.Set(name, func(goja.FunctionCall) goja.Value {
		panic(vm.NewTypeError("tools%s is not a function", at))
	})
	return standIn
}

// lazyURL defines URL and URLSearchParams so that only a program that uses them
// pays for them.
func (e *Engine) lazyURL() {
	vm := e.vm
	var exports *goja.Object
	for _, name := range []string{"URL", "URLSearchParams"} {
		define := func(v goja.Value) {
			_ = vm.GlobalObject().DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		}
		getter := vm.ToValue(func(goja.FunctionCall) goja.Value {
			if exports == nil {
				module := vm.NewObject()
				exports = vm.NewObject()
				_ = module.Set("exports", exports)
				url.Require(vm, module)
				if fix, err := vm.RunProgram(fixURL()); err == nil {
					f, _ := goja.AssertFunction(fix)
					if class, err := f(goja.Undefined(), exports.Get("URL")); err == nil {
						_ = exports.Set("URL", class)
					}
				}
			}
			v := exports.Get(name)
			define(v)
			return v
		})
		setter := vm.ToValue(func(call goja.FunctionCall) goja.Value {
			define(call.Argument(0))
			return goja.Undefined()
		})
		_ = vm.GlobalObject().DefineAccessorProperty(name, getter, setter, goja.FLAG_TRUE, goja.FLAG_FALSE)
	}
}

// fixURL corrects origin, from which the library drops the port, and adds the
// static methods it lacks.
var fixURL = sync.OnceValue(func() *goja.Program {
	return goja.MustCompile("url.js", `(Native) => class URL extends Native {
		get origin() {
			return ['http:', 'https:', 'ftp:', 'ws:', 'wss:'].includes(this.protocol) ? this.protocol + '//' + this.host : 'null';
		}
		static parse(...args) { try { return new URL(...args); } catch { return null; } }
		static canParse(...args) { return URL.parse(...args) !== null; }
	}`, true)
})

// viewBytes is the memory of an ArrayBuffer or of a view on one.
func viewBytes(v goja.Value) ([]byte, bool) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, false
	}
	if b, ok := o.Export().(goja.ArrayBuffer); ok {
		return b.Bytes(), true
	}
	buffer, ok := o.Get("buffer").(*goja.Object)
	if !ok {
		return nil, false
	}
	b, ok := buffer.Export().(goja.ArrayBuffer)
	if !ok {
		return nil, false
	}
	offset, length := o.Get("byteOffset").ToInteger(), o.Get("byteLength").ToInteger()
	data := b.Bytes()
	if offset < 0 || length < 0 || offset+length > int64(len(data)) {
		return nil, false
	}
	return data[offset : offset+length], true
}

func decodeText(encoding string, b []byte, fatal bool) (string, error) {
	switch encoding {
	case "utf-16le":
		units := make([]uint16, len(b)/2)
		for i := range units {
			units[i] = uint16(b[2*i]) | uint16(b[2*i+1])<<8
		}
		return string(utf16.Decode(units)), nil
	case "latin1":
		runes := make([]rune, len(b))
		for i, c := range b {
			runes[i] = rune(c)
		}
		return string(runes), nil
	}
	if fatal && !utf8.Valid(b) {
		return "", errors.New("the encoded data was not valid for encoding utf-8")
	}
	return strings.ToValidUTF8(string(b), "\uFFFD"), nil
}

func latin1(s goja.String) ([]byte, bool) {
	out := make([]byte, s.Length())
	for i := range out {
		c := s.CharAt(i)
		if c > 0xFF {
			return nil, false
		}
		out[i] = byte(c)
	}
	return out, true
}

func uuid() string {
	var b [16]byte
	_, _ = rand.Read(b[:])
	b[6] = b[6]&0x0F | 0x40
	b[8] = b[8]&0x3F | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
