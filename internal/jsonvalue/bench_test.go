package jsonvalue_test

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// corpora are what the program meets: records, one big text, numbers, nesting.
func corpora() map[string][]byte {
	var records strings.Builder
	records.WriteString(`{"matches":[`)
	for i := range 8000 {
		if i > 0 {
			records.WriteByte(',')
		}
		fmt.Fprintf(&records, `{"path":"internal/pkg%d/file.go","line":%d,"column":%d,"text":"\tif err := run(ctx, \"x\"); err != nil {","score":%d.25,"binary":false}`, i%97, i, i%120, i%7)
	}
	records.WriteString(`]}`)
	text := jsonvalue.String(strings.Repeat("func main() {\n\tfmt.Println(\"héllo, wörld\")\n}\n", 22_000)).JSON()
	var numbers strings.Builder
	numbers.WriteByte('[')
	for i := range 120_000 {
		if i > 0 {
			numbers.WriteByte(',')
		}
		fmt.Fprintf(&numbers, "%d.%d", i, i%1000)
	}
	numbers.WriteByte(']')
	deep := strings.Repeat(`{"child":[`, 5_000) + strings.Repeat(`]}`, 5_000) // encoding/json's limit
	return map[string][]byte{
		"records": []byte(records.String()), "text": text, "numbers": []byte(numbers.String()), "deep": []byte(deep),
	}
}

func perCorpus(b *testing.B, bench func(b *testing.B, text []byte)) {
	for _, name := range []string{"records", "text", "numbers", "deep"} {
		text := corpora()[name]
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			bench(b, text)
		})
	}
}

func must(b *testing.B, err error) {
	if err != nil {
		b.Fatal(err)
	}
}

func BenchmarkParse(b *testing.B) {
	b.Run("jsonvalue", func(b *testing.B) {
		perCorpus(b, func(b *testing.B, text []byte) {
			for b.Loop() {
				_, err := jsonvalue.ParseLossless(text)
				must(b, err)
			}
		})
	})
	b.Run("encoding-json", func(b *testing.B) {
		perCorpus(b, func(b *testing.B, text []byte) {
			for b.Loop() {
				var x any
				d := stdjson.NewDecoder(bytes.NewReader(text))
				d.UseNumber()
				must(b, d.Decode(&x))
			}
		})
	})
	b.Run("encoding-json-v2", func(b *testing.B) {
		perCorpus(b, func(b *testing.B, text []byte) {
			for b.Loop() {
				var x any
				must(b, jsonv2.Unmarshal(text, &x, jsontext.AllowDuplicateNames(false)))
			}
		})
	})
}

func BenchmarkEncode(b *testing.B) {
	b.Run("jsonvalue", func(b *testing.B) {
		perCorpus(b, func(b *testing.B, text []byte) {
			v, err := jsonvalue.Parse(text)
			must(b, err)
			for b.Loop() {
				v.JSON()
			}
		})
	})
	b.Run("encoding-json", func(b *testing.B) {
		perCorpus(b, func(b *testing.B, text []byte) {
			var x any
			must(b, stdjson.Unmarshal(text, &x))
			for b.Loop() {
				_, err := stdjson.Marshal(x)
				must(b, err)
			}
		})
	})
	b.Run("encoding-json-v2", func(b *testing.B) {
		perCorpus(b, func(b *testing.B, text []byte) {
			var x any
			must(b, jsonv2.Unmarshal(text, &x))
			for b.Loop() {
				_, err := jsonv2.Marshal(x)
				must(b, err)
			}
		})
	})
}

func BenchmarkCanonical(b *testing.B) {
	perCorpus(b, func(b *testing.B, text []byte) {
		v, err := jsonvalue.Parse(text)
		must(b, err)
		for b.Loop() {
			_ = v.Canonical()
		}
	})
}

func BenchmarkFromGo(b *testing.B) {
	perCorpus(b, func(b *testing.B, text []byte) {
		v, err := jsonvalue.Parse(text)
		must(b, err)
		x := v.Interface()
		for b.Loop() {
			_, err := jsonvalue.FromGo(x)
			must(b, err)
		}
	})
}
