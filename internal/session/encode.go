package session

import (
	"strconv"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// AppendLine adds the event's line, with its newline, to dst. The order of the
// members is fixed: type, seq, time, data, sourceEventSeqs, surfaceOp, then
// what this program does not know.
func (e Event) AppendLine(dst []byte) []byte {
	dst = append(dst, `{"type":`...)
	dst = jsonvalue.AppendString(dst, e.Type)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendInt(dst, e.Seq, 10)
	dst = append(dst, `,"time":`...)
	dst = strconv.AppendInt(dst, e.Time.UnixMilli(), 10)
	dst = append(dst, `,"data":`...)
	dst = e.Data.AppendJSON(dst)
	if len(e.SourceEventSeqs) > 0 {
		dst = append(dst, `,"sourceEventSeqs":[`...)
		for i, seq := range e.SourceEventSeqs {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = strconv.AppendInt(dst, seq, 10)
		}
		dst = append(dst, ']')
	}
	if !e.SurfaceOp.IsUndefined() {
		dst = append(dst, `,"surfaceOp":`...)
		dst = e.SurfaceOp.AppendJSON(dst)
	}
	for key, v := range e.Extra.Members() {
		dst = append(dst, ',')
		dst = jsonvalue.AppendString(dst, key)
		dst = append(dst, ':')
		dst = v.AppendJSON(dst)
	}
	return append(dst, '}', '\n')
}

// AppendLine adds the header's line, with its newline, to dst.
func (h Header) AppendLine(dst []byte) []byte {
	return append(h.value().AppendJSON(dst), '\n')
}
