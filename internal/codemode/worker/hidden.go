package worker

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"
)

// The names under which rewritten code finds its helpers. The space makes them
// names that no program can write, so none is shadowed or called by one; as
// constants of the global scope they are no property of any object.
const (
	checkName  = "$ callable"
	textMake   = "$ text"
	textRead   = "$ textRead"
	textLength = "$ textLength"
	textAdd    = "$ textAdd"
	textAddAt  = "$ textAddAt"
	textSet    = "$ textSet"
)

var helperNames = []string{checkName, textMake, textRead, textLength, textAdd, textAddAt, textSet}

// handName is a global function that is there while the helpers are handed over.
const handName = "$hand"

// helperProgram declares the helpers. They are written with names that can be,
// which the tree then has replaced.
var helperProgram = sync.OnceValues(func() (*goja.Program, error) {
	var source strings.Builder
	for i := range helperNames {
		fmt.Fprintf(&source, "const helper%d = %s(%d);\n", i, handName, i)
	}
	tree, err := goja.Parse("helpers.js", source.String())
	if err != nil {
		return nil, err
	}
	for i, s := range tree.Body {
		declared, ok := s.(*ast.LexicalDeclaration)
		if !ok {
			return nil, fmt.Errorf("statement %d of the helpers is a %T", i, s)
		}
		declared.List[0].Target.(*ast.Identifier).Name = unistring.NewFromString(helperNames[i])
	}
	return goja.CompileAST(tree, true)
})

// hide makes the helpers known to the program's code, by their names.
func (e *Engine) hide(helpers map[string]goja.Value) error {
	for name := range helpers {
		if !slices.Contains(helperNames, name) {
			return fmt.Errorf("the helper %q has no place", name)
		}
	}
	program, err := helperProgram()
	if err != nil {
		return err
	}
	global := e.vm.GlobalObject()
	if err := global.Set(handName, func(i int) goja.Value { return helpers[helperNames[i]] }); err != nil {
		return err
	}
	if _, err := e.vm.RunProgram(program); err != nil {
		return err
	}
	return global.Delete(handName)
}
