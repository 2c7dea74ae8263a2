package worker

import (
	"reflect"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// Texts that grow by += are quadratic in goja: every step copies the whole. For
// variables where it can be told from the program alone that nothing else
// changes, the variable holds a buffer instead (textBuffer): += appends to it,
// and every read takes the text out, which is kept until the next append.
//
// A variable qualifies if
//   - its name is bound once in the whole program, by a let that gives it a
//     text, and not in the head of a for;
//   - it is only read, assigned with =, or appended to with +=, at least once
//     within a loop or a function of its own;
//   - no += has another change of it in its right side;
//   - if it is changed in other functions than its own: there is no =, and no
//     await or yield in the right side of a +=. Appends then nest like calls,
//     and a length taken before the right side is evaluated (what the language
//     reads first) is enough to undo what happened meanwhile;
//   - the program does not use eval.
//
// Everything else stays as it is.
type textVars struct {
	vars    map[unistring.String]*textVar
	stack   []any // the nodes around
	scopes  []any // the functions around
	loops   int
	pattern int
	eval    bool
}

type textVar struct {
	bound    int          // how often the name is bound
	binding  *ast.Binding // the let
	scope    any          // the function the let is in
	outside  bool         // it is changed in another function
	assigned bool         // there is an =
	suspends bool         // a right side has await or yield
	grows    bool         // there is a += worth the trouble
	refused  bool
	changes  []*ast.AssignExpression
}

// growTexts finds the variables that qualify and rewrites the tree for them.
// isGlobal says whether a name means something outside the program: such a name
// may be used where the variable is out of scope.
func growTexts(tree *ast.Program, isGlobal func(name string) bool) {
	t := &textVars{vars: map[unistring.String]*textVar{}}
	t.visit(reflect.ValueOf(&tree.Body).Elem(), nil, "")
	if t.eval {
		return
	}
	for name := range textHelpers {
		if t.vars[unistring.String(name)] != nil {
			return // the program has names of its own like ours
		}
	}
	found := false
	for name, v := range t.vars {
		ok := v.bound == 1 && v.binding != nil && v.grows && !v.refused &&
			!(v.outside && (v.assigned || v.suspends)) && !t.nested(v) && !isGlobal(name.String())
		if !ok {
			delete(t.vars, name)
		}
		found = found || ok
	}
	if found {
		t.rewrite(reflect.ValueOf(&tree.Body).Elem())
	}
}

// nested says whether a right side of a += changes the variable itself.
func (t *textVars) nested(v *textVar) bool {
	changes := map[*ast.AssignExpression]bool{}
	for _, c := range v.changes {
		changes[c] = true
	}
	inside := false
	for _, c := range v.changes {
		walk(reflect.ValueOf(&c.Right), func(n any) {
			if a, ok := n.(*ast.AssignExpression); ok && changes[a] {
				inside = true
			}
		})
	}
	return inside
}

func (t *textVars) get(name unistring.String) *textVar {
	v := t.vars[name]
	if v == nil {
		v = &textVar{}
		t.vars[name] = v
	}
	return v
}

// visit walks the tree with its surroundings. owner and field say where v is.
func (t *textVars) visit(v reflect.Value, owner any, field string) {
	switch v.Kind() {
	case reflect.Interface:
		if !v.IsNil() {
			t.visit(v.Elem(), owner, field)
		}
	case reflect.Pointer:
		if v.IsNil() || v.Type().Elem().PkgPath() != astPackage {
			return
		}
		if id, ok := v.Interface().(*ast.Identifier); ok {
			t.identifier(id, owner, field)
			return
		}
		if d, ok := v.Interface().(*ast.DotExpression); ok && d.Identifier.Name == "length" {
			t.lengthTarget(d, owner, field)
		}
		t.enter(v.Elem(), v.Interface())
	case reflect.Struct:
		if v.Type().PkgPath() != astPackage {
			return
		}
		if id, ok := v.Interface().(ast.Identifier); ok {
			if _, short := owner.(*ast.PropertyShort); short {
				t.identifier(&id, owner, field)
			}
			return
		}
		t.enter(v, v.Addr().Interface())
	case reflect.Slice:
		for i := range v.Len() {
			t.visit(v.Index(i), owner, field)
		}
	}
}

func (t *textVars) enter(v reflect.Value, node any) {
	function, loop, pattern := false, false, false
	switch n := node.(type) {
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral, *ast.ClassLiteral:
		function = true
		t.scopes = append(t.scopes, node)
	case *ast.ForStatement, *ast.ForInStatement, *ast.ForOfStatement, *ast.WhileStatement, *ast.DoWhileStatement:
		loop = true
		t.loops++
	case *ast.ObjectPattern, *ast.ArrayPattern:
		pattern = true
		t.pattern++
	case *ast.AssignExpression:
		t.assign(n)
	case *ast.AwaitExpression, *ast.YieldExpression:
		t.suspend()
	}
	t.stack = append(t.stack, node)
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "DeclarationList" {
			t.visit(v.Field(i), node, name)
		}
	}
	t.stack = t.stack[:len(t.stack)-1]
	switch {
	case function:
		t.scopes = t.scopes[:len(t.scopes)-1]
	case loop:
		t.loops--
	case pattern:
		t.pattern--
	}
}

