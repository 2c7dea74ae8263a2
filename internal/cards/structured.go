package cards

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// structuredResult projects the cards that ACP has no form for: a readable text,
// locations for every file, links for sources, and the structure itself for
// editors that know it.
func (p *Projector) structuredResult(u *ToolUpdate, v *Result, in ResultInput) {
	u.Title = v.Title
	if in.IsError {
		u.Content = rawContent(in)
		return
	}
	switch {
	case v.Card == Search && v.Search != nil:
		u.Content = textContent(Fence("", searchText(v.Search)))
		u.Locations = p.absoluteLocations(searchLocations(v.Search))
		u.Card = searchCard(v.Search)
	case v.Card == Read && v.Read != nil:
		u.Content = textContent(Fence(v.Read.Lang, readText(v.Read)))
		u.Locations = p.absoluteLocations([]Location{{Path: v.Read.Path, Line: max(1, v.Read.Offset)}})
		u.Card = readCard(v.Read)
	case v.Card == Web && v.Web != nil:
		u.Content = webContent(v.Web, in)
		u.Card = webCard(v.Web)
	default:
		u.Content = rawContent(in)
	}
}

func textContent(s string) []ToolContent {
	b := content.Text(s)
	return []ToolContent{{Block: &b}}
}

func searchText(s *SearchResult) string {
	var b strings.Builder
	shown := 0
	for i, f := range s.Files {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(f.Path + "\n")
		for _, m := range f.Matches {
			fmt.Fprintf(&b, "%6d: %s\n", m.LineNumber, m.Line)
			shown++
		}
	}
	for i, path := range s.Paths {
		b.WriteString(path)
		if i < len(s.Counts) {
			fmt.Fprintf(&b, ": %d", s.Counts[i])
		}
		b.WriteByte('\n')
		shown++
	}
	if shown == 0 {
		b.WriteString("nothing found\n")
	}
	if s.Truncated {
		fmt.Fprintf(&b, "\n(showing %d of %d)\n", shown, s.Total)
	}
	if s.Note != "" {
		b.WriteString("\n" + s.Note + "\n")
	}
	return b.String()
}

func searchLocations(s *SearchResult) []Location {
	var out []Location
	for _, f := range s.Files {
		for _, m := range f.Matches {
			out = append(out, Location{Path: f.Path, Line: m.LineNumber})
		}
	}
	for _, path := range s.Paths {
		out = append(out, Location{Path: path})
	}
	return out
}

func readText(r *ReadResult) string {
	if r.Content != "" || len(r.Lines) == 0 {
		return r.Content
	}
	var b strings.Builder
	for _, l := range r.Lines {
		b.WriteString(l.Text + "\n")
	}
	return b.String()
}

func webContent(w *WebResult, in ResultInput) []ToolContent {
	out := rawContent(in)
	for _, s := range w.Sources {
		name := s.Title
		if name == "" {
			name = s.URL
		}
		link := jsonvalue.Object(
			jsonvalue.Member{Key: "type", Value: jsonvalue.String("resource_link")},
			jsonvalue.Member{Key: "uri", Value: jsonvalue.String(s.URL)},
			jsonvalue.Member{Key: "name", Value: jsonvalue.String(name)},
		)
		if b, err := content.FromValue(link); err == nil {
			out = append(out, ToolContent{Block: &b})
		}
	}
	return out
}

