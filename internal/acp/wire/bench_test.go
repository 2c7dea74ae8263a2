package wire

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
)

// BenchmarkIn reads requests of several sizes.
func BenchmarkIn(b *testing.B) {
	for _, size := range []int{100, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			line := []byte(`{"jsonrpc":"2.0","method":"session/prompt","params":{"sessionId":"s","prompt":[{"type":"text","text":"` +
				string(bytes.Repeat([]byte("x"), size)) + `"}]}}` + "\n")
			b.SetBytes(int64(len(line)))
			b.ReportAllocs()
			done := make(chan struct{})
			count := 0
			h := HandlerFunc(func(context.Context, *Conn, *Request) {
				if count++; count == b.N {
					close(done)
				}
			})
			inR, inW := io.Pipe()
			c := Serve(b.Context(), inR, io.Discard, h, Options{})
			b.ResetTimer()
			go func() {
				for range b.N {
					_, _ = inW.Write(line)
				}
			}()
			<-done
			b.StopTimer()
			_ = c.Close()
		})
	}
}

// BenchmarkOut sends the update that is sent most: a piece of an answer.
func BenchmarkOut(b *testing.B) {
	for _, size := range []int{20, 10_000, 1_000_000} {
		b.Run(fmt.Sprintf("%dB", size), func(b *testing.B) {
			text := string(bytes.Repeat([]byte("x"), size))
			inR, _ := io.Pipe()
			c := Serve(b.Context(), inR, io.Discard, echo, Options{})
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				u := protocol.AgentChunk("m", protocol.TextBlock(text))
				if err := c.Notify(protocol.MethodSessionUpdate, protocol.NewSessionNotification("s", u)); err != nil {
					b.Fatal(err)
				}
			}
			if err := c.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
			_ = c.Close()
		})
	}
}