// lengthTarget refuses a variable whose length is assigned to: no program means
// that, and it has to fail as it always does.
func (t *textVars) lengthTarget(d *ast.DotExpression, owner any, field string) {
	id, ok := d.Left.(*ast.Identifier)
	if !ok {
		return
	}
	switch owner.(type) {
	case *ast.AssignExpression:
		if field != "Left" {
			return
		}
	case *ast.UnaryExpression, *ast.ForIntoExpression:
	default:
		if t.pattern == 0 {
			return
		}
	}
	t.get(id.Name).refused = true
}

func (t *textVars) scope() any {
	if len(t.scopes) == 0 {
		return nil
	}
	return t.scopes[len(t.scopes)-1]
}

// assign notes what an assignment to a plain name does to it.
func (t *textVars) assign(a *ast.AssignExpression) {
	id, ok := a.Left.(*ast.Identifier)
	if !ok {
		return
	}
	v := t.get(id.Name)
	v.changes = append(v.changes, a)
	switch a.Operator {
	case token.ASSIGN:
		v.assigned = true
	case token.PLUS:
		v.grows = v.grows || t.loops > 0 || len(t.scopes) > 1 && t.scope() != v.scope
	default:
		v.refused = true
	}
	if v.binding == nil || t.scope() != v.scope {
		v.outside = true
	}
}

// suspend notes an await or yield in the right sides around it.
func (t *textVars) suspend() {
	for i := len(t.stack) - 1; i >= 0; i-- {
		switch n := t.stack[i].(type) {
		case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
			return
		case *ast.AssignExpression:
			if id, ok := n.Left.(*ast.Identifier); ok && n.Operator == token.PLUS {
				t.get(id.Name).suspends = true
			}
		}
	}
}

// identifier judges one appearance of a name by where it is.
func (t *textVars) identifier(id *ast.Identifier, owner any, field string) {
	if id.Name == "eval" {
		t.eval = true
	}
	v := t.get(id.Name)
	if t.pattern > 0 {
		v.refused = true
		return
	}
	switch o := owner.(type) {
	case *ast.Binding:
		if field != "Target" {
			return
		}
		v.bound++
		if t.letText(o) {
			v.binding, v.scope = o, t.scope()
		}
	case *ast.FunctionLiteral, *ast.ClassLiteral:
		if field == "Name" {
			v.bound++
		}
	case *ast.CatchStatement, *ast.ForDeclaration, *ast.ParameterList, *ast.ForIntoExpression, *ast.LabelledStatement,
		*ast.BranchStatement, *ast.UnaryExpression, *ast.MetaProperty:
		if u, ok := o.(*ast.UnaryExpression); ok {
			switch u.Operator {
			case token.INCREMENT, token.DECREMENT, token.TYPEOF, token.DELETE:
			default:
				return
			}
		}
		v.refused = true
	}
}

