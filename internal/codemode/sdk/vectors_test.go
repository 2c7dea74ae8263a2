package sdk

import (
	"fmt"
	"slices"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/vectors"
)

// current is the edition the package implements; decisions.md lets a vector of
// an older one differ.
const current = "2026-08-21"

const (
	olderVocabulary = "older edition: no integer, null, oneOf, nor open and closed objects"
	olderSection    = "older edition: results were texts, so there were no output types"
)

// typeExceptions and blockExceptions are the vectors we mean to differ from.
var typeExceptions = vectors.Exceptions{
	"ts-051": "decision 25: types degrade per child; one bad child must not hide its siblings",
	"ts-014": olderVocabulary,
	"ts-016": olderVocabulary,
	"ts-022": olderVocabulary,
	"ts-024": olderVocabulary,
	"ts-026": olderVocabulary,
	"ts-036": olderVocabulary,
	"ts-038": olderVocabulary,
	"ts-040": olderVocabulary,
	"ts-042": olderVocabulary,
	"ts-044": olderVocabulary,
	"ts-048": olderVocabulary,
	"ts-050": olderVocabulary,
	"ts-052": olderVocabulary,
}

var blockExceptions = vectors.Exceptions{
	"sdk-2026-07-11-none": olderSection,
	"sdk-2026-07-11-one":  olderSection,
}

// compare checks a text against a vector. One of an older edition that is not
// among the exceptions may differ, but must not do so unseen.
func compare(t *testing.T, v vectors.Base, except vectors.Exceptions, got, want string) error {
	t.Helper()
	if got == want {
		return nil
	}
	if _, listed := except[v.ID]; !listed && v.Edition != current {
		t.Skipf("edition %s, which ours replaces:\n got %s\nwant %s", v.Edition, got, want)
	}
	return fmt.Errorf("\n got %s\nwant %s", got, want)
}

type typeVector struct {
	vectors.Base
	Schema jsonvalue.Value `json:"schema"`
	Indent int             `json:"indent"`
	Expect string          `json:"expect"`
}

func TestTypeScriptVectors(t *testing.T) {
	vs := vectors.Load[typeVector](t, "json-schema-to-ts.json")
	vectors.Run(t, vs, typeExceptions, func(t *testing.T, v typeVector) error {
		return compare(t, v.Base, typeExceptions, TypeScript(v.Schema, v.Indent), v.Expect)
	})
}

type blockVector struct {
	vectors.Base
	Tools []struct {
		Name, Description  string
		Parameters, Output jsonvalue.Value
	} `json:"tools"`
	Expect string `json:"expect"`
}

func TestBlockVectors(t *testing.T) {
	vs := vectors.Load[blockVector](t, "tools-sdk-section.json")
	vectors.Run(t, vs, blockExceptions, func(t *testing.T, v blockVector) error {
		var tools []Tool
		for _, x := range v.Tools {
			tools = append(tools, Tool(x))
		}
		forward := Block(tools)
		slices.Reverse(tools)
		if Block(tools) != forward {
			t.Error("the order of the tools shows")
		}
		return compare(t, v.Base, blockExceptions, forward, v.Expect)
	})
}
