package transpile

import (
	"fmt"
	"strings"

	"github.com/evanw/esbuild/pkg/api"

	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
)

const noImports = "import is not available in a Code Mode program: there are no modules, every effect is a call of a tool"

// explain turns esbuild's first error into one about the model's text.
func explain(m api.Message, text string, s *scanned, o Options) *Error {
	e := &Error{Message: m.Text}
	if m.Location != nil {
		e.Line = m.Location.Line - 1 // the wrapper's line
		e.Column = 1 + utf16Len(prefix(m.Location.LineText, m.Location.Column))
		e.SourceLine = lineAt(text, e.Line)
	}
	lines := strings.Count(strings.TrimRight(text, "\r\n"), "\n") + 1
	if e.Line > lines {
		// The wrapper's end was read as part of the program.
		last := lineAt(text, lines)
		e.Line, e.Column, e.SourceLine = lines, 1+utf16Len(last), last
		e.Message = "the program ends inside an unfinished statement: a bracket, brace, string or template is not closed"
		return e
	}
	e.Line = max(e.Line, 1)
	for _, n := range m.Notes {
		if n.Location != nil && n.Location.Line > 1 {
			e.Message += fmt.Sprintf(" (%s line %d)", strings.TrimSuffix(n.Text, ":"), n.Location.Line-1)
			break
		}
	}
	e.refine(text, s, o)
	return e
}

var (
	namespaceLine = lazyregexp.New(`^\s*(?:export\s+)?(?:namespace|module)\s+[\w.]+`)
	importLine    = lazyregexp.New(`^\s*import\b`)
	declaredName  = lazyregexp.New(`The symbol "([^"]+)" has already been declared`)
	jsxLine       = lazyregexp.New(`(?:[=(]|return)\s*<[A-Za-z][\w.]*(?:\s[^>]*)?/?>`)
	jsxError      = lazyregexp.New(`Expected ">" but found|JSX`)
)

// refine replaces what the compiler says by what it means for a program.
func (e *Error) refine(text string, s *scanned, o Options) {
	line := e.SourceLine
	switch m := declaredName.FindStringSubmatch(e.Message); {
	case m != nil && isParameter(m[1]):
		e.Message = fmt.Sprintf("Identifier '%s' has already been declared", m[1])
		e.Hint = fmt.Sprintf("%s is given to the program; choose another name", m[1])
		return
	case strings.Contains(e.Message, `"import.meta"`) || strings.Contains(e.Message, "import.meta"):
		e.Message = "import.meta is not available in a Code Mode program: it is not a module"
		return
	case importLine.MatchString(line) && !strings.Contains(line, "import("):
		e.Message = noImports
		e.Hint = importHint(o.Tools)
		return
	case strings.Contains(e.Message, `Unexpected "export"`) || len(s.exports) > 0 && strings.Contains(e.Message, "export"):
		e.Message = "export is not available here: the program is the body of a function"
		e.Hint = "return the value, or write one export default"
		return
	case namespaceLine.MatchString(line):
		e.Message = "a namespace is not allowed here: the program is the body of a function"
		e.Hint = "use an object or a class"
		return
	case strings.HasPrefix(e.Message, `Expected ")" but found`) && s.unopened >= 0:
		*e = *at(text, s.unopened, fmt.Sprintf("Unexpected %q: it closes nothing", text[s.unopened:s.unopened+1]))
		return
	}
	if hint := shellHint(text, o.Tools); hint != "" {
		e.Hint = hint
		return
	}
	if jsxError.MatchString(e.Message) && strings.Contains(line, "<") || jsxLine.MatchString(line) {
		e.Hint = "JSX is not available"
	}
}

func isParameter(name string) bool {
	for _, p := range Parameters {
		if p == name {
			return true
		}
	}
	return false
}

func importHint(tools []string) string {
	if len(tools) == 0 {
		return ""
	}
	shown := tools[:min(len(tools), 6)]
	more := ""
	if len(tools) > len(shown) {
		more = ", …"
	}
	return "remove the import and use tools: " + strings.Join(shown, ", ") + more
}

// shellWords begin a line of shell, and no program.
var shellWords = map[string]bool{
	"ls": true, "cd": true, "cat": true, "grep": true, "rg": true, "find": true, "git": true, "npm": true,
	"npx": true, "pnpm": true, "yarn": true, "go": true, "cargo": true, "python": true, "python3": true,
	"pip": true, "node": true, "make": true, "mkdir": true, "rm": true, "cp": true, "mv": true, "echo": true,
	"sed": true, "awk": true, "curl": true, "bash": true, "sh": true, "sudo": true, "touch": true, "pwd": true,
	"head": true, "tail": true, "chmod": true, "docker": true, "kubectl": true, "export": true, "source": true,
}

// shellHint recognises a command line sent as a program.
func shellHint(text string, tools []string) string {
	first := strings.TrimSpace(text)
	for strings.HasPrefix(first, "#") { // shebang and comments
		_, rest, _ := strings.Cut(first, "\n")
		first = strings.TrimSpace(rest)
	}
	first, _, _ = strings.Cut(first, "\n")
	first = strings.TrimPrefix(first, "$ ")
	word, rest, _ := strings.Cut(first, " ")
	if !shellWords[word] || strings.ContainsAny(rest, "=(;{") && !strings.HasPrefix(text, "#!") {
		return ""
	}
	for _, shell := range []string{"bash", "shell", "exec", "run_command"} {
		for _, t := range tools {
			if t == shell {
				return fmt.Sprintf("this looks like a shell command; run it with await tools.%s({command: %q})", t, clip(first, 80))
			}
		}
	}
	return "this looks like a shell command; the program has to be TypeScript"
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

func prefix(s string, n int) string {
	return strings.ToValidUTF8(s[:min(max(n, 0), len(s))], "\uFFFD")
}
