package schema

import (
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

func parse(t testing.TB, text string) jsonvalue.Value {
	t.Helper()
	v, err := jsonvalue.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}
