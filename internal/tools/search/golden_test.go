package search

import (
	"bytes"
	goflag "flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

var update = goflag.Bool("update", false, "rewrite the golden files")

// What the model is told is an interface: a change of it must be seen.
func TestDefinitionsGolden(t *testing.T) {
	f := setup(t)
	var got bytes.Buffer
	for _, name := range []string{"glob", "grep"} {
		tool, _ := f.reg.Global().Get(name)
		got.WriteString("# " + tool.Name() + "\n" + tool.Description() + "\n\nparameters " + tool.Parameters().String() + "\noutput " + tool.OutputSchema().String() + "\n\n")
		if !tool.ConcurrencySafe(jsonvalue.MustFromGo(args{"pattern": "x"})) {
			t.Errorf("%s only reads: calls may overlap", name)
		}
		if tool.Timeout() != Timeout {
			t.Errorf("%s may take %v", name, tool.Timeout())
		}
	}
	file := filepath.Join("testdata", "definitions.golden")
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("the definitions changed; run go test -update if that is meant:\n%s", got.Bytes())
	}
}
