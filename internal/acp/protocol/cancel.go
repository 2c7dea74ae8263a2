package protocol

import "encoding/json"

// CancelRequest are the parameters of $/cancel_request.
type CancelRequest struct {
	// RequestID is the id of the withdrawn request, as raw JSON: a string or an
	// integer.
	RequestID json.RawMessage `json:"requestId"`
}

// DecodeCancelRequest reads the parameters of $/cancel_request.
func DecodeCancelRequest(params json.RawMessage) (CancelRequest, *Error) {
	var c CancelRequest
	d := decodeParams(params)
	c.RequestID = d.raw("requestId")
	if c.RequestID == nil {
		d.missing("requestId")
	}
	return c, d.fault()
}
