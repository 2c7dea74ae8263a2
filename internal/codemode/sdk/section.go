package sdk

import (
	_ "embed"
	"strconv"
	"strings"
)

// DefaultMaxChars is how many characters of declarations a prompt carries
// before it carries the index instead.
const DefaultMaxChars = 40_000

// Options are the settings that show in the text.
type Options struct {
	// MaxChars is the number of characters of declarations above which the
	// section lists the tools by one line each; 0 means DefaultMaxChars,
	// negative means never.
	MaxChars int
	// MaxParallelCalls is how many tool calls of one program may run at a
	// time; 0 means 1.
	MaxParallelCalls int
}

// maxChars resolves the default.
func (o Options) maxChars() int {
	if o.MaxChars == 0 {
		return DefaultMaxChars
	}
	return o.MaxChars
}

// The texts around the declarations. They are files of their own because they
// are reviewed as prose: every sentence is there because models got something
// wrong without it.
var (
	//go:embed instructions.md
	instructionsText string
	//go:embed sequential.md
	sequentialText string
	//go:embed parallel.md
	parallelText string
	//go:embed declared.md
	declaredText string
	//go:embed indexed.md
	indexedText string
)

// SDK is the prompt section of one tool set and what stands behind it. It is
// immutable and safe for concurrent use.
type SDK struct {
	section   string
	indexed   bool
	catalogue *Catalogue
}

// New writes the section of a tool set.
func New(tools []Tool, o Options) *SDK {
	list := sorted(tools)
	s := &SDK{catalogue: newCatalogue(list)}
	s.section, s.indexed = section(list, o)
	return s
}

// Section returns the text of the tools:sdk prompt section. It contains the
// descriptions of tools as they are, so no template syntax in it may be expanded.
func (s *SDK) Section() string { return s.section }

// Indexed reports whether the section holds the index instead of the declarations.
func (s *SDK) Indexed() bool { return s.indexed }

// Catalogue answers tools.$search and tools.$describe for the tool set.
func (s *SDK) Catalogue() *Catalogue { return s.catalogue }

// Section is the text of the tools:sdk prompt section for a tool set.
func Section(tools []Tool, o Options) string {
	text, _ := section(sorted(tools), o)
	return text
}

// section writes the text for tools already sorted.
func section(tools []Tool, o Options) (text string, indexed bool) {
	const perTool = 768 // a guess; the buffer grows if need be
	limit := o.maxChars()
	room := perTool * len(tools)
	if limit >= 0 {
		room = min(room, 4*limit)
	}
	out := make([]byte, 0, 8<<10+room)
	out = append(out, instructionsText...)
	if o.MaxParallelCalls > 1 {
		out = append(out, strings.ReplaceAll(parallelText, "MAX", strconv.Itoa(o.MaxParallelCalls))...)
	} else {
		out = append(out, sequentialText...)
	}
	out = append(out, '\n')

	around := len(out)
	out = append(out, declaredText...)
	out = append(out, "\n```ts\n"...)
	out, fits := appendBlock(out, tools, limit)
	if !fits {
		out = append(out[:around], strings.ReplaceAll(indexedText, "COUNT", strconv.Itoa(len(tools)))...)
		return string(appendIndex(out, tools, limit)), true
	}
	return string(append(out, "\n```"...)), false
}
