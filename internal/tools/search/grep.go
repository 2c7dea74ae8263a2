package search

import (
	"context"
	"errors"
	"path/filepath"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/tools"
)

const (
	defaultLimit = 250  // matching lines, or files, of a result
	maxLimit     = 2000 // the most that a call can ask for
	maxContext   = 20   // lines on each side of a match
)

// The output modes of grep.
const (
	modeContent = "content"
	modeFiles   = "files_with_matches"
	modeCount   = "count"
)

func (t *Tools) grep() registry.Definition {
	line := func(description string) schema.Spec {
		return schema.Array(description, schema.String(""))
	}
	return registry.Definition{
		Name:        "grep",
		Description: strings.TrimSpace(grepDescription),
		Parameters: schema.Params{
			schema.Required("pattern", schema.String("The regular expression, in RE2 syntax.")),
			schema.Optional("path", schema.String("The folder or file to search; relative to the session's directory, which is the default.")),
			schema.Optional("include", schema.String("One glob that the searched files must match, such as `*.go` or `src/**/*.ts`.")),
			schema.Optional("output_mode", schema.Enum("What to show. Default: content.", modeContent, modeFiles, modeCount)),
			schema.Optional("ignore_case", schema.Boolean("Take upper and lower case for the same.")),
			schema.Optional("multiline", schema.Boolean("Let matches go over line endings, which `.` then matches too.")),
			schema.Optional("context", schema.Number("Lines to show before and after each match; at most 20.")),
			schema.Optional("before", schema.Number("Lines to show before each match, instead of context.")),
			schema.Optional("after", schema.Number("Lines to show after each match, instead of context.")),
			schema.Optional("limit", schema.Number("How many lines, or files, to show. Default 250, at most 2000.")),
			schema.Optional("hidden", schema.Boolean("Also search files and folders whose names begin with a dot.")),
			schema.Optional("no_ignore", schema.Boolean("Also search what .gitignore excludes.")),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("", append([]schema.Property{
				schema.Required("matches", schema.Array("The matching lines, by file and number; none unless the output mode is content.", schema.ClosedObject("",
					schema.Required("path", schema.String("Relative to the session's directory when it is below that.")),
					schema.Required("lineNumber", schema.Integer("Counted from 1.")),
					schema.Required("line", schema.String("The line without its ending.")),
					schema.Optional("lineTruncated", schema.Boolean("Whether line is only the first 2000 bytes.")),
					schema.Optional("before", line("The lines before it, when asked for.")),
					schema.Optional("after", line("The lines after it, when asked for.")),
				))),
				schema.Required("files", schema.Array("The files with matches.", schema.ClosedObject("",
					schema.Required("path", schema.String("")),
					schema.Optional("count", schema.Integer("Its matching lines; not there when the output mode is files_with_matches.")),
				))),
				schema.Optional("total", schema.Integer("How many lines match in all; not there when the output mode is files_with_matches.")),
				schema.Required("totalFiles", schema.Integer("How many files have matches.")),
				schema.Required("truncated", schema.Boolean("Whether matches or files does not have them all.")),
			}, skippedProperties()...)...)),
			Render:           renderGrep,
			PresentationMeta: grepMeta,
		},
		Execute:         t.doGrep,
		PresentCall:     presentGrep,
		PresentResult:   presentResult,
		ConcurrencySafe: func(jsonvalue.Value) bool { return true },
		Timeout:         Timeout,
	}
}

// grepArgs are the arguments of a call, checked.
type grepArgs struct {
	query                *query
	include              string
	mode                 string
	before, after, limit int
}

func readGrepArgs(args jsonvalue.Value) (g grepArgs, err error) {
	pattern, err := requiredText(args, "pattern")
	if err != nil {
		return g, err
	}
	if g.include, err = includeArg(args); err != nil {
		return g, err
	}
	if g.mode = args.GetString("output_mode"); g.mode == "" {
		g.mode = modeContent
	}
	around, err := count(args, "context", 0, 0, maxContext)
	if err != nil {
		return g, err
	}
	if g.before, err = count(args, "before", 0, around, maxContext); err != nil {
		return g, err
	}
	if g.after, err = count(args, "after", 0, around, maxContext); err != nil {
		return g, err
	}
	if g.limit, err = count(args, "limit", 1, defaultLimit, maxLimit); err != nil {
		return g, err
	}
	g.query, err = compileQuery(pattern, flag(args, "ignore_case"), flag(args, "multiline"))
	return g, err
}

