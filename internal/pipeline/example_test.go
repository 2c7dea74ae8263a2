package pipeline_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/pipeline"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// The bodies of these examples are the code of docs/tools.md.

func Example_tool() {
	count := registry.Definition{
		Name:        "count_words",
		Description: "Count the words of a text.",
		Parameters: schema.Params{
			schema.Required("text", schema.String("The text to count.")),
			schema.Optional("least", schema.Integer("Ignore words shorter than this.")),
		},
		Output: registry.Output{
			Schema: jsonvalue.MustFromGo(map[string]any{
				"type":       "object",
				"properties": map[string]any{"words": map[string]any{"type": "integer"}},
				"required":   []any{"words"}, "additionalProperties": false,
			}),
			Render: func(args, value jsonvalue.Value) ([]content.Block, error) {
				n, _ := value.Get("words").Int64()
				return []content.Block{content.Text(fmt.Sprintf("%d words", n))}, nil
			},
		},
		Execute: func(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
			least, _ := args.Get("least").Int64()
			if least < 0 {
				return jsonvalue.Value{}, errors.New("least must not be negative")
			}
			var n int64
			for _, word := range strings.Fields(args.GetString("text")) {
				if int64(len(word)) >= least {
					n++
				}
			}
			return jsonvalue.Object(jsonvalue.Member{Key: "words", Value: jsonvalue.Int(n)}), ctx.Err()
		},
		PresentCall: func(args jsonvalue.Value) *cards.Call {
			return &cards.Call{Card: cards.Generic, Title: "Count words", Kind: cards.KindRead}
		},
		ConcurrencySafe: func(args jsonvalue.Value) bool { return true },
		Timeout:         5 * time.Second,
	}

	reg, err := registry.New(registry.Options{})
	check(err)
	pipe, err := pipeline.New(reg, pipeline.Options{})
	check(err)
	dispose, err := reg.Global().Register(count)
	check(err)
	defer dispose()

	for _, arguments := range []string{`{"text":"to be or not to be","least":3}`, `{"least":3}`, `{"text":"x","least":-1}`} {
		result := pipe.Execute(context.Background(), pipeline.Call{ID: "1", Name: "count_words", RawArguments: arguments})
		fmt.Println(result.Text())
	}
	// Output:
	// 1 words
	// Error: invalid arguments: missing required property "text"
	// Error: least must not be negative
}

func Example_listener() {
	reg, pipe := exampleTools()

	// Policy before a call: deny, ask, or leave it to the listeners after this one.
	dispose, err := pipe.OnPreExecute(reg.Global(), func(ctx context.Context, exec *registry.Execution, next pipeline.PreNext) (pipeline.Decision, error) {
		if strings.HasPrefix(exec.Arguments().GetString("path"), "/etc/") {
			return pipeline.Deny("system files are off limits"), nil
		}
		return next(ctx)
	})
	check(err)
	defer dispose()

	// After a call: look at the result, and replace what the model reads.
	_, err = pipe.OnPostExecute(reg.Global(), func(ctx context.Context, exec *registry.Execution, r *pipeline.Result, next pipeline.PostNext) (pipeline.PostDecision, error) {
		decision, err := next(ctx)
		if err != nil || r.IsError() || !decision.IsAccept() {
			return decision, err
		}
		return decision.WithContent(content.Text(strings.ToUpper(r.Text()))), nil
	})
	check(err)

	// Afterwards: observe what was decided.
	_, err = pipe.OnResult(reg.Global(), func(exec *registry.Execution, r *pipeline.Result) {
		fmt.Println(exec.Name(), exec.Arguments().GetString("path"), "failed:", r.IsError())
	})
	check(err)

	for _, path := range []string{"notes.txt", "/etc/passwd"} {
		arguments := jsonvalue.Object(jsonvalue.Member{Key: "path", Value: jsonvalue.String(path)})
		result := pipe.Execute(context.Background(), pipeline.Call{ID: "1", Name: "read", Arguments: arguments})
		fmt.Println(result.Text())
	}
	// Output:
	// read notes.txt failed: false
	// CONTENT OF NOTES.TXT
	// read /etc/passwd failed: true
	// Error: system files are off limits
}

