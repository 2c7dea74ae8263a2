package main

import (
	"context"
	"errors"

	"github.com/dsh-acp/dsh-acp/internal/acp"
	"github.com/dsh-acp/dsh-acp/internal/agent"
	"github.com/dsh-acp/dsh-acp/internal/session"
)

// ForkSession makes a new session of a copy of another one's log.
func (a *app) ForkSession(_ context.Context, id string, p acp.SessionParams) (*agent.Session, error) {
	if a.providerErr != nil {
		return nil, a.providerErr
	}
	log, err := a.store.Fork(id, session.Header{Cwd: p.Cwd, AdditionalDirectories: p.AdditionalDirectories})
	if err != nil {
		return nil, err
	}
	if drafts := session.RepairCopy(log.Kept()); drafts != nil {
		if _, err := log.AppendAll(drafts); err != nil {
			return nil, errors.Join(err, log.Close())
		}
	}
	return a.startSession(log, p)
}

// SetTitle titles a stored session.
func (a *app) SetTitle(_ context.Context, id, title string) error {
	log, err := a.store.Open(id)
	if err != nil {
		return err
	}
	_, err = log.Append(session.Draft{Type: session.TypeTitle, Data: agent.UserTitle(title)})
	return errors.Join(err, log.Close())
}
