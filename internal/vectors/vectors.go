// Package vectors reads files of test vectors for the tests of other packages.
// A file is {"format": "1", "what": "…", "vectors": [{"id": "…", …}, …]}; a
// vector is decoded strictly, so that a field no test knows cannot go unused.
//
// The shared files are optional: they are looked for in the directory named by
// the environment variable DSH_ACP_VECTORS, else in ../shared/vectors beside
// the repository, and tests skip when they are not there.
package vectors

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// Base is what every vector has; embed it in the struct for a file's vectors.
type Base struct {
	ID      string `json:"id"`
	Edition string `json:"edition"` // "" means the target edition
	Note    string `json:"note"`
	Go      string `json:"go"` // advice; not an expectation
}

// VectorID names the vector's subtest.
func (b Base) VectorID() string { return b.ID }

// Vector is a struct that embeds [Base].
type Vector interface{ VectorID() string }

// Dir returns the directory of the shared vector files, and whether it exists.
// A DSH_ACP_VECTORS that names nothing counts as not there.
func Dir() (string, bool) {
	if dir := os.Getenv("DSH_ACP_VECTORS"); dir != "" {
		return dir, isDir(dir)
	}
	root, ok := repositoryRoot()
	if !ok {
		return "", false
	}
	dir := filepath.Join(root, "..", "shared", "vectors")
	return dir, isDir(dir)
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// repositoryRoot finds go.mod above the working directory, which "go test"
// sets to the package's.
func repositoryRoot() (string, bool) {
	dir, err := os.Getwd()
	if err != nil {
		return "", false
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, true
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", false
		}
		dir = up
	}
}

// Decode reads a file of vectors. Unknown fields of a vector, an unknown
// format, an empty list and ids that are missing or occur twice are errors;
// further fields of the file itself are documentation.
func Decode[T Vector](data []byte) ([]T, error) {
	var file struct {
		Format  string            `json:"format"`
		Vectors []json.RawMessage `json:"vectors"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, err
	}
	if file.Format != "1" {
		return nil, fmt.Errorf("format %q: only \"1\" is known", file.Format)
	}
	if len(file.Vectors) == 0 {
		return nil, errors.New("the file has no vectors")
	}
	seen := make(map[string]bool, len(file.Vectors))
	out := make([]T, len(file.Vectors))
	for i, raw := range file.Vectors {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&out[i]); err != nil {
			return nil, fmt.Errorf("vector %d (%s): %w", i, briefly(raw), err)
		}
		if _, err := d.Token(); !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("vector %d: data after the vector", i)
		}
		id := out[i].VectorID()
		if id == "" || seen[id] {
			return nil, fmt.Errorf("vector %d: the id %q is missing or occurs twice", i, id)
		}
		seen[id] = true
	}
	return out, nil
}

func briefly(raw []byte) string {
	if len(raw) > 60 {
		return string(raw[:60]) + "…"
	}
	return string(raw)
}

// Load reads one shared file by its base name, such as "registry.json". It
// skips the test when the shared vectors are not there, and fails it on a file
// that does not read.
func Load[T Vector](t testing.TB, name string) []T {
	t.Helper()
	dir, ok := Dir()
	if !ok {
		t.Skip("no shared vectors: set DSH_ACP_VECTORS to their directory")
	}
	return LoadFile[T](t, filepath.Join(dir, name))
}

// LoadFile reads a file of our own, such as one under testdata/vectors.
func LoadFile[T Vector](t testing.TB, path string) []T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	vs, err := Decode[T](data)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return vs
}

// Exceptions names the vectors that must not hold, each with the reason: an
// older edition, or a decision of ours. An exception whose vector holds after
// all, or that names no vector, fails the test, so the table cannot go stale.
type Exceptions map[string]string

// Run checks one subtest a vector: check returns nil when the vector holds,
// and may skip the subtest.
func Run[T Vector](t *testing.T, vs []T, except Exceptions, check func(t *testing.T, v T) error) {
	t.Helper()
	ids := make(map[string]bool, len(vs))
	for _, v := range vs {
		id := v.VectorID()
		ids[id] = true
		t.Run(id, func(t *testing.T) {
			err := check(t, v)
			reason, excepted := except[id]
			switch {
			case excepted && err == nil:
				t.Errorf("the vector holds, so it is no exception (%s)", reason)
			case excepted:
				t.Logf("differs on purpose: %s", reason)
			case err != nil:
				t.Error(err)
			}
		})
	}
	for id, reason := range except {
		if !ids[id] {
			t.Errorf("exception %s (%s) names no vector", id, reason)
		}
	}
}