func searchCard(s *SearchResult) jsonvalue.Value {
	m := []jsonvalue.Member{{Key: "card", Value: jsonvalue.String("search")}}
	if s.Paths != nil {
		paths := make([]jsonvalue.Value, len(s.Paths))
		for i, p := range s.Paths {
			paths[i] = jsonvalue.String(p)
		}
		m = append(m, jsonvalue.Member{Key: "shape", Value: jsonvalue.String("paths")}, jsonvalue.Member{Key: "paths", Value: jsonvalue.Array(paths...)})
		if s.Counts != nil {
			counts := make([]jsonvalue.Value, len(s.Counts))
			for i, n := range s.Counts {
				counts[i] = jsonvalue.Int(int64(n))
			}
			m = append(m, jsonvalue.Member{Key: "counts", Value: jsonvalue.Array(counts...)})
		}
	} else {
		files := make([]jsonvalue.Value, len(s.Files))
		for i, f := range s.Files {
			matches := make([]jsonvalue.Value, len(f.Matches))
			for j, x := range f.Matches {
				matches[j] = jsonvalue.Object(
					jsonvalue.Member{Key: "lineNumber", Value: jsonvalue.Int(int64(x.LineNumber))},
					jsonvalue.Member{Key: "line", Value: jsonvalue.String(x.Line)})
			}
			files[i] = jsonvalue.Object(
				jsonvalue.Member{Key: "path", Value: jsonvalue.String(f.Path)},
				jsonvalue.Member{Key: "matches", Value: jsonvalue.Array(matches...)})
		}
		m = append(m, jsonvalue.Member{Key: "shape", Value: jsonvalue.String("matches")}, jsonvalue.Member{Key: "files", Value: jsonvalue.Array(files...)})
	}
	m = append(m, jsonvalue.Member{Key: "truncated", Value: jsonvalue.Bool(s.Truncated)}, jsonvalue.Member{Key: "total", Value: jsonvalue.Int(int64(s.Total))})
	if s.Note != "" {
		m = append(m, jsonvalue.Member{Key: "note", Value: jsonvalue.String(s.Note)})
	}
	return jsonvalue.Object(m...)
}

func readCard(r *ReadResult) jsonvalue.Value {
	lines := make([]jsonvalue.Value, len(r.Lines))
	for i, l := range r.Lines {
		lines[i] = jsonvalue.Object(
			jsonvalue.Member{Key: "number", Value: jsonvalue.Int(int64(l.Number))},
			jsonvalue.Member{Key: "text", Value: jsonvalue.String(l.Text)})
	}
	m := []jsonvalue.Member{
		{Key: "card", Value: jsonvalue.String("read")},
		{Key: "path", Value: jsonvalue.String(r.Path)},
		{Key: "offset", Value: jsonvalue.Int(int64(r.Offset))},
		{Key: "lines", Value: jsonvalue.Array(lines...)},
		{Key: "totalLines", Value: jsonvalue.Int(int64(r.TotalLines))},
	}
	if r.Lang != "" {
		m = append(m, jsonvalue.Member{Key: "lang", Value: jsonvalue.String(r.Lang)})
	}
	return jsonvalue.Object(m...)
}

func webCard(w *WebResult) jsonvalue.Value {
	m := []jsonvalue.Member{{Key: "card", Value: jsonvalue.String("web")}, {Key: "kind", Value: jsonvalue.String(w.Kind)}}
	add := func(k, s string) {
		if s != "" {
			m = append(m, jsonvalue.Member{Key: k, Value: jsonvalue.String(s)})
		}
	}
	if w.Kind == "fetch" {
		add("url", w.URL)
		m = append(m, jsonvalue.Member{Key: "statusCode", Value: jsonvalue.Int(int64(w.StatusCode))})
	} else {
		sources := make([]jsonvalue.Value, len(w.Sources))
		for i, s := range w.Sources {
			sm := []jsonvalue.Member{{Key: "url", Value: jsonvalue.String(s.URL)}}
			for _, f := range [][2]string{{"title", s.Title}, {"snippet", s.Snippet}, {"publishedAt", s.PublishedAt}} {
				if f[1] != "" {
					sm = append(sm, jsonvalue.Member{Key: f[0], Value: jsonvalue.String(f[1])})
				}
			}
			sources[i] = jsonvalue.Object(sm...)
		}
		m = append(m, jsonvalue.Member{Key: "sources", Value: jsonvalue.Array(sources...)})
		add("answer", w.Answer)
	}
	m = append(m, jsonvalue.Member{Key: "truncated", Value: jsonvalue.Bool(w.Truncated)})
	return jsonvalue.Object(m...)
}
