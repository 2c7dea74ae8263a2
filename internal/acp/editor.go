package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
)

// Both file requests are optional for an editor, and some never answer what
// they do not know: so each has a deadline. A write may wait for the editor to
// format and save.
const (
	editorReadWait  = 5 * time.Second
	editorWriteWait = 15 * time.Second
)

// maxSilent is after how many requests without an answer, one after the other,
// the editor is not asked for files any more on this connection.
const maxSilent = 2

// editorState is what the connection has shown of its client's file requests.
type editorState struct {
	readWait, writeWait time.Duration
	silent              atomic.Int32 // unanswered requests, one after the other
	noReads, noWrites   atomic.Bool  // answered "no such method" although advertised
}

// EditorFiles is the client's side of text files: what it lets the agent read
// and write through it. The zero value and nil offer nothing.
type EditorFiles struct {
	server        *Server
	session       string
	reads, writes bool
}

// editorFiles is what the client offers a session that opens now.
func (s *Server) editorFiles() *EditorFiles {
	caps := s.capabilities()
	return &EditorFiles{server: s, reads: caps.ReadTextFile, writes: caps.WriteTextFile}
}

// ForSession is the same for requests in the name of a session.
func (f *EditorFiles) ForSession(id string) *EditorFiles {
	if f == nil {
		return &EditorFiles{}
	}
	g := *f
	g.session = id
	return &g
}

// Reads reports whether the client can be asked for the text of a file: it says
// that it can, and has not proved otherwise.
func (f *EditorFiles) Reads() bool {
	return f.reads && f.server.editor.silent.Load() < maxSilent && !f.server.editor.noReads.Load()
}

// Writes reports whether the client can be handed the text of a file.
func (f *EditorFiles) Writes() bool {
	return f.writes && f.server.editor.silent.Load() < maxSilent && !f.server.editor.noWrites.Load()
}

// ReadTextFile asks for the whole text of a file: clients disagree about what a
// window of lines is. The end of ctx withdraws the request with
// $/cancel_request, and so does the deadline. An error is worded to follow
// "could not be asked:".
func (f *EditorFiles) ReadTextFile(ctx context.Context, path string) (string, error) {
	e := &f.server.editor
	raw, err := f.call(ctx, e.readWait, &e.noReads, protocol.MethodReadTextFile, protocol.ReadTextFile{SessionID: f.session, Path: path})
	if err != nil {
		return "", err
	}
	text, err := protocol.DecodeReadTextFile(raw)
	if err != nil {
		return "", errors.New("its answer holds no text")
	}
	return text, nil
}

// WriteTextFile hands over the whole text of a file. Clients answer null or an
// object; one with an error in it is an error.
func (f *EditorFiles) WriteTextFile(ctx context.Context, path, text string) error {
	e := &f.server.editor
	raw, err := f.call(ctx, e.writeWait, &e.noWrites, protocol.MethodWriteTextFile, protocol.WriteTextFile{SessionID: f.session, Path: path, Content: text})
	if err != nil {
		return err
	}
	return errorInside(raw)
}

// errorInside is the error that some clients put into the result of a write.
func errorInside(raw json.RawMessage) error {
	var r struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &r) != nil || len(r.Error) == 0 || string(r.Error) == "null" || string(r.Error) == "false" {
		return nil
	}
	var message string
	if json.Unmarshal(r.Error, &message) != nil {
		var o struct{ Message string }
		_ = json.Unmarshal(r.Error, &o) // else it stays as it is
		if message = o.Message; message == "" {
			message = string(r.Error)
		}
	}
	return fmt.Errorf("it answered: %.300s", message)
}

// call makes one optional request. unsupported is set when the client does not
// know the method after all.
func (f *EditorFiles) call(ctx context.Context, wait time.Duration, unsupported *atomic.Bool, method string, params any) (json.RawMessage, error) {
	e := &f.server.editor
	bounded, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	raw, err := f.server.call(bounded, method, params, sentNothing)
	var answer *protocol.Error
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil:
		e.silent.Store(0)
		return raw, nil
	case errors.As(err, &answer):
		e.silent.Store(0)
		if answer.Code == protocol.CodeMethodNotFound {
			unsupported.Store(true)
			f.server.log.Warn("the editor advertises a request that it does not serve; files are read and written on disk", "method", method)
		}
		return nil, fmt.Errorf("it answered: %.300s", answer.Message)
	case bounded.Err() != nil:
		if e.silent.Add(1) == maxSilent {
			f.server.log.Warn("the editor does not answer requests for files; it is not asked any more on this connection", "method", method)
		}
		return nil, fmt.Errorf("it did not answer within %s", wait)
	}
	return nil, err
}
