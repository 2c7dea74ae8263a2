package wire_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/acp/wire"
)

// A server registers what later messages have to find while Handle runs, leaves
// the work to Go, and closes in the order shown: wait for the end, for the work,
// then close.
func ExampleServe() {
	input := strings.NewReader(`{"jsonrpc":"2.0","id":"a","method":"greet","params":{"name":"<you>"}}
{"jsonrpc":"2.0","id":2,"method":"no/such"}
`)
	answered := make(chan struct{})
	handler := wire.HandlerFunc(func(_ context.Context, c *wire.Conn, req *wire.Request) {
		switch req.Method {
		case "greet":
			wire.Go(req, func(context.Context) (any, error) {
				<-answered // only to make the order of this example certain
				if err := c.Notify("greeting", map[string]string{"text": "hello"}); err != nil {
					return nil, err
				}
				return map[string]bool{"done": true}, nil
			})
		default:
			_ = req.ReplyError(protocol.MethodNotFound(req.Method))
			close(answered)
		}
	})

	// The bare writer keeps Close from closing standard output.
	output := struct{ io.Writer }{os.Stdout}
	conn := wire.Serve(context.Background(), input, output, handler, wire.Options{})
	<-conn.Done()
	_ = conn.Wait(context.Background())
	_ = conn.Close()
	fmt.Println(conn.Err())
	// Output:
	// {"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"Method not found: no/such","data":{"method":"no/such"}}}
	// {"jsonrpc":"2.0","method":"greeting","params":{"text":"hello"}}
	// {"jsonrpc":"2.0","id":"a","result":{"done":true}}
	// EOF
}
