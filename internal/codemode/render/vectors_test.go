package render

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// loadVectors reads one file of the optional shared test vectors.
func loadVectors(t *testing.T, file string, strict bool, into any) {
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
	if strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}

func TestLedgerVectors(t *testing.T) {
	var file struct {
		Format, What string
		Vectors      []struct {
			ID, Function, Note string
			Args               []jsonvalue.Value
			Expect             jsonvalue.Value
		}
	}
	loadVectors(t, "output-ledger.json", true, &file)
	if len(file.Vectors) == 0 {
		t.Fatal("no vectors in the file")
	}
	// count turns a size and whether it fits into what the vectors expect.
	count := func(n int, ok bool) jsonvalue.Value {
		if !ok {
			return jsonvalue.Null()
		}
		return jsonvalue.Int(int64(n))
	}
	for _, v := range file.Vectors {
		t.Run(v.ID, func(t *testing.T) {
			limit, ok := v.Args[1].Int64()
			if !ok {
				t.Fatalf("the limit is no integer: %s", v.Args[1])
			}
			text, _ := v.Args[0].Str()
			var got jsonvalue.Value
			switch v.Function {
			case "jsonStringBytesUpTo":
				got = count(StringBytes(text, int(limit)))
			case "jsonValueBytesUpTo":
				got = count(ValueBytes(v.Args[0], int(limit)))
			case "truncateJsonStringBytes":
				got = jsonvalue.StringWTF8(TruncateString(text, int(limit)))
			default:
				t.Fatalf("unknown function %q", v.Function)
			}
			if !got.Equal(v.Expect) {
				t.Errorf("%s(%s, %d) = %s, want %s", v.Function, v.Args[0], limit, got, v.Expect)
			}
		})
	}
}

// TestProgramVectors renders the values of the recorded programs: what a
// program printed and returned must give the recorded text.
func TestProgramVectors(t *testing.T) {
	var file struct {
		Vectors []struct {
			ID     string
			Expect struct {
				IsError bool
				Text    *string
				Value   jsonvalue.Value
			}
		}
	}
	loadVectors(t, "code-mode-programs.json", false, &file)
	rendered := 0
	for _, v := range file.Vectors {
		if v.Expect.IsError || v.Expect.Text == nil || v.Expect.Value.IsUndefined() {
			continue
		}
		rendered++
		t.Run(v.ID, func(t *testing.T) {
			var logs []string
			for _, s := range v.Expect.Value.Get("logs").Elements() {
				text, _ := s.Str()
				logs = append(logs, text)
			}
			result := v.Expect.Value.Get("result")
			if got := Text(logs, result); got != *v.Expect.Text {
				t.Errorf("\n got %q\nwant %q", got, *v.Expect.Text)
			}
			if got := Outcome(logs, result); !got.Equal(v.Expect.Value) {
				t.Errorf("outcome %s, want %s", got, v.Expect.Value)
			}
		})
	}
	if rendered == 0 {
		t.Fatal("no vector with a text and a value")
	}
}
