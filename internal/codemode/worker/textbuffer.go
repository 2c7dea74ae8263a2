package worker

import (
	"sync"

	"github.com/dop251/goja"
)

// textBuffer is what a variable that growTexts chose holds: a text to which
// appending costs what is appended.
type textBuffer struct {
	narrow []byte   // the text while it is all ASCII
	wide   []uint16 // the text in UTF-16 units once it is not
	isWide bool
	cached goja.Value // the text as a value, until the next append
	other  goja.Value // not a text: the program assigned something else
}

func (b *textBuffer) len() int {
	if b.isWide {
		return len(b.wide)
	}
	return len(b.narrow)
}

func (b *textBuffer) append(s goja.String) {
	b.cached = nil
	if !b.isWide {
		text := s.String()
		if isASCII(text) && len(text) == s.Length() {
			b.narrow = append(b.narrow, text...)
			return
		}
		b.wide = make([]uint16, len(b.narrow), 2*(len(b.narrow)+s.Length()))
		for i, c := range b.narrow {
			b.wide[i] = uint16(c)
		}
		b.narrow, b.isWide = nil, true
	}
	for i, n := 0, s.Length(); i < n; i++ {
		b.wide = append(b.wide, s.CharAt(i))
	}
}

func (b *textBuffer) truncate(n int) {
	if n == b.len() {
		return
	}
	b.cached = nil
	if b.isWide {
		b.wide = b.wide[:n]
	} else {
		b.narrow = b.narrow[:n]
	}
}

func (b *textBuffer) value(vm *goja.Runtime) goja.Value {
	if b.other != nil {
		return b.other
	}
	if b.cached == nil {
		if b.isWide {
			b.cached = goja.StringFromUTF16(append([]uint16(nil), b.wide...))
		} else {
			b.cached = vm.ToValue(string(b.narrow))
		}
	}
	return b.cached
}

func (b *textBuffer) set(v goja.Value) {
	*b = textBuffer{}
	if s, ok := v.(goja.String); ok {
		b.append(s)
		b.cached = v
		return
	}
	b.other = v
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// textHelpers are the functions that the rewritten tree calls.
var textHelpers = map[string]func(e *Engine, plus goja.Callable, args []goja.Value) goja.Value{
	textMake: func(e *Engine, _ goja.Callable, args []goja.Value) goja.Value {
		b := &textBuffer{}
		b.set(args[0])
		return e.vm.ToValue(b)
	},
	textRead: func(e *Engine, _ goja.Callable, args []goja.Value) goja.Value {
		return bufferOf(e, args).value(e.vm)
	},
	textLength: func(e *Engine, _ goja.Callable, args []goja.Value) goja.Value {
		b := bufferOf(e, args)
		if b.other == nil {
			return e.vm.ToValue(b.len())
		}
		return b.other.ToObject(e.vm).Get("length")
	},
	textAdd: func(e *Engine, plus goja.Callable, args []goja.Value) goja.Value {
		return bufferOf(e, args).add(e, plus, args[0], args[1])
	},
	textAddAt: func(e *Engine, plus goja.Callable, args []goja.Value) goja.Value {
		b := bufferOf(e, args)
		at := int(args[1].ToInteger())
		// What the right side is made to text by may append too.
		piece := b.piece(e, plus, args[2])
		b.truncate(min(at, b.len()))
		b.append(piece)
		return args[0]
	},
	textSet: func(e *Engine, _ goja.Callable, args []goja.Value) goja.Value {
		bufferOf(e, args).set(args[1])
		return args[1]
	},
}

func bufferOf(e *Engine, args []goja.Value) *textBuffer {
	if len(args) > 0 {
		if b, ok := args[0].Export().(*textBuffer); ok {
			return b
		}
	}
	panic(e.vm.NewTypeError("this function is not for programs"))
}

// add does what + does with the buffer's value on the left.
func (b *textBuffer) add(e *Engine, plus goja.Callable, self, right goja.Value) goja.Value {
	if b.other != nil {
		v, err := plus(goja.Undefined(), b.other, right)
		if err != nil {
			panic(err)
		}
		b.set(v)
		return self
	}
	b.append(b.piece(e, plus, right))
	return self
}

// piece is what + appends to a text for a value.
func (b *textBuffer) piece(e *Engine, plus goja.Callable, right goja.Value) goja.String {
	if s, ok := right.(goja.String); ok {
		return s
	}
	v, err := plus(goja.Undefined(), e.intrinsics.empty, right)
	if err != nil {
		panic(err)
	}
	return v.(goja.String)
}

// plusProgram is the operator as a function: it converts as the language does.
var plusProgram = sync.OnceValue(func() *goja.Program {
	return goja.MustCompile("plus.js", "(a, b) => a + b", true)
})

// textFunctions are the helpers as functions of the VM.
func (e *Engine) textFunctions() (map[string]goja.Value, error) {
	v, err := e.vm.RunProgram(plusProgram())
	if err != nil {
		return nil, err
	}
	plus, _ := goja.AssertFunction(v)
	out := make(map[string]goja.Value, len(textHelpers)+1)
	for name, f := range textHelpers {
		out[name] = e.vm.ToValue(func(call goja.FunctionCall) goja.Value { return f(e, plus, call.Arguments) })
	}
	return out, nil
}
