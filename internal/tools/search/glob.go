package search

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

const (
	shownPaths = 100    // paths in the text of glob
	valuePaths = 10_000 // paths in a value
)

func (t *Tools) glob() registry.Definition {
	return registry.Definition{
		Name:        "glob",
		Description: strings.TrimSpace(globDescription),
		Parameters: schema.Params{
			schema.Required("pattern", schema.String("The pattern, such as `*.go`, `src/**/*.{ts,tsx}` or `docs/**`.")),
			schema.Optional("path", schema.String("The folder to search; relative to the session's directory, which is the default.")),
			schema.Optional("hidden", schema.Boolean("Also find files and folders whose names begin with a dot.")),
			schema.Optional("no_ignore", schema.Boolean("Also find what .gitignore excludes.")),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("", append([]schema.Property{
				schema.Required("paths", schema.Array("The files, the last changed first; relative to the session's directory when they are below it.", schema.String(""))),
				schema.Required("total", schema.Integer("How many files match.")),
				schema.Required("truncated", schema.Boolean("Whether paths does not have them all.")),
			}, skippedProperties()...)...)),
			Render:           renderGlob,
			PresentationMeta: globMeta,
		},
		Execute:         t.doGlob,
		PresentCall:     presentGlob,
		PresentResult:   presentResult,
		ConcurrencySafe: func(jsonvalue.Value) bool { return true },
		Timeout:         Timeout,
	}
}

func (t *Tools) doGlob(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	pattern, err := requiredText(args, "pattern")
	if err != nil {
		return jsonvalue.Value{}, err
	}
	p, err := begin(args, run.Execution())
	if err != nil {
		return jsonvalue.Value{}, err
	}
	if p.file != "" {
		return jsonvalue.Value{}, fail(CodeFailed, "cannot search %q: not a folder", p.shown)
	}
	match, err := compilePath("pattern", filepath.ToSlash(pattern), filepath.ToSlash(p.shown))
	if err != nil {
		return jsonvalue.Value{}, err
	}
	missing := &skips{}
	var files []string
	if !inVersionControl(p.root) {
		w := walk{
			root: p.root, hidden: flag(args, "hidden") || match.hidden, ignored: flag(args, "no_ignore"),
			wantDir: match.dir, wantFile: match.file, skips: missing,
		}
		if files, err = w.files(ctx); err != nil {
			return jsonvalue.Value{}, cannotWalk(ctx, p, err)
		}
	}
	if files, err = newestFirst(ctx, p.root, files); err != nil {
		return jsonvalue.Value{}, err
	}
	paths := make([]jsonvalue.Value, min(len(files), valuePaths))
	for i := range paths {
		paths[i] = jsonvalue.String(p.name(files[i]))
	}
	return missing.value(jsonvalue.Object(
		member("paths", jsonvalue.Array(paths...)),
		member("total", integer(len(files))),
		member("truncated", jsonvalue.Bool(len(paths) < len(files))),
	), p), nil
}

// cannotWalk explains why a folder could not be walked.
func cannotWalk(ctx context.Context, p place, err error) error {
	if ended(ctx) != nil {
		return ended(ctx)
	}
	if _, ok := err.(*Error); ok { //nolint:errorlint // made by the walk itself
		return err
	}
	return fail(CodeFailed, "cannot search %q: %s", p.shown, reason(err))
}

// inVersionControl says whether a folder is within a repository's own data.
func inVersionControl(dir string) bool {
	return slices.ContainsFunc(strings.Split(filepath.ToSlash(dir), "/"), func(part string) bool { return versionControl[part] })
}

// newestFirst orders files by when they were last changed, and by path where
// that is the same. Those that are gone by now are left out.
func newestFirst(ctx context.Context, root string, files []string) ([]string, error) {
	const batch = 256
	changed := make([]int64, len(files))
	gone := make([]bool, len(files))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(workers(), (len(files)+batch-1)/batch) {
		wg.Go(func() {
			for ctx.Err() == nil {
				end := int(next.Add(batch))
				if end-batch >= len(files) {
					return
				}
				for i := end - batch; i < min(end, len(files)); i++ {
					info, err := os.Lstat(filepath.Join(root, filepath.FromSlash(files[i])))
					if gone[i] = err != nil; err == nil {
						changed[i] = info.ModTime().UnixNano()
					}
				}
			}
		})
	}
	wg.Wait()
	if err := ended(ctx); err != nil {
		return nil, err
	}
	order := make([]int, 0, len(files))
	for i := range files {
		if !gone[i] {
			order = append(order, i)
		}
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case changed[a] > changed[b]:
			return -1
		case changed[a] < changed[b]:
			return 1
		}
		return a - b
	})
	sorted := make([]string, len(order))
	for i, at := range order {
		sorted[i] = files[at]
	}
	return sorted, nil
}

func renderGlob(_, value jsonvalue.Value) ([]content.Block, error) {
	total, _ := value.Get("total").Int64()
	if total == 0 {
		return []content.Block{content.Text("No files found" + renderSkipped(value))}, nil
	}
	var b strings.Builder
	n := 0
	for i, path := range value.Get("paths").Elements() {
		if i == shownPaths {
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		s, _ := path.Str()
		b.WriteString(s)
		n++
	}
	if int64(n) < total {
		fmt.Fprintf(&b, "\n\n(Showing %d of %d paths. The complete result could not be saved; narrow pattern or path to see more.)", n, total)
	}
	b.WriteString(renderSkipped(value))
	return []content.Block{content.Text(b.String())}, nil
}