// letText says whether a binding is one of a let statement with a text.
func (t *textVars) letText(b *ast.Binding) bool {
	if len(t.stack) < 2 || !isText(b.Initializer) {
		return false
	}
	d, ok := t.stack[len(t.stack)-2].(*ast.LexicalDeclaration)
	if !ok || d.Token != token.LET {
		return false
	}
	if len(t.stack) > 2 {
		switch t.stack[len(t.stack)-3].(type) {
		case *ast.ForLoopInitializerLexicalDecl, *ast.ForStatement:
			return false
		}
	}
	return true
}

// isText says whether an expression is always a text.
func isText(x ast.Expression) bool {
	switch x := x.(type) {
	case *ast.StringLiteral:
		return true
	case *ast.TemplateLiteral:
		return x.Tag == nil
	case *ast.BinaryExpression:
		return x.Operator == token.PLUS && (isText(x.Left) || isText(x.Right))
	}
	return false
}

// rewrite puts the helpers in place of the qualifying variables' uses.
func (t *textVars) rewrite(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if x, ok := v.Interface().(ast.Expression); ok && v.CanSet() {
			if y := t.replace(x); y != nil {
				v.Set(reflect.ValueOf(y))
				return
			}
		}
		t.rewrite(v.Elem())
	case reflect.Pointer:
		if v.IsNil() || v.Type().Elem().PkgPath() != astPackage {
			return
		}
		if s, ok := v.Interface().(*ast.ExpressionStatement); ok {
			// Nobody wants the value: do not make it.
			if a := t.append(s.Expression); a != nil {
				s.Expression = a
				return
			}
		}
		if b, ok := v.Interface().(*ast.Binding); ok {
			if id, ok := b.Target.(*ast.Identifier); ok && t.vars[id.Name] != nil {
				t.rewrite(reflect.ValueOf(&b.Initializer).Elem())
				b.Initializer = helper(textMake, id, b.Initializer)
				return
			}
		}
		t.rewrite(v.Elem())
	case reflect.Struct:
		if v.Type().PkgPath() != astPackage {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).Name != "DeclarationList" {
				t.rewrite(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			t.rewrite(v.Index(i))
		}
	}
}

// replace is what an expression becomes, nil if it stays.
func (t *textVars) replace(x ast.Expression) ast.Expression {
	switch x := x.(type) {
	case *ast.Identifier:
		if t.vars[x.Name] != nil {
			return helper(textRead, x, x)
		}
	case *ast.DotExpression:
		if id, ok := x.Left.(*ast.Identifier); ok && t.vars[id.Name] != nil && x.Identifier.Name == "length" {
			return helper(textLength, id, id)
		}
	case *ast.AssignExpression:
		id, ok := x.Left.(*ast.Identifier)
		if !ok || t.vars[id.Name] == nil {
			return nil
		}
		if x.Operator == token.ASSIGN {
			t.rewrite(reflect.ValueOf(&x.Right).Elem())
			return helper(textSet, id, id, x.Right)
		}
		return helper(textRead, id, t.append(x))
	case *ast.PropertyShort:
		if t.vars[x.Name.Name] != nil {
			id := x.Name
			return &ast.PropertyKeyed{
				Key:  &ast.StringLiteral{Idx: id.Idx, Literal: id.Name.String(), Value: id.Name},
				Kind: ast.PropertyKindValue, Value: helper(textRead, &id, &id),
			}
		}
	}
	return nil
}

// append is a += of a qualifying variable without its value, else nil.
func (t *textVars) append(x ast.Expression) ast.Expression {
	a, ok := x.(*ast.AssignExpression)
	if !ok || a.Operator != token.PLUS {
		return nil
	}
	id, ok := a.Left.(*ast.Identifier)
	if !ok || t.vars[id.Name] == nil {
		return nil
	}
	t.rewrite(reflect.ValueOf(&a.Right).Elem())
	if t.vars[id.Name].outside {
		return helper(textAddAt, id, id, helper(textLength, id, id), a.Right)
	}
	return helper(textAdd, id, id, a.Right)
}

func helper(name unistring.String, at *ast.Identifier, args ...ast.Expression) ast.Expression {
	return &ast.CallExpression{
		Callee:          &ast.Identifier{Name: name, Idx: at.Idx},
		LeftParenthesis: at.Idx, ArgumentList: args, RightParenthesis: at.Idx,
	}
}
