package worker

import (
	"strings"

	"github.com/dop251/goja"
)

// console is what the program prints with. Every call is one entry, sent at
// once; text is shown as it is, anything else inspected, joined by one space.
// There is no %-formatting and no level prefix (C7.2).
type console struct {
	e      *Engine
	object *goja.Object
	emit   func(text string)
	indent string
	counts map[string]int
	starts map[string]float64
}

func (c *console) format(args []goja.Value) string {
	parts := make([]string, len(args))
	for i, a := range args {
		if s, ok := a.(goja.String); ok {
			parts[i] = s.String()
		} else {
			parts[i] = c.inspect(a)
		}
	}
	text := strings.Join(parts, " ")
	if strings.Contains(text, sourcefile) {
		// The engine's own counters in a printed stack say nothing to anyone.
		text = stackSuffix.ReplaceAllString(text, "$1")
	}
	return text
}

func (c *console) print(text string) {
	if c.indent != "" {
		text = c.indent + strings.ReplaceAll(text, "\n", "\n"+c.indent)
	}
	c.emit(text)
}

// install makes the console object: the five methods (C7.2), and, not to be
// enumerated, those others that models use out of habit.
func (c *console) install(e *Engine) {
	c.e = e
	c.object = e.vm.NewObject()
	enumerable := goja.FLAG_TRUE
	method := func(name string, f func(args []goja.Value)) {
		fn := e.vm.ToValue(func(call goja.FunctionCall) goja.Value {
			f(call.Arguments)
			return goja.Undefined()
		}).(*goja.Object)
		_ = fn.DefineDataProperty("name", e.vm.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE)
		_ = c.object.DefineDataProperty(name, fn, goja.FLAG_TRUE, goja.FLAG_TRUE, enumerable)
	}
	log := func(args []goja.Value) { c.print(c.format(args)) }
	for _, name := range []string{"log", "info", "warn", "error", "debug"} {
		method(name, log)
	}
	enumerable = goja.FLAG_FALSE
	method("table", log)
	method("dir", func(args []goja.Value) { log(args[:min(len(args), 1)]) })
	method("trace", func(args []goja.Value) {
		text := strings.TrimSpace("Trace: " + c.format(args))
		c.print(strings.TrimRight(text+"\n"+strings.ReplaceAll(printStack(e.programStack(0)), "\t", "    "), "\n"))
	})
	method("assert", func(args []goja.Value) {
		if len(args) > 0 && args[0].ToBoolean() {
			return
		}
		text := "Assertion failed"
		if len(args) > 1 {
			text += ": " + c.format(args[1:])
		}
		c.print(text)
	})
	method("group", func(args []goja.Value) {
		if len(args) > 0 {
			log(args)
		}
		if len(c.indent) < 100 {
			c.indent += "  "
		}
	})
	method("groupEnd", func([]goja.Value) { c.indent = c.indent[:max(len(c.indent)-2, 0)] })
	method("count", func(args []goja.Value) {
		if c.counts == nil {
			c.counts = map[string]int{}
		}
		l := label(args)
		c.counts[l]++
		c.print(l + ": " + e.vm.ToValue(c.counts[l]).String())
	})
	method("countReset", func(args []goja.Value) { delete(c.counts, label(args)) })
	method("time", func(args []goja.Value) {
		if c.starts == nil {
			c.starts = map[string]float64{}
		}
		c.starts[label(args)] = e.now()
	})
	elapsed := func(args []goja.Value) {
		l := label(args)
		if start, ok := c.starts[l]; ok {
			c.print(l + ": " + e.vm.ToValue(e.now()-start).String() + "ms")
		}
	}
	method("timeLog", elapsed)
	method("timeEnd", func(args []goja.Value) {
		elapsed(args)
		delete(c.starts, label(args))
	})
}

func label(args []goja.Value) string {
	if len(args) == 0 || goja.IsUndefined(args[0]) {
		return "default"
	}
	return args[0].String()
}
