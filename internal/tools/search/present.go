package search

import (
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// metaBudget bounds what the log keeps of a result for its card, in bytes.
const metaBudget = 64 << 10

func presentGlob(args jsonvalue.Value) *cards.Call { return presentCall("Glob ", args) }

func presentGrep(args jsonvalue.Value) *cards.Call {
	card := presentCall("Grep ", args)
	if include := args.GetString("include"); include != "" {
		card.Title += " (" + include + ")"
	}
	return card
}

func presentCall(verb string, args jsonvalue.Value) *cards.Call {
	card := &cards.Call{Card: cards.Generic, Kind: cards.KindSearch, Title: verb + args.GetString("pattern"), RawInput: args.Get("pattern")}
	if path := args.GetString("path"); path != "" {
		card.Title += " in " + path
	}
	return card
}

func globMeta(_, value jsonvalue.Value) (jsonvalue.Value, error) {
	paths := value.Get("paths")
	total, _ := value.Get("total").Int64()
	return noted(pathsMeta(paths.Len(), func(i int) jsonvalue.Value { return paths.At(i) }, int(total), shownPaths), value), nil
}

// pathsMeta keeps as many paths as the budget has room for, one at least.
func pathsMeta(n int, path func(int) jsonvalue.Value, total, most int) jsonvalue.Value {
	var kept []jsonvalue.Value
	size := 0
	for i := range min(n, most) {
		p := path(i)
		if size += len(p.JSON()) + 1; size > metaBudget && i > 0 {
			break
		}
		kept = append(kept, p)
	}
	return searchMeta("paths", "paths", kept, total, len(kept) < total)
}

func searchMeta(shape, key string, list []jsonvalue.Value, total int, truncated bool) jsonvalue.Value {
	return jsonvalue.Object(
		member("shape", jsonvalue.String(shape)),
		member(key, jsonvalue.Array(list...)),
		member("truncated", jsonvalue.Bool(truncated)),
		member("total", integer(total)),
	)
}

// noted adds what was not searched, without which a card would look complete.
func noted(meta, value jsonvalue.Value) jsonvalue.Value {
	if note := strings.TrimSpace(renderSkipped(value)); note != "" {
		return meta.With("note", jsonvalue.String(note))
	}
	return meta
}

// counted adds the number of matching lines of each path that the meta kept.
func counted(meta, files jsonvalue.Value) jsonvalue.Value {
	counts := make([]jsonvalue.Value, meta.Get("paths").Len())
	for i := range counts {
		counts[i] = files.At(i).Get("count")
		if _, ok := counts[i].Int64(); !ok {
			return meta
		}
	}
	return meta.With("counts", jsonvalue.Array(counts...))
}

func grepMeta(args, value jsonvalue.Value) (jsonvalue.Value, error) {
	if mode := args.GetString("output_mode"); mode == modeFiles || mode == modeCount {
		files := value.Get("files")
		total, _ := value.Get("totalFiles").Int64()
		meta := pathsMeta(files.Len(), func(i int) jsonvalue.Value { return files.At(i).Get("path") }, int(total), maxLimit)
		if mode == modeCount {
			meta = counted(meta, files)
		}
		return noted(meta, value), nil
	}
	total, _ := value.Get("total").Int64()
	var files, lines []jsonvalue.Value
	size, kept := 0, 0
	matches := value.Get("matches")
	for i := 0; i < matches.Len(); {
		// One file at a time: it is kept whole, or not at all. Only the first
		// may lose its end, since something has to be kept.
		path := matches.At(i).Get("path")
		lines = nil
		grown := size + len(path.JSON()) + len(`{"path":,"matches":[]},`)
		fits := true
		for ; i < matches.Len() && matches.At(i).Get("path").Equal(path); i++ {
			m := matches.At(i)
			line := jsonvalue.Object(member("lineNumber", m.Get("lineNumber")), member("line", m.Get("line")))
			grown += len(line.JSON()) + 1
			if fits = fits && (grown <= metaBudget || len(files)+len(lines) == 0); fits {
				lines = append(lines, line)
			}
		}
		if !fits && len(files) > 0 {
			break
		}
		files = append(files, jsonvalue.Object(member("path", path), member("matches", jsonvalue.Array(lines...))))
		kept += len(lines)
		if size = grown; !fits {
			break
		}
	}
	return noted(searchMeta("matches", "files", files, int(total), int64(kept) < total), value), nil
}

// presentResult shows what was found. Without meta that makes sense, or when the
// call failed, the text is shown as it is.
func presentResult(_ jsonvalue.Value, r cards.ResultInput) *cards.Result {
	total, ok := r.Meta.Get("total").Int64()
	truncated, isBool := r.Meta.Get("truncated").Bool()
	if r.IsError || !ok || !isBool {
		return nil
	}
	s := &cards.SearchResult{Truncated: truncated, Total: int(total), Note: r.Meta.GetString("note")}
	switch r.Meta.GetString("shape") {
	case "paths":
		s.Paths = []string{}
		for _, p := range r.Meta.Get("paths").Elements() {
			path, ok := p.Str()
			if !ok {
				return nil
			}
			s.Paths = append(s.Paths, path)
		}
		for _, c := range r.Meta.Get("counts").Elements() {
			n, _ := c.Int64()
			s.Counts = append(s.Counts, int(n))
		}
	case "matches":
		for _, f := range r.Meta.Get("files").Elements() {
			path, ok := f.Get("path").Str()
			if !ok {
				return nil
			}
			file := cards.SearchFile{Path: path}
			for _, m := range f.Get("matches").Elements() {
				n, isNumber := m.Get("lineNumber").Int64()
				line, isText := m.Get("line").Str()
				if !isNumber || !isText {
					return nil
				}
				file.Matches = append(file.Matches, cards.SearchMatch{LineNumber: int(n), Line: line})
			}
			s.Files = append(s.Files, file)
		}
	default:
		return nil
	}
	return &cards.Result{Card: cards.Search, Search: s}
}
