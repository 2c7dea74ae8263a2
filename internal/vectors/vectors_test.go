package vectors

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

type sample struct {
	Base
	Input int `json:"input"`
}

func TestDecode(t *testing.T) {
	vs, err := Decode[sample]([]byte(`{"format":"1","what":"x","editionNote":"y","vectors":[{"id":"a","input":1,"note":"n"},{"id":"b","edition":"e","go":"g"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(vs) != 2 || vs[0].Input != 1 || vs[1].Edition != "e" || vs[1].VectorID() != "b" {
		t.Errorf("%+v", vs)
	}
}

func TestDecodeRefuses(t *testing.T) {
	for want, text := range map[string]string{
		"unknown field":  `{"format":"1","vectors":[{"id":"a","inputs":1}]}`,
		"format":         `{"format":"2","vectors":[{"id":"a"}]}`,
		"no vectors":     `{"format":"1","vectors":[]}`,
		"missing or":     `{"format":"1","vectors":[{"id":"a"},{"id":"a"}]}`,
		`"" is missing`:  `{"format":"1","vectors":[{"input":1}]}`,
		"cannot unmar":   `{"format":"1","vectors":[{"id":1}]}`,
		"unexpected end": `{"format":"1"`,
	} {
		if _, err := Decode[sample]([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", text, err, want)
		}
	}
}

func TestDir(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DSH_ACP_VECTORS", dir)
	if got, ok := Dir(); got != dir || !ok {
		t.Errorf("Dir = %s, %v", got, ok)
	}
	if err := os.WriteFile(filepath.Join(dir, "f.json"), []byte(`{"format":"1","vectors":[{"id":"a","input":7}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if vs := Load[sample](t, "f.json"); len(vs) != 1 || vs[0].Input != 7 {
		t.Errorf("%+v", vs)
	}
	t.Setenv("DSH_ACP_VECTORS", filepath.Join(dir, "none"))
	if _, ok := Dir(); ok {
		t.Error("a directory that is not there was found")
	}
	t.Run("skips", func(t *testing.T) {
		defer func() {
			if !t.Skipped() {
				t.Error("Load went on without its directory")
			}
		}()
		Load[sample](t, "f.json")
	})
}

func TestRun(t *testing.T) {
	vs := []sample{{Base{ID: "holds"}, 1}, {Base{ID: "differs"}, 2}}
	ran := 0
	Run(t, vs, Exceptions{"differs": "for the test"}, func(_ *testing.T, v sample) error {
		ran++
		if v.Input == 2 {
			return os.ErrInvalid
		}
		return nil
	})
	if ran != 2 {
		t.Errorf("%d vectors ran", ran)
	}
}
