// Package transpile turns what a model wrote into the script a Code Mode worker
// runs: TypeScript compiled by esbuild, wrapped in one async function, with a
// source map by which the worker reports the model's own lines and columns.
//
// Nothing of the program runs here, but reading it is work too: a scan before
// esbuild sees the text refuses what could exhaust the parser's stack.
package transpile

import (
	"errors"
	"fmt"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// MaxSource is the size of the largest program, in bytes.
const MaxSource = 512 << 10

// Sourcefile is the name positions in the program are reported under.
const Sourcefile = "code.ts"

// Parameters are the names the program's function is called with, in order.
// They cannot be declared again at the program's top level (C7.1).
var Parameters = []string{"tools", "ToolCallError", "console"}

// Script is a program ready to run: a script whose value is an async function
// of Parameters, and its source map as JSON.
type Script struct {
	Code []byte
	Map  []byte
}

// Error says why a program cannot be compiled, and where: a 1-based line and
// column (in UTF-16 units) of the model's text, zero when no place is meant.
type Error struct {
	Message      string
	Line, Column int
	SourceLine   string // the text of Line
	Hint         string // what to write instead, if that is known
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// AsError is err as an *Error: itself, or its text without a place.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Message: err.Error()}
}

// Options adapt messages to the program's surroundings.
type Options struct {
	Tools []string // the names the program may call, for suggestions
}

// Compile compiles a program. It accepts the body of an async function with
// await and return at its top level, a single async function or arrow function,
// which is then called, and module-like text with an export default. Errors are
// always of type *Error.
func Compile(source string, o Options) (*Script, error) {
	text := unfence(strings.TrimPrefix(source, "\uFEFF"))
	scan, err := prescan(text)
	if err != nil {
		return nil, err
	}
	form := recognise(text, scan)
	script, failure := transform(form)
	if failure != nil && form.alternative != nil {
		if second, f := transform(*form.alternative); f == nil {
			script, failure = second, nil
		}
	}
	if failure != nil {
		return nil, explain(*failure, text, scan, o)
	}
	return script, nil
}

// supported switches off what goja's parser or runtime lacks, so that esbuild
// lowers it or leaves a call that a runtime shim can answer: the three regular
// expression entries turn literals into new RegExp(...), and import() becomes a
// call of a global require, which explains itself.
var supported = map[string]bool{
	"async-generator": false, "for-await": false, "decorators": false, "using": false,
	"dynamic-import": false, "import-meta": false, "top-level-await": false,
	"regexp-match-indices": false, "regexp-set-notation": false,
	"regexp-unicode-property-escapes": false,
}

// transform runs esbuild over one form of the program.
func transform(f form) (*Script, *api.Message) {
	result := api.Transform(f.head+f.text+f.tail, api.TransformOptions{
		Loader:         api.LoaderTS,
		Target:         api.ESNext,
		Supported:      supported,
		Sourcefile:     Sourcefile,
		Sourcemap:      api.SourceMapExternal,
		SourcesContent: api.SourcesContentExclude,
		Charset:        api.CharsetUTF8,
		LogLevel:       api.LogLevelSilent,
		LogOverride: map[string]api.LogLevel{
			"empty-import-meta":  api.LogLevelError,
			"assign-to-constant": api.LogLevelError,
		},
	})
	if len(result.Errors) > 0 {
		return nil, &result.Errors[0]
	}
	return &Script{Code: result.Code, Map: shiftMap(result.Map)}, nil
}
