// Command bareagent answers every request with an empty result through
// sourcegraph/jsonrpc2 and does nothing else. It is what the start-up
// benchmarks are compared with: less than this no program on that library needs.
package main

import (
	"context"
	"io"
	"os"

	"github.com/sourcegraph/jsonrpc2"
)

type stdio struct {
	io.Reader
	io.Writer
}

func (stdio) Close() error { return nil }

func main() {
	handler := jsonrpc2.HandlerWithError(func(context.Context, *jsonrpc2.Conn, *jsonrpc2.Request) (any, error) {
		return map[string]any{"protocolVersion": 1, "sessionId": "bare"}, nil
	})
	conn := jsonrpc2.NewConn(context.Background(), jsonrpc2.NewPlainObjectStream(stdio{os.Stdin, os.Stdout}), handler)
	<-conn.DisconnectNotify()
}
