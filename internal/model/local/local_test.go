package local

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

var update = flag.Bool("update", false, "rewrite golden files")

// offered is the catalogue of most tests: Code Mode is on.
var offered = []model.ToolSchema{{Name: "read"}, {Name: codeTool}}

func user(text string) model.Message {
	return model.Message{Role: model.RoleUser, Origin: model.OriginPrompt, Content: []model.Part{model.Text(text)}}
}

func result(id, name, text string, failed bool) model.Message {
	return model.Message{Role: model.RoleTool, ToolCallID: id, ToolName: name, IsError: failed, Content: []model.Part{model.Text(text)}}
}

// ask returns the folded answer to a conversation.
func ask(ctx context.Context, tools []model.ToolSchema, messages ...model.Message) (*model.Accumulator, error) {
	a := new(model.Accumulator)
	for c, err := range New().Stream(ctx, model.Request{SessionID: "s", Model: ID, Tools: tools, Messages: messages}) {
		if err != nil {
			return a, err
		}
		if err := a.Add(c); err != nil {
			return a, err
		}
	}
	return a, nil
}

func show(a *model.Accumulator) string {
	var b strings.Builder
	for _, p := range a.Content() {
		fmt.Fprintln(&b, p.Value())
	}
	if f := a.Finish(); f != nil {
		fmt.Fprintln(&b, f.Value())
	}
	return b.String()
}

// TestConversations plays each testdata/*.txt: a prompt, and after a line
// "=====" the answers it must get when every call is answered with "out of ID"
// (or fails, when the arguments say so).
func TestConversations(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no conversations in testdata")
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			prompt, want, _ := strings.Cut(string(data), "\n=====\n")
			got := converse(t, prompt)
			if *update {
				if err := os.WriteFile(file, []byte(prompt+"\n=====\n"+got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func converse(t *testing.T, prompt string) string {
	t.Helper()
	messages := []model.Message{user(prompt)}
	var b strings.Builder
	for range 10 {
		a, err := ask(context.Background(), offered, messages...)
		b.WriteString(show(a))
		if err != nil {
			fmt.Fprintf(&b, "failed: %v\n", err)
			return b.String()
		}
		messages = append(messages, a.Message(ID, ID))
		calls := a.ToolCalls()
		if len(calls) == 0 {
			return b.String()
		}
		for _, c := range calls {
			messages = append(messages, result(c.ID, c.Name, "out of "+c.ID, strings.Contains(c.Arguments, "fail")))
		}
		// What tools and hooks add does not distract it.
		note := user("/say a hook spoke")
		note.Origin = model.OriginContext
		messages = append(messages, note)
		b.WriteString("-- results --\n")
	}
	t.Fatal("the conversation does not end")
	return ""
}

func TestAnswersAreDeterministicAndWellFormed(t *testing.T) {
	prompt := user("/think hm\n/say one two three four five six seven eight\n/tool read {\"file_path\": \"äöü" + strings.Repeat("é", 100) + "\"}")
	collect := func() (out []string) {
		var a model.Accumulator
		for c, err := range New().Stream(context.Background(), model.Request{Tools: offered, Messages: []model.Message{prompt}}) {
			if err != nil {
				t.Fatal(err)
			}
			if err := a.Add(c); err != nil {
				t.Fatal(err)
			}
			if !utf8.ValidString(c.Text + c.ArgumentsDelta) {
				t.Errorf("a delta cuts a character: %q", c.Text+c.ArgumentsDelta)
			}
			out = append(out, c.Value().String())
		}
		return out
	}
	first := collect()
	if again := collect(); strings.Join(first, "\n") != strings.Join(again, "\n") {
		t.Error("two answers differ")
	}
	if n := len(first); !strings.Contains(first[n-2], `"usage"`) || !strings.Contains(first[n-1], `"finish"`) {
		t.Errorf("the end: %v", first[n-2:])
	}
	deltas := 0
	for _, c := range first {
		if strings.Contains(c, "-delta") {
			deltas++
		}
	}
	if deltas < 8 {
		t.Errorf("the answer came in %d deltas: nothing to see of streaming", deltas)
	}
}

func TestCallIDsDifferBetweenSteps(t *testing.T) {
	first, err := ask(context.Background(), offered, user("/tool read {}"))
	if err != nil {
		t.Fatal(err)
	}
	second, err := ask(context.Background(), offered, user("/tool read {}"), first.Message(ID, ID), result("x", "read", "", false), user("/tool read {}"))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := first.ToolCalls()[0].ID, second.ToolCalls()[0].ID; a == b {
		t.Errorf("both are %s", a)
	}
}

func TestProgramWithoutCodeMode(t *testing.T) {
	a, err := ask(context.Background(), offered[:1], user("```ts\nreturn 1\n```"))
	if err != nil {
		t.Fatal(err)
	}
	if len(a.ToolCalls()) != 0 || !strings.Contains(a.Text(), "mode: both") {
		t.Errorf("answer %s", show(a))
	}
}

func TestConversationWithoutPrompt(t *testing.T) {
	a, err := ask(context.Background(), offered)
	if err != nil || !strings.Contains(a.Text(), "/tool NAME") {
		t.Errorf("%q, %v", a.Text(), err)
	}
}

func TestSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		a, err := ask(t.Context(), nil, user("/slow 1.25\n/say done"))
		if err != nil || time.Since(start) != 1250*time.Millisecond {
			t.Errorf("%v after %v", err, time.Since(start))
		}
		if got := a.Text(); got != "......... 1s ...\n\n\ndone" {
			t.Errorf("text %q", got)
		}
	})
}

func TestSlowIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 350*time.Millisecond)
		defer cancel()
		start := time.Now()
		a, err := ask(ctx, nil, user("/slow 3600\n/say done"))
		if !errors.Is(err, context.DeadlineExceeded) || time.Since(start) != 350*time.Millisecond || a.Text() != "..." || a.Finish() != nil {
			t.Errorf("%q, %v after %v", a.Text(), err, time.Since(start))
		}
	})
}

