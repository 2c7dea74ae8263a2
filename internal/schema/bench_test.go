package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/schema/foreign"
)

func benchParams() Params {
	return Params{
		Required("path", String("The file")),
		Required("edits", Array("What to change", ClosedObject("",
			Required("line", Integer("")),
			Required("old", String("")),
			Required("new", String("")),
			Optional("mode", Enum("", "replace", "insert", "delete")),
			Optional("weight", Number("")),
			Optional("anchor", OneOf("", String(""), ClosedObject("", Required("id", Integer(""))), Null(""))),
		))),
		Optional("dryRun", Boolean("")),
	}
}

func benchArgs(t testing.TB, edits int) jsonvalue.Value {
	var b strings.Builder
	b.WriteString(`{"path":"a/b.go","dryRun":false,"edits":[`)
	for i := range edits {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"line":%d,"old":"before %d","new":"after %d","mode":"insert","weight":%d.5,"anchor":{"id":%d}}`, i, i, i, i, i)
	}
	b.WriteString(`]}`)
	return parse(t, b.String())
}

// The arguments are about 1 MB; the figure asked for is 100 MB/s.
func BenchmarkValidateArgs(b *testing.B) {
	args := benchArgs(b, 10_000)
	size := int64(len(args.JSON()))
	val, err := CompileParams(benchParams())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("subset", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			if got := val.ValidateArgs(args); got != nil {
				b.Fatal(got[0])
			}
		}
	})
	js, err := foreign.Compile(val.JSONSchema())
	if err != nil {
		b.Fatal(err)
	}
	b.Run("json-schema", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			if got := js.Validate(args); got != nil {
				b.Fatal(got[0])
			}
		}
	})
	text := args.JSON()
	b.Run("parse-and-subset", func(b *testing.B) {
		b.SetBytes(size)
		b.ReportAllocs()
		for b.Loop() {
			v, err := jsonvalue.ParseLossless(text)
			if err != nil {
				b.Fatal(err)
			}
			val.ValidateArgs(v)
		}
	})
	all := parse(b, `{"path":"x","edits":[`+strings.Repeat(`1,`, 20_000)+`2]}`)
	b.Run("all-violations", func(b *testing.B) {
		b.SetBytes(int64(len(all.JSON())))
		b.ReportAllocs()
		for b.Loop() {
			if got := val.ValidateArgs(all); len(got) != 20_001 {
				b.Fatal(len(got))
			}
		}
	})
}

func BenchmarkCompileParams(b *testing.B) {
	p := benchParams()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := CompileParams(p); err != nil {
			b.Fatal(err)
		}
	}
}
