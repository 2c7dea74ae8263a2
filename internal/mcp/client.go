package mcp

//lint:file-ignore SA1019 Roots and logging are on their way out of the protocol, but the servers that are in use want them.

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dsh-acp/dsh-acp/internal/fileuri"
)

// client is our side of a connection: what the server may ask of us.
func (v *server) client(l *link) *mcp.Client {
	c := mcp.NewClient(&mcp.Implementation{Name: "dsh-acp", Title: "DeepSeek Harness", Version: v.s.opt.Version}, &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{
			RootsV2:     &mcp.RootCapabilities{ListChanged: false},
			Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}},
		},
		ElicitationHandler: v.elicit,
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			select {
			case l.relist <- struct{}{}:
			default:
			}
		},
		LoggingMessageHandler:       v.logged,
		ProgressNotificationHandler: v.progressed,
	})
	c.AddReceivingMiddleware(refuseSampling)
	for _, dir := range v.s.opt.Roots {
		c.AddRoots(&mcp.Root{URI: fileuri.Format(dir), Name: filepath.Base(dir)})
	}
	return c
}

// refuseSampling answers servers that want to use our model.
func refuseSampling(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method == "sampling/createMessage" {
			// The code is the protocol's for a person's no; that of an unknown
			// method would lose the text.
			return nil, &jsonrpc.Error{Code: -1, Message: "this client lends its model to nobody: sampling is not supported"}
		}
		return next(ctx, method, req)
	}
}

// logged takes what the server wants logged into our log, within bounds.
func (v *server) logged(ctx context.Context, req *mcp.LoggingMessageRequest) {
	switch ok, first := v.logs.pass(time.Now()); {
	case first:
		v.log.Warn("the MCP server logs too much; what it says now is left out", "lines", maxLogLines, "in", logWindow)
		return
	case !ok:
		return
	}
	level := slog.LevelInfo
	switch req.Params.Level {
	case "debug":
		level = slog.LevelDebug
	case "warning":
		level = slog.LevelWarn
	case "error", "critical", "alert", "emergency":
		level = slog.LevelError
	}
	v.log.Log(ctx, level, "the MCP server says: "+oneLine(fmt.Sprint(req.Params.Data), 1000), "logger", oneLine(req.Params.Logger, 100))
}
