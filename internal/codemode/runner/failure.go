package runner

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/dsh-acp/dsh-acp/internal/codemode/transpile"
	"github.com/dsh-acp/dsh-acp/internal/codemode/wire"
	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
)

// notCompiled is the failure of a program that no worker ever saw.
func notCompiled(e *transpile.Error) *Failure {
	f := &Failure{Kind: KindException, Line: e.Line, Column: e.Column, SourceLine: e.SourceLine}
	lines := []string{"SyntaxError: " + e.Message}
	if e.Line > 0 {
		lines = append(lines, place("", e.Line, e.Column, e.SourceLine))
	}
	if e.Hint != "" {
		lines = append(lines, "hint: "+e.Hint)
	}
	f.Message = strings.Join(lines, "\n")
	return f
}

// place is one line of where something happened.
func place(function string, line, column int, source string) string {
	text := "    at "
	if function != "" {
		text += function + ", "
	}
	text += fmt.Sprintf("line %d, column %d", line, column)
	if source = strings.TrimSpace(source); source != "" {
		text += ": " + clip(source, 200)
	}
	return text
}

// failure says why a run that did not complete failed.
func (r *run) failure(done *wire.Done, c cause, end ending) *Failure {
	f := &Failure{}
	switch c {
	case causeAbort:
		f.Kind, f.Message = KindAbort, reason(r.ctx)
	case causeWall:
		f.Kind, f.Message = KindTimeout, fmt.Sprintf("wall-clock ceiling reached (%dms)", r.p.Limits.Wall.Milliseconds())
	case causeOutput:
		f.Kind, f.Message = KindOutputLimit, fmt.Sprintf("outer output exceeded %d bytes", r.p.Limits.MaxOutputBytes)
	case causeProtocol:
		f.Kind, f.Message = KindWorkerExit, "worker error: "+clip(r.problem, 500)
	case causeGone:
		f.Kind, f.Message = KindWorkerExit, r.died(end)
	default:
		r.ended(f, done)
		return f
	}
	if done != nil && c != causeProtocol {
		r.where(f, done.Stack, "    while at")
	}
	return f
}

// died says how a worker ended that did not say Done.
func (r *run) died(end ending) string {
	switch {
	case strings.Contains(end.stderr, "out of memory"), strings.Contains(end.stderr, "cannot allocate memory"):
		return r.outOfMemory()
	case strings.Contains(end.stderr, "stack exceeds"), strings.Contains(end.stderr, "stack overflow"):
		return "worker error: the engine's stack is exhausted: a value or an expression nests too deeply"
	case strings.Contains(end.stderr, "failed to create new OS thread"):
		return "worker error: the system is out of threads"
	case end.signal == "SIGXCPU":
		return fmt.Sprintf("worker error: the CPU time that goes with a compute budget of %dms is used up", r.p.Limits.Compute.Milliseconds())
	case end.signal != "":
		return "worker error: killed by " + end.signal
	}
	return fmt.Sprintf("worker exited with code %d before completing", end.code)
}

func (r *run) outOfMemory() string {
	return fmt.Sprintf("worker error: out of memory: the program exceeded its limit of %s", size(r.p.Limits.MemoryBytes))
}

