package worker

import (
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"
)

// rewrite corrects what a program would see of goja that no library can.
//
// Calling a missing member of an object throws "Object has no member 'x'" there;
// everywhere else, and in what models were trained on, it is "o.x is not a
// function". For the one object where it matters, tools, a call of a name that
// is no tool asks a helper first, which hands out the object, or a stand-in
// that throws the usual error when called.
func rewrite(tree *ast.Program, tools []string) {
	known := make(map[unistring.String]bool, len(tools))
	for _, t := range tools {
		known[unistring.NewFromString(t)] = true
	}
	walk(reflect.ValueOf(tree.Body), func(n any) {
		call, ok := n.(*ast.CallExpression)
		if !ok {
			return
		}
		switch callee := call.Callee.(type) {
		case *ast.DotExpression:
			if isTools(callee.Left) && !known[callee.Identifier.Name] {
				callee.Left = checked(callee.Left.(*ast.Identifier), callee.Identifier.Name)
			}
		case *ast.BracketExpression:
			if name, ok := callee.Member.(*ast.StringLiteral); ok && isTools(callee.Left) && !known[name.Value] {
				callee.Left = checked(callee.Left.(*ast.Identifier), name.Value)
			}
		}
	})
}

func isTools(x ast.Expression) bool {
	id, ok := x.(*ast.Identifier)
	return ok && id.Name == "tools"
}

func checked(tools *ast.Identifier, name unistring.String) ast.Expression {
	return &ast.CallExpression{
		Callee:           &ast.Identifier{Name: checkName, Idx: tools.Idx},
		LeftParenthesis:  tools.Idx,
		ArgumentList:     []ast.Expression{tools, &ast.StringLiteral{Idx: tools.Idx, Literal: name.String(), Value: name}},
		RightParenthesis: tools.Idx,
	}
}

var astPackage = reflect.TypeFor[ast.Program]().PkgPath()

// walk visits every node of a tree, parents after children. The tree has no
// visitor of its own.
func walk(v reflect.Value, visit func(any)) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			walk(v.Elem(), visit)
		}
	case reflect.Pointer:
		if v.IsNil() || v.Type().Elem().PkgPath() != astPackage {
			return
		}
		walk(v.Elem(), visit)
		visit(v.Interface())
	case reflect.Struct:
		if v.Type().PkgPath() != astPackage {
			return
		}
		for i := range v.NumField() {
			walk(v.Field(i), visit)
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k != reflect.Interface && k != reflect.Pointer && k != reflect.Struct {
			return
		}
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	}
}
