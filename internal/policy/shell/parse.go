package shell

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"mvdan.cc/sh/v3/syntax"
)

const (
	maxLineBytes = 64 << 10 // a longer line is not parsed
	maxNesting   = 500      // opening brackets of a line that is parsed
	maxDepth     = 8        // texts within texts: bash -c 'bash -c …'
	maxWords     = 256      // words of a wrapper that are tried as its program
	maxCommands  = 2000     // commands of a line that are looked at
	maxWork      = 1 << 17  // characters that are looked at, counted again at each level
)

// Line is what is known about a command line.
type Line struct {
	// Commands are the simple commands, in the order of the text.
	Commands []*Command
	// Unsure says what keeps the line from being allowed by rules about its
	// commands, such as a syntax error. Empty when all was understood.
	Unsure []string
}

// Command is one simple command: a program with its words, and what goes with it.
type Command struct {
	words     []word
	assigns   []word // NAME=value before the program
	redirects []word // those that write, or whose target is unknown
	// Hidden marks a command that another one runs (env, bash -c, find -exec):
	// denials apply to it, while an allow rule needs to cover the outer one only.
	Hidden bool
	// unsure says why no rule can cover the command; "" when one can.
	unsure string

	spelled  []int    // words that an allow rule must spell out
	aside    bool     // made up from the arguments of a command of the line
	mentions []string // what may be the programs that it runs; it has no words then
	stdin    []*syntax.Redirect
}

// Aside says whether the command only stands for what the arguments of another
// one may mean, so that rules about every command need not look at it.
func (c *Command) Aside() bool { return c.aside }

// String shows the command, quoting removed.
func (c *Command) String() string {
	var parts []string
	for _, list := range [][]word{c.assigns, c.words, c.redirects} {
		for _, w := range list {
			parts = append(parts, w.String())
		}
	}
	return strings.Join(parts, " ")
}

// Parse reads a command line as bash does. It never fails: what it does not
// understand makes the line unsure.
func Parse(text string) *Line {
	p := &parsing{line: &Line{}}
	p.text(text, 0, false)
	return p.line
}

type parsing struct {
	line      *Line
	work      int
	full      bool
	functions map[string]bool // that the line defines; their bodies are looked at
}

// spend counts work and says whether there is any left. A line that takes more
// than its share stays a mystery: somebody built it to be one.
func (p *parsing) spend(n int) bool {
	p.work += n
	if p.work <= maxWork {
		return true
	}
	if !p.full {
		p.full = true
		p.unsure("the command is too involved to be looked at")
		p.line.Commands = append(p.line.Commands, mysterious("too involved"))
	}
	return false
}

func (p *parsing) unsure(format string, args ...any) {
	reason := fmt.Sprintf(format, args...)
	if !slices.Contains(p.line.Unsure, reason) {
		p.line.Unsure = append(p.line.Unsure, reason)
	}
}

// mystery adds a command that may be anything, so that a denial cannot be
// ruled out.
func (p *parsing) mystery(why string) {
	p.add(mysterious(why))
}

func mysterious(why string) *Command {
	return &Command{words: []word{{symbols: []symbol{{char: anything}}, dynamic: true}}, Hidden: true, unsure: why}
}

func (p *parsing) add(c *Command) {
	size := 16
	for _, w := range c.words {
		size += len(w.symbols) + 1
	}
	if p.full || !p.spend(size) {
		return
	}
	if len(p.line.Commands) >= maxCommands {
		p.spend(maxWork)
		return
	}
	p.line.Commands = append(p.line.Commands, c)
}

func (p *parsing) text(text string, depth int, hidden bool) {
	if p.full || !p.spend(len(text)) {
		return
	}
	if why := unreadable(text); why != "" {
		p.unsure("%s", why)
		p.mystery(why)
		if len(text) > maxLineBytes || nesting(text) > maxNesting {
			return
		}
	}
	if depth > maxDepth {
		p.unsure("commands are nested too deeply to be looked at")
		p.mystery("nested too deeply")
		return
	}
	defer func() {
		// A bug of the parser must not end the process, nor let a line through.
		if r := recover(); r != nil {
			p.unsure("the command could not be parsed")
			p.mystery("could not be parsed")
		}
	}()
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
	for stmt, err := range parser.StmtsSeq(strings.NewReader(text)) {
		// bash runs what comes before a syntax error, so what was read counts.
		if stmt != nil {
			p.walk(stmt, depth, hidden)
		}
		if err != nil {
			p.unsure("the command does not parse as a shell command")
			p.mystery("does not parse")
			return
		}
	}
}