func size(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

// ended makes the failure a worker reports.
func (r *run) ended(f *Failure, done *wire.Done) {
	message := strings.ToValidUTF8(done.Message, "\uFFFD")
	detail := strings.ToValidUTF8(done.Detail, "\uFFFD")
	at := "    at"
	switch done.Status {
	case wire.StatusCompute:
		f.Kind, at = KindTimeout, "    while at"
		message = fmt.Sprintf("compute budget exhausted (%dms busy)", r.p.Limits.Compute.Milliseconds())
	case wire.StatusDeadlock:
		f.Kind, at = KindTimeout, "    waiting at"
	case wire.StatusMemory:
		f.Kind, at, message = KindWorkerExit, "    while at", r.outOfMemory()
	case wire.StatusOutput:
		f.Kind, message = KindOutputLimit, fmt.Sprintf("outer output exceeded %d bytes", r.p.Limits.MaxOutputBytes)
	case wire.StatusInvalidOutput:
		f.Kind, message = KindInvalidOutput, "program completion must be lossless JSON"
	case wire.StatusAbort:
		f.Kind = KindAbort
		if message == "" {
			message = reason(r.ctx)
		}
	default:
		f.Kind = KindException
		if r.ctx.Err() != nil {
			// Calls that the cancellation ended made the program fail: what ended
			// it is the cancellation.
			f.Kind, message = KindAbort, reason(r.ctx)
		}
	}
	f.Message = clip(message, 64<<10)
	stack := done.Stack
	if len(stack) > 0 && f.Kind == KindException {
		stack = r.outside(stack)
		f.Message = friendly(f.Message, transpile.SourceLine(r.p.Source, int(stack[0].At.Line)), int(stack[0].At.Column))
	}
	r.where(f, stack, at)
	if detail != "" {
		f.Message += "\n" + clip(detail, 8<<10)
	}
	if hint := r.hint(f, done); hint != "" {
		f.Message += "\nhint: " + hint
	}
}

// where adds the places of a stack to a failure, the first with its source.
func (r *run) where(f *Failure, stack []wire.Frame, at string) {
	for i, frame := range stack {
		line, column := int(frame.At.Line), int(frame.At.Column)
		source := transpile.SourceLine(r.p.Source, line)
		if i == 0 {
			f.Line, f.Column, f.SourceLine = line, column, source
		} else {
			source = ""
		}
		text := place(strings.ToValidUTF8(frame.Function, "\uFFFD"), line, column, source)
		f.Message += "\n" + strings.Replace(text, "    at", at, 1)
	}
}

var (
	noMember   = lazyregexp.New(`^TypeError: Object has no member '([^']*)'`)
	notObject  = lazyregexp.New(`^TypeError: Value is not an object: (undefined|null|.{1,80})$`)
	notClass   = lazyregexp.New(`^TypeError: Value is not (?:a constructor|an object: .{1,80})$`)
	created    = lazyregexp.New(`^new\s+([\w$]+(?:\.[\w$]+)*)\b`)
	notDefined = lazyregexp.New(`^ReferenceError: ([\w$]+) is not defined`)
	noTool     = lazyregexp.New(`^TypeError: tools(?:\.([\w$]+)|\["([^"]*)"\]) is not a function`)
	noText     = lazyregexp.New(`(?s)^TypeError: Could not convert .*? to primitive(\n    at |$)`)
	callee     = lazyregexp.New(`^[\w$]+(?:\??\.[\w$]+|\[[^\[\]]*\])*`)
)

// friendly says an error of the engine's in the words every other engine uses,
// with the expression as the program has it.
func friendly(message, line string, column int) string {
	// The engine spells out its own memory there, without end.
	message = noText.ReplaceAllString(message, "TypeError: Cannot convert object to primitive value$1")
	first, rest, _ := strings.Cut(message, "\n")
	if rest != "" {
		rest = "\n" + rest
	}
	if first == "TypeError: Value is not object coercible" {
		return "TypeError: cannot destructure undefined or null" + rest
	}
	if made := created.FindStringSubmatch(lineFrom(line, column)); made != nil && notClass.MatchString(first) {
		if made[1] == "Promise" {
			return "TypeError: what a Promise is made with is not a function" + rest
		}
		return "TypeError: " + made[1] + " is not a constructor" + rest
	}
	name := ""
	if m := noMember.FindStringSubmatch(first); m != nil {
		name = m[1]
	} else if !notObject.MatchString(first) {
		return message
	}
	expression := expressionAt(line, column, name)
	if expression == "" {
		if name == "" {
			return message
		}
		expression = name
	}
	return "TypeError: " + expression + " is not a function" + rest
}

// expressionAt finds the callee that a position in a line belongs to.
func expressionAt(line string, column int, name string) string {
	if column < 1 || column > len(line) {
		return ""
	}
	start := column - 1
	for start > 0 && strings.ContainsRune("._$?", rune(line[start-1])) || start > 0 && isWord(line[start-1]) {
		start--
	}
	found := callee.FindString(line[start:])
	if name != "" {
		i := strings.Index(found, name)
		if i < 0 {
			return ""
		}
		found = found[:i+len(name)]
	}
	return found
}

// lineFrom is the rest of a line of the program from a column on.
func lineFrom(line string, column int) string {
	units := utf16.Encode([]rune(line))
	if column < 1 || column > len(units) {
		return ""
	}
	return string(utf16.Decode(units[column-1:]))
}

// outside is a stack without the constructors at its top that were only calling
// their parent class: an error is where it was made, not inside of its class.
func (r *run) outside(stack []wire.Frame) []wire.Frame {
	for len(stack) > 1 {
		at := stack[0].At
		if !strings.HasPrefix(lineFrom(transpile.SourceLine(r.p.Source, int(at.Line)), int(at.Column)), "super(") {
			break
		}
		stack = stack[1:]
	}
	return stack
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// hint is what to do about a failure, where that is known.
func (r *run) hint(f *Failure, done *wire.Done) string {
	first, _, _ := strings.Cut(f.Message, "\n")
	if m := noTool.FindStringSubmatch(first); m != nil {
		return r.unknownTool(m[1] + m[2])
	}
	if m := notDefined.FindStringSubmatch(first); m != nil {
		return r.undefined(m[1])
	}
	if done.Status == wire.StatusCompute && strings.Contains(f.SourceLine, "+=") {
		return "if this += builds a long text, it copies the text on every step; collect the parts in an array and join them"
	}
	return ""
}

func (r *run) unknownTool(name string) string {
	if near := nearest(name, r.p.Tools); near != "" {
		return fmt.Sprintf("there is no tool %q; did you mean %s?", name, member(near))
	}
	if len(r.p.Tools) == 0 {
		return fmt.Sprintf("there is no tool %q; no tools are available", name)
	}
	shown := r.p.Tools[:min(len(r.p.Tools), 12)]
	text := fmt.Sprintf("there is no tool %q; the tools are %s", name, strings.Join(shown, ", "))
	if len(shown) < len(r.p.Tools) {
		text += fmt.Sprintf(" and %d more", len(r.p.Tools)-len(shown))
	}
	return text
}

// absent are names that programs elsewhere have, and what to use here.
var absent = map[string]string{
	"fetch": "a program has no network", "process": "a program has no process", "Buffer": "use Uint8Array, TextEncoder and atob/btoa",
	"fs": "a program has no file system", "path": "join paths as text", "module": "return the value instead of exporting it",
	"exports": "return the value instead of exporting it", "__dirname": "a program has no directory", "__filename": "a program has no file",
	"window": "use globalThis", "document": "there is no page", "Deno": "this is not Deno", "Bun": "this is not Bun",
	"XMLHttpRequest": "a program has no network", "WebSocket": "a program has no network", "Response": "a program has no network",
}

func (r *run) undefined(name string) string {
	for _, t := range r.p.Tools {
		if t == name {
			return fmt.Sprintf("tools are members of tools: %s(...)", member(t))
		}
	}
	if why, ok := absent[name]; ok {
		return why + "; every effect is a call of a tool"
	}
	if near := nearest(name, r.p.Tools); near != "" {
		return fmt.Sprintf("did you mean %s?", member(near))
	}
	return ""
}

// member is how a program names a tool.
func member(name string) string {
	if callee.FindString(name) == name && !strings.ContainsAny(name, ".[") && (name[0] < '0' || name[0] > '9') {
		return "tools." + name
	}
	return fmt.Sprintf("tools[%q]", name)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}
