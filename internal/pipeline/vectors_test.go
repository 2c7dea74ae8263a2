package pipeline_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/dop251/goja"
	"github.com/google/go-cmp/cmp"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/vectors"
)

// callVector takes one call through the pipeline and compares the trace of the
// stages and the outcome.
type callVector struct {
	vectors.Base
	Group     string `json:"group"`
	Normative bool   `json:"normative"`
	Why       string `json:"why"`
	Scenario  struct {
		Tools          []toolScript      `json:"tools"`
		Call           callScript        `json:"call"`
		Pre            []json.RawMessage `json:"pre"`
		Around         []json.RawMessage `json:"around"`
		Post           []json.RawMessage `json:"post"`
		Guards         []json.RawMessage `json:"guards"`
		Approval       string            `json:"approval"`
		CancelAt       string            `json:"cancelAt"`
		ObserverThrows bool              `json:"observerThrows"`
	} `json:"scenario"`
	Expect struct {
		Trace  []string       `json:"trace"`
		Result map[string]any `json:"result"`
	} `json:"expect"`
}

type callScript struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	JS        string          `json:"js"`
	Agent     bool            `json:"agent"`
}

type toolScript struct {
	Name         string          `json:"name"`
	Parameters   json.RawMessage `json:"parameters"`
	Output       json.RawMessage `json:"output"`
	Value        json.RawMessage `json:"value"`
	JS           string          `json:"js"`
	Throw        json.RawMessage `json:"throw"`
	RenderThrows string          `json:"renderThrows"`
	Finalize     json.RawMessage `json:"finalize"`
	Defer        []string        `json:"defer"`
	Meta         json.RawMessage `json:"meta"`
}

func TestSharedCallVectors(t *testing.T) {
	vectors.Run(t, vectors.Load[callVector](t, "pipeline.json"), nil, checkCall)
}

func TestOwnCallVectors(t *testing.T) {
	vectors.Run(t, vectors.LoadFile[callVector](t, "../../testdata/vectors/pipeline.json"), nil, checkCall)
}

func checkCall(t *testing.T, v callVector) error {
	if !v.Normative && v.Why != "" {
		t.Skipf("recorded for comparison only: %s", v.Why)
	}
	st := newStage(t, v)
	got := st.run()
	if d := cmp.Diff(v.Expect.Trace, st.trace); d != "" {
		return fmt.Errorf("trace (-want +got):\n%s", d)
	}
	want := v.Expect.Result
	if d := cmp.Diff(want, project(t, got, v.Edition)); d != "" {
		return fmt.Errorf("result (-want +got):\n%s", d)
	}
	return nil
}

// project writes a result as the edition recorded it: contexts as their text,
// and in the oldest edition no value, one context, and only coded errors.
func project(t *testing.T, r *pipeline.Result, edition string) map[string]any {
	var m map[string]any
	if err := json.Unmarshal(r.ToValue().JSON(), &m); err != nil {
		t.Fatal(err)
	}
	var texts []any
	for _, c := range r.Contexts() {
		texts = append(texts, content.JoinText(c.Content))
	}
	if texts != nil {
		m["additionalContexts"] = texts
	}
	if edition != "2026-07-11" {
		return m
	}
	delete(m, "value")
	if texts != nil {
		delete(m, "additionalContexts")
		m["additionalContext"] = texts[0]
	}
	if e, ok := m["error"].(map[string]any); ok {
		delete(m, "error")
		if info, ok := e["info"]; ok {
			m["error"] = info
		}
	}
	return m
}

// stage is one scripted call with its tools and listeners.
type stage struct {
	t      *testing.T
	v      callVector
	pipe   *pipeline.Pipeline
	scope  *registry.Scope
	trace  []string
	cancel context.CancelFunc
	ctx    context.Context
}

func (st *stage) mark(name string) { st.trace = append(st.trace, name) }

// reach cancels the caller where the script says so.
func (st *stage) reach(where string) {
	if st.v.Scenario.CancelAt == where {
		st.cancel()
	}
}

type scriptedApprover struct{ st *stage }

func (a scriptedApprover) RequestApproval(context.Context, pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	a.st.mark("approval")
	a.st.reach("approval")
	return pipeline.ApprovalOutcome(a.st.v.Scenario.Approval), nil
}

