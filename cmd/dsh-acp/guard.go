package main

import "github.com/dsh-acp/dsh-acp/internal/session"

// logOptions are those of every session's log: no key gets into one, and so none
// into what is projected from it or sent to the model.
func (a *app) logOptions() session.Options {
	return session.Options{Logger: a.logger, Conceal: a.guard.Value}
}
