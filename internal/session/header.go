package session

import (
	"crypto/rand"
	"fmt"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// Version is what this program writes in a log's header. It also reads
// version 0, the logs of the harness whose vocabulary this is.
const Version = 1

// Header is the first line of a log.
type Header struct {
	ID      string
	Version int
	// CreatedAt has millisecond precision and is in UTC.
	CreatedAt time.Time
	// Cwd is the session's working directory, absolute; empty when unknown.
	Cwd string
	// AdditionalDirectories are further folders of the session's workspace, as
	// they were when it was made, absolute.
	AdditionalDirectories []string
	// ParentSession is the session that delegated to this one, or that this one was
	// forked from; DelegationDepth tells which.
	ParentSession string
	// SeedLength is how many leading events were inherited from the parent.
	SeedLength int
	// DelegationDepth is 0 for a session a person talks to, 1 for its child, …
	DelegationDepth int
	// Extra holds the members this program does not know; Undefined when none.
	Extra jsonvalue.Value
}

// NewID returns a random session id: a UUID of version 4 (RFC 9562).
func NewID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (documented)
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (h Header) value() jsonvalue.Value {
	ms := []jsonvalue.Member{
		{Key: "type", Value: jsonvalue.String("session")},
		{Key: "version", Value: jsonvalue.Int(int64(h.Version))},
		{Key: "id", Value: jsonvalue.String(h.ID)},
		{Key: "createdAt", Value: jsonvalue.Int(h.CreatedAt.UnixMilli())},
	}
	if h.Cwd != "" {
		ms = append(ms, jsonvalue.Member{Key: "cwd", Value: jsonvalue.String(h.Cwd)})
	}
	if len(h.AdditionalDirectories) > 0 {
		ms = append(ms, jsonvalue.Member{Key: "additionalDirectories", Value: jsonvalue.MustFromGo(h.AdditionalDirectories)})
	}
	if h.ParentSession != "" {
		ms = append(ms, jsonvalue.Member{Key: "parentSession", Value: jsonvalue.String(h.ParentSession)})
	}
	if h.SeedLength != 0 {
		ms = append(ms, jsonvalue.Member{Key: "seedLength", Value: jsonvalue.Int(int64(h.SeedLength))})
	}
	ms = append(ms, jsonvalue.Member{Key: "delegationDepth", Value: jsonvalue.Int(int64(h.DelegationDepth))})
	for k, v := range h.Extra.Members() {
		ms = append(ms, jsonvalue.Member{Key: k, Value: v})
	}
	return jsonvalue.Object(ms...)
}

func headerFromValue(v jsonvalue.Value) (Header, error) {
	var h Header
	if v.GetString("type") != "session" {
		return h, fmt.Errorf(`the first line is not a session header ({"type":"session",…})`)
	}
	var extra []jsonvalue.Member
	for key, x := range v.Members() {
		var text *string
		var number *int
		switch key {
		case "type":
			continue
		case "id":
			text = &h.ID
		case "cwd":
			text = &h.Cwd
		case "parentSession":
			text = &h.ParentSession
		case "version":
			number = &h.Version
		case "seedLength":
			number = &h.SeedLength
		case "delegationDepth":
			number = &h.DelegationDepth
		case "additionalDirectories":
			for _, dir := range x.Elements() {
				s, ok := dir.Str()
				if !ok {
					return h, fmt.Errorf("the header's additionalDirectories are not strings")
				}
				h.AdditionalDirectories = append(h.AdditionalDirectories, s)
			}
			continue
		case "createdAt":
			ms, ok := x.Int64()
			if !ok {
				return h, fmt.Errorf("the header's createdAt is not a whole number of milliseconds")
			}
			h.CreatedAt = time.UnixMilli(ms).UTC()
			continue
		default:
			extra = append(extra, jsonvalue.Member{Key: key, Value: x})
			continue
		}
		if text != nil {
			s, ok := x.Str()
			if !ok {
				return h, fmt.Errorf("the header's %s is not a string", key)
			}
			*text = s
			continue
		}
		n, ok := x.Int64()
		if !ok || n < 0 || n > 1<<31-1 {
			return h, fmt.Errorf("the header's %s is not a whole number", key)
		}
		*number = int(n)
	}
	if _, ok := v.Lookup("version"); !ok {
		return h, fmt.Errorf("the header has no version")
	}
	if h.Version > Version {
		return h, fmt.Errorf("the log has version %d, and this program reads up to %d: use a newer dsh-acp", h.Version, Version)
	}
	if h.ID == "" {
		return h, fmt.Errorf("the header has no id")
	}
	if len(extra) > 0 {
		h.Extra = jsonvalue.Object(extra...)
	}
	return h, nil
}