func newStage(t *testing.T, v callVector) *stage {
	st := &stage{t: t, v: v, trace: []string{}}
	st.ctx, st.cancel = context.WithCancel(context.Background())
	t.Cleanup(st.cancel)
	reg, err := registry.New(registry.Options{})
	must(t, err)
	var o pipeline.Options
	if v.Scenario.Approval != "" {
		o.Approver = scriptedApprover{st}
	}
	st.pipe, err = pipeline.New(reg, o)
	must(t, err)
	st.scope = reg.Global()
	tools := v.Scenario.Tools
	if tools == nil {
		tools = []toolScript{{Name: "echo", Value: json.RawMessage(`"hello"`)}}
	}
	for _, s := range tools {
		_, err := st.scope.Register(st.tool(s))
		must(t, err)
	}
	for _, raw := range v.Scenario.Pre {
		st.addPre(raw)
	}
	for _, raw := range v.Scenario.Around {
		st.addAround(raw)
	}
	for _, raw := range v.Scenario.Post {
		st.addPost(raw)
	}
	for _, raw := range v.Scenario.Guards {
		st.addGuard(raw)
	}
	_, err = st.pipe.OnResult(st.scope, func(*registry.Execution, *pipeline.Result) {
		st.mark("result")
		if v.Scenario.ObserverThrows {
			panic("observer broke")
		}
	})
	must(t, err)
	return st
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// script is what a listener does: delegate, throw, or answer with a value.
func script(t *testing.T, raw json.RawMessage) (next bool, answer jsonvalue.Value, thrown error) {
	v, err := jsonvalue.Parse(raw)
	must(t, err)
	if s, ok := v.Str(); ok && s == "next" {
		return true, jsonvalue.Value{}, nil
	}
	if s, ok := v.Get("throw").Str(); ok {
		return false, jsonvalue.Value{}, errors.New(s)
	}
	if s, ok := v.Get("js").Str(); ok {
		return false, evaluate(t, s), nil
	}
	return false, v, nil
}

func (st *stage) addPre(raw json.RawMessage) {
	next, answer, thrown := script(st.t, raw)
	_, err := st.pipe.OnPreExecute(st.scope, func(ctx context.Context, _ *registry.Execution, delegate pipeline.PreNext) (pipeline.Decision, error) {
		st.mark("pre")
		st.reach("pre")
		switch {
		case thrown != nil:
			return pipeline.Decision{}, thrown
		case next:
			return delegate(ctx)
		}
		return pipeline.DecisionFromValue(answer)
	})
	must(st.t, err)
}

func (st *stage) addAround(raw json.RawMessage) {
	next, answer, thrown := script(st.t, raw)
	abort, _ := answer.Get("abortedSignal").Bool()
	_, err := st.pipe.OnExecute(st.scope, func(ctx context.Context, _ *registry.Execution, delegate pipeline.ExecNext) (*pipeline.Result, error) {
		st.mark("around>")
		defer st.mark("around<")
		st.reach("around")
		switch {
		case thrown != nil:
			return nil, thrown
		case next:
			return delegate(ctx)
		case abort:
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return delegate(ctx)
		}
		return registry.ResultFromValue(answer)
	})
	must(st.t, err)
}

func (st *stage) addPost(raw json.RawMessage) {
	next, answer, thrown := script(st.t, raw)
	_, err := st.pipe.OnPostExecute(st.scope, func(ctx context.Context, _ *registry.Execution, r *pipeline.Result, delegate pipeline.PostNext) (pipeline.PostDecision, error) {
		if r.IsError() {
			st.mark("post:error")
		} else {
			st.mark("post:ok")
		}
		st.reach("post")
		switch {
		case thrown != nil:
			return pipeline.PostDecision{}, thrown
		case next:
			return delegate(ctx)
		}
		return pipeline.PostDecisionFromValue(answer)
	})
	must(st.t, err)
}

func (st *stage) addGuard(raw json.RawMessage) {
	_, answer, thrown := script(st.t, raw)
	if answer.IsNull() {
		answer = jsonvalue.Value{} // null in a script abstains
	}
	_, err := st.scope.Guard(func(*registry.Execution) (registry.Verdict, error) {
		st.mark("guard")
		if thrown != nil {
			return registry.Verdict{}, thrown
		}
		return registry.VerdictFromValue(answer)
	})
	must(st.t, err)
}

func (st *stage) tool(s toolScript) registry.Definition {
	value := parseOrUndefined(st.t, s.Value)
	if s.JS != "" {
		value = evaluateData(st.t, s.JS)
	}
	out := jsonvalue.MustFromGo(map[string]any{"type": "string"})
	if s.Output != nil {
		spec, err := schema.SpecFromValue(parseOrUndefined(st.t, s.Output))
		must(st.t, err)
		out, err = spec.JSONSchema()
		must(st.t, err)
	}
	def := registry.Definition{
		Name: s.Name, Description: s.Name,
		Output: registry.Output{Schema: out, Render: func(_, v jsonvalue.Value) ([]content.Block, error) {
			if s.RenderThrows != "" {
				return nil, errors.New(s.RenderThrows)
			}
			text, ok := v.Str()
			if !ok {
				text = v.String()
			}
			return []content.Block{content.Text(text)}, nil
		}},
		Execute: func(_ context.Context, _ jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
			st.mark("body")
			for _, text := range s.Defer {
				run.DeferContext(registry.Context{Content: []content.Block{content.Text(text)}})
			}
			st.reach("body")
			if s.Throw != nil {
				return jsonvalue.Value{}, thrown(parseOrUndefined(st.t, s.Throw))
			}
			return value, nil
		},
	}
	if s.Parameters != nil {
		var err error
		def.Parameters, err = schema.ParamsFromValue(parseOrUndefined(st.t, s.Parameters))
		must(st.t, err)
	}
	if s.Meta != nil {
		meta := parseOrUndefined(st.t, s.Meta)
		def.Output.PresentationMeta = func(_, _ jsonvalue.Value) (jsonvalue.Value, error) { return meta, nil }
	}
	if s.Finalize != nil {
		text, replace := parseOrUndefined(st.t, s.Finalize).Str()
		def.FinalizeContent = func(*registry.Execution, *registry.Result) ([]content.Block, error) {
			st.mark("finalize")
			if !replace {
				return nil, nil
			}
			return []content.Block{content.Text(text)}, nil
		}
	}
	return def
}

// thrown is the error for what a script throws: {raw} is any value, otherwise a
// message and perhaps a code, as the reference's own error class has them.
func thrown(v jsonvalue.Value) error {
	if raw, ok := v.Lookup("raw"); ok {
		return pipeline.ThrownError(raw)
	}
	if code := v.GetString("code"); code != "" {
		return pipeline.NewError("HarnessError", code, v.GetString("message"))
	}
	return errors.New(v.GetString("message"))
}

func parseOrUndefined(t *testing.T, raw json.RawMessage) jsonvalue.Value {
	if raw == nil {
		return jsonvalue.Value{}
	}
	v, err := jsonvalue.Parse(raw)
	must(t, err)
	return v
}

func (st *stage) run() *pipeline.Result {
	s := st.v.Scenario.Call
	call := pipeline.Call{ID: "call-1", Name: s.Name, Arguments: parseOrUndefined(st.t, s.Arguments)}
	if call.Name == "" {
		call.Name = "echo"
	}
	if s.JS != "" {
		call.Arguments = evaluateData(st.t, s.JS)
	}
	if s.Agent {
		call.Agent = agent{st.scope.Child("agent")}
	}
	st.reach("before")
	return st.pipe.Execute(st.ctx, call)
}

type agent struct{ scope *registry.Scope }

func (a agent) AgentID() string        { return a.scope.Label() }
func (a agent) Scope() *registry.Scope { return a.scope }

// evaluate gives the value of a JavaScript expression as a plugin would pass
// it. Keys that JSON does not have, symbols and inherited ones, become members
// that no decision may have.
func evaluate(t *testing.T, expression string) jsonvalue.Value {
	vm := goja.New()
	v, err := vm.RunString(expression)
	must(t, err)
	return fromJS(t, vm, v, jsonvalue.Value{})
}

// evaluateData is evaluate for arguments and values. A jsonvalue cannot hold an
// undefined member, so another value that is not lossless stands for it.
func evaluateData(t *testing.T, expression string) jsonvalue.Value {
	vm := goja.New()
	v, err := vm.RunString(expression)
	must(t, err)
	minusZero, err := jsonvalue.ParseString("-0")
	must(t, err)
	return fromJS(t, vm, v, minusZero)
}

func fromJS(t *testing.T, vm *goja.Runtime, v goja.Value, undefined jsonvalue.Value) jsonvalue.Value {
	if v == nil || goja.IsUndefined(v) {
		return undefined
	}
	o, ok := v.(*goja.Object)
	if !ok {
		out, err := jsonvalue.FromGo(v.Export())
		must(t, err)
		return out
	}
	if o.ClassName() == "Array" {
		var vs []jsonvalue.Value
		for i := range int(o.Get("length").ToInteger()) {
			vs = append(vs, fromJS(t, vm, o.Get(fmt.Sprint(i)), undefined))
		}
		return jsonvalue.Array(vs...)
	}
	var ms []jsonvalue.Member
	own := o.Keys()
	for _, k := range own {
		ms = append(ms, jsonvalue.Member{Key: k, Value: fromJS(t, vm, o.Get(k), undefined)})
	}
	for _, s := range o.Symbols() {
		ms = append(ms, jsonvalue.Member{Key: s.String(), Value: jsonvalue.Bool(true)})
	}
	if kind := o.Get("kind"); kind != nil && !goja.IsUndefined(kind) && !slices.Contains(own, "kind") {
		ms = append(ms, jsonvalue.Member{Key: "kind", Value: fromJS(t, vm, kind, undefined)},
			jsonvalue.Member{Key: "(inherited)", Value: jsonvalue.Bool(true)})
	}
	return jsonvalue.Object(ms...)
}
