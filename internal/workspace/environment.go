package workspace

import (
	"context"
	"runtime"
	"strings"
	"time"
)

// environment is the section that tells where the model works. It is made once,
// so that the prompt's prefix stays the same for the provider's cache.
func (w *Workspace) environment(context.Context) (string, error) {
	w.find()
	w.describe.Do(func() {
		w.env = "Working directory: " + w.given + w.additional() +
			"\nPlatform: " + runtime.GOOS + "/" + runtime.GOARCH +
			"\nDate when the session was opened: " + w.opened.Local().Format(time.DateOnly) +
			"\nGit when the session was opened: " + readGit(w.cwd).String()
	})
	return w.env, nil
}

// additional is the line about the additional folders, if there are any.
func (w *Workspace) additional() string {
	if len(w.more) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString("\nAlso part of the workspace (relative paths do not start there, so use absolute ones):")
	for _, dir := range w.more {
		b.WriteString("\n- " + oneLine(dir))
	}
	return b.String()
}