func Example_guard() {
	reg, pipe := exampleTools()

	// Somebody else's listener allows everything.
	_, err := pipe.OnPreExecute(reg.Global(), func(context.Context, *registry.Execution, pipeline.PreNext) (pipeline.Decision, error) {
		return pipeline.Allow(), nil
	})
	check(err)

	// A guard comes after all listeners and can only say no.
	agent := reg.Global().Child("reviewer")
	dispose, err := agent.Guard(func(exec *registry.Execution) (registry.Verdict, error) {
		if exec.Name() == "write" {
			return registry.Veto("a reviewer does not write"), nil
		}
		return registry.Pass(), nil
	})
	check(err)
	defer dispose()

	arguments := `{"path":"notes.txt"}`
	for _, name := range []string{"read", "write"} {
		result := pipe.Execute(context.Background(), pipeline.Call{ID: "1", Name: name, RawArguments: arguments, Agent: exampleAgent{agent}})
		fmt.Println(result.Text())
	}
	result := pipe.Execute(context.Background(), pipeline.Call{ID: "2", Name: "write", RawArguments: arguments})
	fmt.Println(result.Text())
	// Output:
	// content of notes.txt
	// Error: a reviewer does not write
	// wrote notes.txt
}

func Example_wrapper() {
	reg, pipe := exampleTools()

	// Try once more when a call fails for a reason that may pass.
	dispose, err := pipe.OnExecute(reg.Global(), func(ctx context.Context, exec *registry.Execution, next pipeline.ExecNext) (*pipeline.Result, error) {
		result, err := next(ctx)
		if err == nil && result.ErrorInfo().Code == "BUSY" {
			fmt.Println("once more:", exec.Name())
			result, err = next(ctx)
		}
		return result, err
	})
	check(err)
	defer dispose()

	// Inside it: give every attempt a deadline. The body sees the earlier end of
	// this context and of the caller's.
	_, err = pipe.OnExecute(reg.Global(), func(ctx context.Context, _ *registry.Execution, next pipeline.ExecNext) (*pipeline.Result, error) {
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return next(ctx)
	})
	check(err)

	// Answer without the body: the value is validated and rendered as if it had run.
	_, err = pipe.OnExecute(reg.Global(), func(ctx context.Context, exec *registry.Execution, next pipeline.ExecNext) (*pipeline.Result, error) {
		if exec.Arguments().GetString("path") == "cached.txt" {
			return registry.Success(jsonvalue.String("content from the cache")), nil
		}
		return next(ctx)
	})
	check(err)

	for _, path := range []string{"busy.txt", "cached.txt"} {
		arguments := jsonvalue.Object(jsonvalue.Member{Key: "path", Value: jsonvalue.String(path)})
		result := pipe.Execute(context.Background(), pipeline.Call{ID: "1", Name: "read", Arguments: arguments})
		fmt.Println(result.Text())
	}
	// Output:
	// once more: read
	// content of busy.txt
	// content from the cache
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

type exampleAgent struct{ scope *registry.Scope }

func (a exampleAgent) AgentID() string        { return a.scope.Label() }
func (a exampleAgent) Scope() *registry.Scope { return a.scope }

// exampleTools has read, which is busy at first for one file, and write.
func exampleTools() (*registry.Registry, *pipeline.Pipeline) {
	reg, err := registry.New(registry.Options{})
	check(err)
	pipe, err := pipeline.New(reg, pipeline.Options{})
	check(err)
	busy := true
	for name, format := range map[string]string{"read": "content of %s", "write": "wrote %s"} {
		def := noop(name)
		def.Output.Render = func(_, v jsonvalue.Value) ([]content.Block, error) {
			s, _ := v.Str()
			return []content.Block{content.Text(s)}, nil
		}
		def.Execute = func(_ context.Context, args jsonvalue.Value, _ registry.Run) (jsonvalue.Value, error) {
			path := args.GetString("path")
			if path == "busy.txt" && busy {
				busy = false
				return jsonvalue.Value{}, pipeline.NewError("BusyError", "BUSY", path+" is busy")
			}
			return jsonvalue.String(fmt.Sprintf(format, path)), nil
		}
		_, err := reg.Global().Register(def)
		check(err)
	}
	return reg, pipe
}

// The code of docs/tools.md is the code above, so it compiles and does what the
// page says.
func TestDocumentedCodeIsTheExamples(t *testing.T) {
	page, err := os.ReadFile("../../docs/tools.md")
	must(t, err)
	source, err := os.ReadFile("example_test.go")
	must(t, err)
	examples := strings.ReplaceAll(string(source), "\n\t", "\n")
	blocks := strings.Split(string(page), "```go\n")[1:]
	if len(blocks) < 4 {
		t.Fatalf("%d blocks of code: a tool, a listener, a guard and a wrapper are the least", len(blocks))
	}
	for i, b := range blocks {
		code, _, ok := strings.Cut(b, "```")
		if !ok || !strings.Contains(examples, code) {
			t.Errorf("block %d is not in the examples:\n%s", i+1, code)
		}
	}
}
