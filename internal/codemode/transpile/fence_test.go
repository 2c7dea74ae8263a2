package transpile

import (
	"errors"
	"strings"
	"testing"
)

func TestAProgramInAMarkdownFenceIsTheProgram(t *testing.T) {
	for _, source := range []string{
		"```ts\nreturn 1\n```", "```\nreturn 1\n```\n", "\n ```typescript\r\nreturn 1;\r\n```  \n", "````js\nconst a = `x`;\nreturn a\n````",
	} {
		if _, err := Compile(source, Options{}); err != nil {
			t.Errorf("%q: %v", source, err)
		}
	}
	for _, source := range []string{"```ts\nreturn 1\n", "return `a`\n```\nb\n```", "```sh\nls\n```", "`x`\nreturn 1"} {
		if got := unfence(source); got != source {
			t.Errorf("unfence(%q) = %q", source, got)
		}
	}
	var e *Error
	_, err := Compile("```ts\nreturn 1;\nconst b = ;\n```", Options{})
	if !errors.As(err, &e) || e.Line != 3 || !strings.Contains(e.SourceLine, "const b") {
		t.Errorf("a position inside a fence: %+v", err)
	}
}