// includeArg is the file filter: one glob that says which files, not which not.
func includeArg(args jsonvalue.Value) (string, error) {
	if args.Get("include").IsUndefined() {
		return "", nil
	}
	include := strings.TrimSpace(tools.Text(args, "include"))
	switch {
	case include == "":
		return "", errors.New("include must be a non-empty glob when given")
	case strings.HasPrefix(include, "!"):
		return "", errors.New(`include must be a positive glob filter; negated patterns ("!…") are not supported`)
	}
	depth := 0
	for i := 0; i < len(include); i++ {
		switch include[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			depth--
		case ',':
			if depth <= 0 {
				return "", errors.New("include must be one glob, not a comma-separated list (use {a,b} alternation instead)")
			}
		}
	}
	return include, nil
}

func (t *Tools) doGrep(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	g, err := readGrepArgs(args)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	p, err := begin(args, run.Execution())
	if err != nil {
		return jsonvalue.Value{}, err
	}
	missing := &skips{}
	files := []string{p.file}
	if p.file == "" {
		w := walk{root: p.root, hidden: flag(args, "hidden"), ignored: flag(args, "no_ignore"), skips: missing}
		if g.include != "" {
			match, err := compilePath("include", filepath.ToSlash(g.include), filepath.ToSlash(p.shown))
			if err != nil {
				return jsonvalue.Value{}, err
			}
			w.hidden = w.hidden || match.hidden
			w.wantDir, w.wantFile = match.dir, match.file
		}
		if files, err = w.files(ctx); err != nil {
			return jsonvalue.Value{}, cannotWalk(ctx, p, err)
		}
	}
	job := searchJob{query: g.query, root: p.root, files: files, rg: t.rg, skips: missing, any: g.mode == modeFiles}
	if g.mode == modeContent {
		job.lines = g.limit
	}
	out, err := job.run(ctx)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	matches, err := g.matches(ctx, p, files, out)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	counts := make([]jsonvalue.Value, min(len(out.files), valuePaths))
	for i := range counts {
		f := jsonvalue.Object(member("path", jsonvalue.String(p.name(files[out.files[i].index]))))
		if g.mode != modeFiles {
			f = f.With("count", integer(out.files[i].count))
		}
		counts[i] = f
	}
	v := jsonvalue.Object(member("matches", jsonvalue.Array(matches...)), member("files", jsonvalue.Array(counts...)))
	truncated := len(counts) < len(out.files)
	if g.mode != modeFiles {
		v = v.With("total", integer(out.total))
		truncated = truncated || g.mode == modeContent && len(matches) < out.total
	}
	v = v.With("totalFiles", integer(len(out.files))).With("truncated", jsonvalue.Bool(truncated))
	return missing.value(v, p), nil
}

// matches are the lines of a value, with what is around them.
func (g grepArgs) matches(ctx context.Context, p place, files []string, out outcome) ([]jsonvalue.Value, error) {
	var list []jsonvalue.Value
	for _, f := range out.hits {
		rel := files[f.index]
		near, err := surroundings(ctx, filepath.Join(p.root, filepath.FromSlash(rel)), f.hits, g.before, g.after)
		if err != nil {
			return nil, err
		}
		path := jsonvalue.String(p.name(rel))
		for _, h := range f.hits {
			v := jsonvalue.Object(member("path", path), member("lineNumber", integer(h.number)), member("line", jsonvalue.String(h.text)))
			if h.cut {
				v = v.With("lineTruncated", jsonvalue.Bool(true))
			}
			for _, side := range []struct {
				name     string
				from, to int
				want     bool
			}{
				{"before", h.number - g.before, h.number - 1, g.before > 0},
				{"after", h.number + 1, h.number + g.after, g.after > 0},
			} {
				if !side.want {
					continue
				}
				lines := []jsonvalue.Value{}
				for n := side.from; n <= side.to; n++ {
					if text, ok := near[n]; ok {
						lines = append(lines, jsonvalue.String(text))
					}
				}
				v = v.With(side.name, jsonvalue.Array(lines...))
			}
			list = append(list, v)
		}
	}
	return list, nil
}
