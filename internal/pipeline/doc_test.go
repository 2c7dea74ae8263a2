package pipeline_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var namesRule = regexp.MustCompile(`(?s)\b(rules?|decisions?|specification)\s+(//\s*)?R?\d`)

// Every exported identifier of the registry and the pipeline has a comment that
// names the rule it implements, so that a reader can find out why.
func TestExportedNamesCiteTheirRule(t *testing.T) {
	for _, dir := range []string{".", "../registry"} {
		files, err := filepath.Glob(filepath.Join(dir, "*.go"))
		must(t, err)
		for _, name := range files {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			src, err := os.ReadFile(name)
			must(t, err)
			fset := token.NewFileSet()
			f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
			must(t, err)
			for _, d := range f.Decls {
				for id, doc := range exported(d) {
					if !namesRule.MatchString(doc) {
						t.Errorf("%s: %s has no comment that names a rule", name, id)
					}
				}
			}
		}
	}
}

// exported gives the exported identifiers of a declaration with the comments
// that speak for them: their own, and that of the group around them.
func exported(d ast.Decl) map[string]string {
	out := map[string]string{}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || receiverExported(d)) {
			out[d.Name.Name] = d.Doc.Text()
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					out[s.Name.Name] = d.Doc.Text() + s.Doc.Text()
				}
			case *ast.ValueSpec:
				for _, n := range s.Names {
					if n.IsExported() {
						out[n.Name] = d.Doc.Text() + s.Doc.Text() + s.Comment.Text()
					}
				}
			}
		}
	}
	return out
}

func receiverExported(d *ast.FuncDecl) bool {
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.Ident:
			return x.IsExported()
		default:
			return false
		}
	}
}
