package web

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"
)

// contentType is what a server says of its answer.
type contentType struct {
	name    string // "" when it says nothing
	charset string // the whole header, for whoever looks the charset up
}

// textTypes are the types below application/ that are text.
var textTypes = map[string]bool{
	"json": true, "xml": true, "javascript": true, "ecmascript": true, "x-javascript": true, "typescript": true,
	"yaml": true, "x-yaml": true, "toml": true, "x-ndjson": true, "jsonl": true, "json-seq": true, "graphql": true,
	"sql": true, "x-sh": true, "x-httpd-php": true, "x-www-form-urlencoded": true, "rtf": false,
	"xhtml+xml": true, "rss+xml": true, "atom+xml": true, "ld+json": true, "manifest+json": true, "x-tex": true, "x-latex": true,
}

// typeOf refuses what is no text by its name. Types that say nothing are looked
// at later.
func typeOf(header string) (contentType, error) {
	name, _, err := mime.ParseMediaType(header)
	if err != nil {
		// A parameter that cannot be read leaves the type.
		name, _, _ = strings.Cut(header, ";")
		name = strings.ToLower(strings.TrimSpace(name))
	}
	t := contentType{name: name, charset: header}
	family, sub, _ := strings.Cut(name, "/")
	switch {
	case name == "" || name == "application/octet-stream" || name == "binary/octet-stream" || name == "application/x-download":
		t.name = ""
		return t, nil
	case family == "text", family == "application" && (textTypes[sub] || strings.HasSuffix(sub, "+json") || strings.HasSuffix(sub, "+xml")),
		name == "image/svg+xml", family == "message":
		return t, nil
	}
	return t, unsupported(name)
}

func unsupported(name string) error {
	hint := ""
	if name == "application/pdf" {
		hint = ": a PDF cannot be read; look for the same text as a page"
	}
	return fmt.Errorf("unsupported content type %q%s", name, hint)
}

// text makes text of a body, and says whether it is a page.
func (t contentType) text(body []byte) (text string, html bool, err error) {
	sniffed := http.DetectContentType(body)
	sniffed, _, _ = strings.Cut(sniffed, ";")
	name := t.name
	if name == "" {
		name = sniffed
	}
	if bytes.HasPrefix(body, []byte("%PDF-")) {
		return "", false, unsupported("application/pdf")
	}
	html = name == "text/html" || name == "application/xhtml+xml"
	declared := t.charset
	if !html {
		// The lookup reads meta elements of whatever is no other type.
		declared = "text/plain"
		if _, params, err := mime.ParseMediaType(t.charset); err == nil && params["charset"] != "" {
			declared += "; charset=" + params["charset"]
		}
	}
	enc, label, certain := charset.DetermineEncoding(body[:min(len(body), 1024)], declared)
	if !certain && label == "windows-1252" && utf8.Valid(body) {
		label = "utf-8" // the guess for text that says nothing is made of its beginning
	}
	if !strings.HasPrefix(label, "utf-16") && bytes.IndexByte(body[:min(len(body), 8192)], 0) >= 0 {
		if t.name == "" || strings.HasPrefix(t.name, "text/") {
			name = sniffed
		}
		if strings.HasPrefix(name, "text/") {
			name = "application/octet-stream"
		}
		return "", false, unsupported(name)
	}
	if t.name == "" && !strings.HasPrefix(sniffed, "text/") && !utf8.Valid(body) {
		return "", false, unsupported(sniffed)
	}
	if label == "utf-8" {
		body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
		return strings.ToValidUTF8(string(body), "\uFFFD"), html, nil
	}
	decoded, err := enc.NewDecoder().Bytes(body)
	if err != nil {
		return "", false, fmt.Errorf("web fetch failed: the text is not in the charset %q that it is said to be in", label)
	}
	return strings.TrimPrefix(strings.ToValidUTF8(string(decoded), "\uFFFD"), "\uFEFF"), html, nil
}
