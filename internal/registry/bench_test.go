package registry_test

import (
	"fmt"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/registry"
)

func filled(b *testing.B, n int) *registry.Registry {
	reg, err := registry.New(registry.Options{})
	if err != nil {
		b.Fatal(err)
	}
	for i := range n {
		if _, err := reg.Global().Register(textTool(fmt.Sprintf("tool_%d", i), "x")); err != nil {
			b.Fatal(err)
		}
	}
	return reg
}

// BenchmarkSchemas lists 1,000 tools: while nothing changes, and after a change.
func BenchmarkSchemas(b *testing.B) {
	b.Run("unchanged", func(b *testing.B) {
		s := filled(b, 1000).Global().Child("agent")
		b.ReportAllocs()
		for b.Loop() {
			if len(s.Schemas()) != 1000 {
				b.Fatal("wrong count")
			}
		}
	})
	b.Run("changed", func(b *testing.B) {
		s := filled(b, 1000).Global().Child("agent")
		def := textTool("mine", "x")
		b.ReportAllocs()
		for b.Loop() {
			dispose, err := s.Register(def)
			if err != nil {
				b.Fatal(err)
			}
			if len(s.Schemas()) != 1001 {
				b.Fatal("wrong count")
			}
			dispose()
		}
	})
}

// BenchmarkGet looks a tool up while tools come and go.
func BenchmarkGet(b *testing.B) {
	for _, n := range []int{1, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := filled(b, n).Global().Child("agent")
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := s.Get("tool_0"); !ok {
					b.Fatal("gone")
				}
			}
		})
	}
}

// BenchmarkRegister registers n tools and removes them; the figure per tool
// must not grow with n.
func BenchmarkRegister(b *testing.B) {
	for _, n := range []int{1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			reg, err := registry.New(registry.Options{})
			if err != nil {
				b.Fatal(err)
			}
			def := textTool("", "x")
			names := make([]string, n)
			for i := range names {
				names[i] = fmt.Sprintf("tool_%d", i)
			}
			b.ReportAllocs()
			for b.Loop() {
				s := reg.Global().Child("plugin")
				for _, name := range names {
					def.Name = name
					if _, err := s.Register(def); err != nil {
						b.Fatal(err)
					}
				}
				s.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/tool")
		})
	}
}
