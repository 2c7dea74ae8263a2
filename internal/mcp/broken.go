package mcp

import (
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// broken is the answer to a call whose real answer is no valid message: whoever
// waits learns of it at once, not when the call's time is over. nil when the line
// is no answer, or does not say whose it is.
func broken(line []byte, why error) jsonrpc.Message {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if json.Unmarshal(line, &m) != nil || m.Method != nil || m.Result == nil && m.Error == nil {
		return nil
	}
	n, err := strconv.ParseInt(string(m.ID), 10, 64)
	if err != nil {
		return nil
	}
	id, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		return nil
	}
	text := "the server's answer is no valid message: " + oneLine(why.Error(), 200)
	if m.Error != nil {
		text = "the server's answer is no valid message; as its error it gives " + oneLine(string(m.Error), 500)
	}
	return &jsonrpc.Response{ID: id, Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: text}}
}
