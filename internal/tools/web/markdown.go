package web

import (
	"net/url"
	"strings"
	"sync"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/strikethrough"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// toMarkdown is made at the first page: start-up must not pay for it.
var toMarkdown = sync.OnceValue(func() *converter.Converter {
	return converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), strikethrough.NewStrikethroughPlugin(), table.NewTablePlugin(),
	))
})

// maxConverted is how long a page may be, in bytes, to be converted: nobody can
// stop a conversion, and it takes a second for every million.
const maxConverted = 2_000_000

// markdown converts a page. A page that cannot be converted, or is too long for
// it, gives its text.
func markdown(page string, at *url.URL) (text string) {
	defer func() {
		if recover() != nil {
			text = plain(page)
		}
	}()
	if len(page) > maxConverted {
		return plain(page)
	}
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil { // nested too deeply
		return plain(page)
	}
	prune(doc, at)
	out, err := toMarkdown().ConvertNode(doc)
	if err != nil {
		return plain(page)
	}
	return strings.TrimSpace(string(out))
}

// silent are elements that say nothing to a reader.
var silent = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Svg: true, atom.Iframe: true,
	atom.Object: true, atom.Embed: true, atom.Canvas: true, atom.Head: true, atom.Link: true, atom.Meta: true,
}

// prune takes away what says nothing and makes links whole.
func prune(doc *html.Node, at *url.URL) {
	base := at
	var gone []*html.Node
	for n := range doc.Descendants() {
		if n.Type == html.CommentNode || n.Type == html.ElementNode && silent[n.DataAtom] {
			gone = append(gone, n)
		}
		if n.Type != html.ElementNode {
			continue
		}
		for i := range n.Attr {
			a := &n.Attr[i]
			switch {
			case n.DataAtom == atom.Base && a.Key == "href":
				if u, err := at.Parse(a.Val); err == nil && (u.Scheme == "http" || u.Scheme == "https") {
					base = u
				}
			case a.Key == "href" && n.DataAtom == atom.A, a.Key == "src" && n.DataAtom == atom.Img:
				a.Val = whole(base, a.Val)
			}
		}
	}
	for _, n := range gone {
		if n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
}

// whole is a link as it can be fetched. Data in a link is of no use to a reader.
func whole(base *url.URL, link string) string {
	u, err := base.Parse(strings.TrimSpace(link))
	switch {
	case err != nil:
		return link
	case u.Scheme == "data" || u.Scheme == "javascript":
		return ""
	}
	return u.String()
}

// plain is the text of a page, one line a block, without any structure.
func plain(page string) string {
	z := html.NewTokenizer(strings.NewReader(page))
	var b strings.Builder
	skip := 0
	for {
		switch z.Next() {
		case html.ErrorToken:
			lines := strings.FieldsFunc(b.String(), func(r rune) bool { return r == '\n' })
			out := lines[:0]
			for _, l := range lines {
				if l = strings.Join(strings.Fields(l), " "); l != "" {
					out = append(out, l)
				}
			}
			return strings.Join(out, "\n")
		case html.TextToken:
			if skip == 0 {
				b.Write(z.Text())
			}
		case html.StartTagToken:
			name, _ := z.TagName()
			if a := atom.Lookup(name); a == atom.Script || a == atom.Style {
				skip++
			}
			b.WriteByte('\n')
		case html.EndTagToken:
			name, _ := z.TagName()
			if a := atom.Lookup(name); skip > 0 && (a == atom.Script || a == atom.Style) {
				skip--
			}
			b.WriteByte('\n')
		}
	}
}