func TestCancelledBeforeItStarts(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	errs := 0
	for _, err := range New().Stream(ctx, model.Request{Messages: []model.Message{user("/say hi")}}) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		errs++
	}
	if errs != 1 {
		t.Errorf("%d errors", errs)
	}
}

func TestFail(t *testing.T) {
	a, err := ask(context.Background(), nil, user("/say half\n/fail no more quota"))
	var e *model.Error
	if !errors.As(err, &e) || e.Message != "no more quota" || a.Text() != "half" || a.Finish() != nil {
		t.Errorf("%q, %v", a.Text(), err)
	}
}

func TestQuote(t *testing.T) {
	long := strings.Repeat("é", 200)
	for text, want := range map[string]string{
		"":             "(no output)",
		" \n one \n":   "one",
		"one\ntwo":     "one (and 1 more line)",
		"one\n2\n3\n4": "one (and 3 more lines)",
		long:           strings.Repeat("é", quoteLimit/2) + "…",
	} {
		if got := quote(result("", "", text, false)); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	image := model.Message{Role: model.RoleTool, Content: []model.Part{{Type: model.PartImage}}}
	if got := quote(image); got != "(image)" {
		t.Errorf("an image: %q", got)
	}
}

func TestCatalogue(t *testing.T) {
	p := New()
	infos, err := p.Models(context.Background())
	if err != nil || p.ProviderID() != ID || len(infos) != 1 || infos[0].ID != ID || infos[0].ContextWindow <= 0 {
		t.Errorf("%+v, %v", infos, err)
	}
	// Every command that is advertised is understood.
	arguments := map[string]string{"tool": " read {}", "slow": " 0.1", "say": " x", "think": " x", "fail": " x"}
	for _, c := range p.Commands() {
		program, faults := parse("/" + c.Name + arguments[c.Name])
		if len(program) != 1 || len(program[0]) != 1 || len(faults) != 0 {
			t.Errorf("/%s: %v %v", c.Name, program, faults)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.txt")
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			prompt, _, _ := strings.Cut(string(data), "\n=====\n")
			f.Add(prompt)
		}
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		program, faults := parse(prompt)
		lines := strings.Count(prompt, "\n") + 1
		for _, x := range faults {
			if x.line < 1 || x.line > lines {
				t.Fatalf("fault at line %d of %d", x.line, lines)
			}
		}
		for i, s := range program {
			if len(s) == 0 {
				t.Fatal("an empty step")
			}
			if i < len(program)-1 && !s.calls("") {
				t.Fatal("a step that nothing follows is not the last")
			}
			for _, a := range s {
				if a.kind != doCall {
					continue
				}
				if a.name == "" {
					t.Fatal("a call without a name")
				}
				if !jsonLike(a.arguments) {
					t.Fatalf("arguments %q", a.arguments)
				}
			}
		}
	})
}

// jsonLike accepts what the pipeline will either parse or refuse with a clear
// error of its own: JSON, possibly with repeated keys or broken characters.
func jsonLike(s string) bool {
	_, err := jsonvalue.ParseString(s)
	var syntax *jsonvalue.SyntaxError
	return err == nil || errors.Is(err, jsonvalue.ErrDuplicateKey) || errors.As(err, &syntax) && !utf8.ValidString(s)
}
