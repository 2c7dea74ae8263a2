package shell

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// What the model is told is an interface: a change of it must be seen.
func TestDefinitionsGolden(t *testing.T) {
	f := setup(t, Options{})
	var got bytes.Buffer
	tool := f.tool
	got.WriteString("# " + tool.Name() + "\n" + tool.Description() + "\n\nparameters " + tool.Parameters().String() + "\noutput " + tool.OutputSchema().String() + "\n\n")
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
