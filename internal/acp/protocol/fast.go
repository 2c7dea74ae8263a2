package protocol

import "github.com/dsh-acp/dsh-acp/internal/jsonvalue"

// AppendJSON appends the notification as the general encoder would write it, if
// it is one of the many that carry a plain piece of text; it reports false, and
// appends nothing, for any other. A long session has a hundred thousand of them,
// and the general encoder takes five times as long. What it appends is only
// right for a notification that passes Validate.
func (n SessionNotification) AppendJSON(dst []byte) ([]byte, bool) {
	u, ok := n.Update.(MessageChunk)
	c := u.Content
	if !ok || c.Type != BlockText || c.Annotations != nil || len(c.Meta) > 0 || len(u.Meta) > 0 || len(n.Meta) > 0 {
		return dst, false
	}
	dst = append(dst, `{"sessionId":`...)
	dst = jsonvalue.String(n.SessionID).AppendJSON(dst)
	dst = append(dst, `,"update":{"sessionUpdate":"`...)
	dst = append(dst, u.SessionUpdate...)
	dst = append(dst, `","content":{"type":"text","text":`...)
	dst = jsonvalue.String(c.Text).AppendJSON(dst)
	dst = append(dst, '}')
	if u.MessageID != "" {
		dst = append(dst, `,"messageId":`...)
		dst = jsonvalue.String(u.MessageID).AppendJSON(dst)
	}
	return append(dst, `}}`...), true
}