// unreadable names what makes the parser's reading differ from the shell's.
func unreadable(text string) string {
	switch {
	case len(text) > maxLineBytes:
		return fmt.Sprintf("the command has more than %d bytes", maxLineBytes)
	case !utf8.ValidString(text):
		return "the command is not valid UTF-8"
	case nesting(text) > maxNesting:
		return "the command is nested too deeply"
	}
	for i := range len(text) {
		if c := text[i]; c < 0x20 && c != '\n' && c != '\t' || c == 0x7f {
			return "the command holds control characters"
		}
	}
	return ""
}

func nesting(text string) int {
	n := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '`', '[':
			n++
		}
	}
	return n + strings.Count(text, "if ") + strings.Count(text, "do")
}

// walk visits a statement and all it contains.
func (p *parsing) walk(stmt *syntax.Stmt, depth int, hidden bool) {
	syntax.Walk(stmt, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			p.statement(n, depth, hidden)
		case *syntax.FuncDecl:
			if n.Name != nil {
				if p.functions == nil {
					p.functions = map[string]bool{}
				}
				p.functions[strings.ToLower(n.Name.Value)] = true
			}
		case *syntax.DeclClause:
			c := &Command{Hidden: hidden, unsure: n.Variant.Value + " changes how later commands run", words: []word{literalWord(n.Variant.Value)}}
			for _, a := range n.Args {
				c.words = append(c.words, assignment(a))
			}
			p.add(c)
			p.assignments(n.Args, depth)
		case *syntax.ParamExp:
			p.expansion(n)
		case *syntax.ArithmExp:
			p.arithmetic(n.X)
		case *syntax.ArithmCmd:
			p.arithmetic(n.X)
		case *syntax.LetClause:
			p.unsure("let evaluates variables as code")
		case *syntax.BinaryTest:
			if !safeTest(n) {
				p.unsure("[[ … ]] compares numbers, which evaluates variables as code")
			}
		case *syntax.UnaryTest:
			if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
				p.unsure("[[ -v … ]] evaluates subscripts as code")
			}
		case *syntax.WordIter:
			if n.Name != nil && strings.ToLower(n.Name.Value) != n.Name.Value {
				p.unsure("the loop variable %s may change how commands run", n.Name.Value)
			}
		case *syntax.CStyleLoop:
			p.arithmetic(n.Init)
			p.arithmetic(n.Cond)
			p.arithmetic(n.Post)
		case *syntax.CoprocClause:
			// The parser takes the first word for a name where bash may not.
			p.unsure("coproc is not looked into")
			p.mystery("coproc")
		case *syntax.TestDecl:
			p.unsure("the command does not parse as a shell command")
		}
		return true
	})
}

func (p *parsing) statement(n *syntax.Stmt, depth int, hidden bool) {
	call, isCall := n.Cmd.(*syntax.CallExpr)
	c := &Command{Hidden: hidden}
	for _, r := range n.Redirs {
		if w, ok := redirection(r); ok {
			c.redirects = append(c.redirects, w)
		}
	}
	if !isCall {
		// A redirection of a compound command writes like any other.
		if len(c.redirects) > 0 {
			p.add(c)
		}
		return
	}
	for _, a := range call.Assigns {
		c.assigns = append(c.assigns, assignment(a))
	}
	for _, w := range call.Args {
		c.words = append(c.words, canonical(w))
	}
	c.stdin = n.Redirs
	p.add(c)
	p.assignments(call.Assigns, depth)
	p.lookThrough(c, depth)
}

