package main

import (
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/session"
)

// guardHeaders has the guard learn the headers that bring a key to a gateway, by
// what their names say.
func (a *app) guardHeaders(headers map[string]string) {
	for name, value := range headers {
		name = strings.ToLower(name)
		for _, word := range []string{"auth", "key", "token", "secret", "cookie"} {
			if strings.Contains(name, word) {
				a.guard.Learn(value, strings.TrimPrefix(value, "Bearer "))
			}
		}
	}
}

// logOptions are those of every session's log: no key gets into one, and so none
// into what is projected from it or sent to the model.
func (a *app) logOptions() session.Options {
	return session.Options{Logger: a.logger, Conceal: a.guard.Value}
}
