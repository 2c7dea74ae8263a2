package registry

import (
	"context"
	"strings"
)

// validReference says what may stand between {{ and }}.
func validReference(name string) bool {
	for _, r := range name {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		case r == '_', r == '-', r == '.', r == ':':
		default:
			return false
		}
	}
	return name != ""
}

// interpolate replaces every {{name}} of a section's text. It is strict: an
// unknown name or a malformed reference is an error, for silence would leave
// the model with a hole nobody sees (rule R4.6). Values are inserted as they
// are and not looked at again.
func interpolate(ctx context.Context, section, text string, lookup func(string) VariableFunc) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(text, "{{")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		name, after, closed := strings.Cut(rest, "}}")
		if !closed || !validReference(name) {
			return "", errorf(CodeInvalidPrompt, "prompt section %q has a malformed reference %q: write {{name}}, or mark the section verbatim", section, "{{"+clip(rest))
		}
		f := lookup(name)
		if f == nil {
			return "", errorf(CodeInvalidPrompt, "prompt section %q refers to {{%s}}, which no variable defines", section, name)
		}
		var value string
		if err := contained("prompt variable "+name, func() (err error) {
			value, err = f(ctx)
			return err
		}); err != nil {
			return "", err
		}
		out.WriteString(value)
		text = after
	}
}

func clip(s string) string {
	const most = 24
	for i := range s {
		if i >= most {
			return s[:i] + "…"
		}
	}
	return s
}
