package sdk

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// loadVectors reads one file of the optional shared test vectors.
func loadVectors(t *testing.T, file string, into any) {
	t.Helper()
	dir := os.Getenv("DSH_ACP_VECTORS")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "..", "shared", "vectors")
	}
	data, err := os.ReadFile(filepath.Join(dir, file))
	if err != nil {
		t.Skipf("shared test vectors are not here (set DSH_ACP_VECTORS): %v", err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

// current is the edition the package implements; decisions.md lets a vector of
// an older one differ.
const current = "2026-08-21"

const (
	olderVocabulary = "older edition: no integer, null, oneOf, nor open and closed objects"
	olderSection    = "older edition: results were texts, so there were no output types"
)

// deviations are the vectors we do not match, and why. Each must really differ:
// an entry that comes to agree fails the test.
var deviations = map[string]string{
	"ts-051": "decision 25: types degrade per child; one bad child must not hide its siblings",

	"ts-014":              olderVocabulary,
	"ts-016":              olderVocabulary,
	"ts-022":              olderVocabulary,
	"ts-024":              olderVocabulary,
	"ts-026":              olderVocabulary,
	"ts-036":              olderVocabulary,
	"ts-038":              olderVocabulary,
	"ts-040":              olderVocabulary,
	"ts-042":              olderVocabulary,
	"ts-044":              olderVocabulary,
	"ts-048":              olderVocabulary,
	"ts-050":              olderVocabulary,
	"ts-052":              olderVocabulary,
	"sdk-2026-07-11-none": olderSection,
	"sdk-2026-07-11-one":  olderSection,
}

// compare checks one vector against what we print, deviations included.
func compare(t *testing.T, id, edition, got, want string) {
	t.Helper()
	reason, deviates := deviations[id]
	switch {
	case got == want && deviates:
		t.Errorf("listed as a deviation (%s) but agrees: remove it from the list", reason)
	case got == want:
	case deviates:
		t.Logf("deviates as intended: %s", reason)
	case edition != current:
		t.Skipf("edition %s, which ours replaces:\n got %s\nwant %s", edition, got, want)
	default:
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestTypeScriptVectors(t *testing.T) {
	var file struct {
		Format, What, EditionNote string
		Vectors                   []struct {
			ID, Edition, Note, Expect string
			Schema                    jsonvalue.Value
			Indent                    int
		}
	}
	loadVectors(t, "json-schema-to-ts.json", &file)
	if len(file.Vectors) == 0 {
		t.Fatal("no vectors in the file")
	}
	for _, v := range file.Vectors {
		t.Run(v.ID, func(t *testing.T) {
			compare(t, v.ID, v.Edition, TypeScript(v.Schema, v.Indent), v.Expect)
		})
	}
}

func TestBlockVectors(t *testing.T) {
	var file struct {
		Format, What, EditionNote string
		Vectors                   []struct {
			ID, Edition, Expect string
			Tools               []struct {
				Name, Description  string
				Parameters, Output jsonvalue.Value
			}
		}
	}
	loadVectors(t, "tools-sdk-section.json", &file)
	if len(file.Vectors) == 0 {
		t.Fatal("no vectors in the file")
	}
	for _, v := range file.Vectors {
		t.Run(v.ID, func(t *testing.T) {
			var tools []Tool
			for _, x := range v.Tools {
				tools = append(tools, Tool(x))
			}
			compare(t, v.ID, v.Edition, Block(tools), v.Expect)
			slices.Reverse(tools)
			compare(t, v.ID, v.Edition, Block(tools), v.Expect)
		})
	}
}