// redirection gives the canonical form of a redirection that matters: one that
// writes a file, or whose target is not known. Reading, here-documents,
// duplicated descriptors and /dev/null are harmless.
func redirection(r *syntax.Redirect) (word, bool) {
	target := canonical(r.Word)
	text, static := target.static()
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc:
		return word{}, false
	case syntax.RdrIn:
		if static && !strings.HasPrefix(text, "/dev/tcp/") && !strings.HasPrefix(text, "/dev/udp/") {
			return word{}, false
		}
	case syntax.DplIn, syntax.DplOut:
		if static && isDescriptor(text) {
			return word{}, false
		}
	}
	if static && text == "/dev/null" && r.N == nil || static && text == "/dev/null" && isDescriptor(r.N.Value) {
		return word{}, false
	}
	prefix := r.Op.String()
	if r.N != nil {
		prefix = r.N.Value + prefix
	}
	w := literalWord(prefix)
	w.symbols = append(w.symbols, target.symbols...)
	w.dynamic, w.globbed = target.dynamic, target.globbed
	return w, true
}

func isDescriptor(s string) bool {
	s = strings.TrimSuffix(s, "-")
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}

func assignment(a *syntax.Assign) word {
	var w word
	if a.Name != nil {
		w = literalWord(a.Name.Value)
	}
	if a.Naked && a.Name != nil {
		return w
	}
	if a.Name != nil {
		if a.Index != nil || a.Array != nil {
			w.symbols = append(w.symbols, symbol{char: anything})
			w.dynamic = true
		}
		op := "="
		if a.Append {
			op = "+="
		}
		w.symbols = append(w.symbols, literalWord(op).symbols...)
	}
	if a.Value != nil {
		v := canonical(a.Value)
		w.symbols = append(w.symbols, v.symbols...)
		w.dynamic, w.globbed = w.dynamic || v.dynamic, w.globbed || v.globbed
	}
	return w
}

// assignments looks into variables that hold commands, such as GIT_PAGER.
func (p *parsing) assignments(list []*syntax.Assign, depth int) {
	for _, a := range list {
		if a.Name == nil || a.Value == nil || !holdsCommand(a.Name.Value) {
			continue
		}
		if text, ok := canonical(a.Value).static(); ok {
			p.text(text, depth+1, true)
		} else {
			p.mystery(a.Name.Value + " holds a command that is not known")
		}
	}
}

func holdsCommand(name string) bool {
	for _, suffix := range []string{"_COMMAND", "PAGER", "EDITOR", "VISUAL", "BROWSER", "_SSH", "_RSH", "_ASKPASS", "LESSOPEN", "LESSCLOSE", "_PROXY_COMMAND", "EXTERNAL_DIFF"} {
		if strings.HasSuffix(name, suffix) {
			return true
		}
	}
	return false
}

// expansion marks the forms of ${…} that run code or assign.
func (p *parsing) expansion(n *syntax.ParamExp) {
	switch {
	case n.Excl, n.Slice != nil, n.NestedParam != nil:
		p.unsure("${%s…} is not looked into", name(n))
	case n.Index != nil:
		p.arithmetic(n.Index)
	}
	if n.Exp != nil && (n.Exp.Op == syntax.OtherParamOps || n.Exp.Op == syntax.AssignUnset || n.Exp.Op == syntax.AssignUnsetOrNull) {
		p.unsure("${%s…} assigns or evaluates", name(n))
	}
}

func name(n *syntax.ParamExp) string {
	if n.Param == nil {
		return ""
	}
	return n.Param.Value
}

// arithmetic accepts literal numbers only: the shell evaluates the value of a
// variable again, and a subscript in it may hold a command.
func (p *parsing) arithmetic(x syntax.ArithmExpr) {
	switch x := x.(type) {
	case nil:
	case *syntax.Word:
		text, ok := canonical(x).static()
		if text == "@" || text == "*" {
			return
		}
		if !ok || strings.Trim(text, "0123456789") != "" {
			p.unsure("arithmetic evaluates variables as code")
		}
	case *syntax.BinaryArithm:
		p.arithmetic(x.X)
		p.arithmetic(x.Y)
	case *syntax.UnaryArithm:
		p.arithmetic(x.X)
	case *syntax.ParenArithm:
		p.arithmetic(x.X)
	default:
		p.unsure("arithmetic evaluates variables as code")
	}
}

func safeTest(n *syntax.BinaryTest) bool {
	switch n.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		return false
	}
	return true
}
