package workspace

import (
	"context"
	"runtime"
	"time"
)

// environment is the section that tells where the model works. It is made once,
// so that the prompt's prefix stays the same for the provider's cache.
func (w *Workspace) environment(context.Context) (string, error) {
	w.find()
	w.describe.Do(func() {
		w.env = "Working directory: " + w.given +
			"\nPlatform: " + runtime.GOOS + "/" + runtime.GOARCH +
			"\nDate when the session was opened: " + w.opened.Local().Format(time.DateOnly) +
			"\nGit when the session was opened: " + readGit(w.cwd).String()
	})
	return w.env, nil
}
