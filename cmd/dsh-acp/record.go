package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/record"
)

// recordKeyWait bounds the look for the model's key, which a recording must not
// hold.
const recordKeyWait = 10 * time.Second

// record puts a recorder between the client and the server; without a folder
// nothing is between them.
func (a *app) record(ctx context.Context, dir string, in io.Reader, out io.Writer) (io.Reader, io.Writer, func(), error) {
	if dir == "" {
		return in, out, func() {}, nil
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil, nil, err
	}
	home, _ := os.UserHomeDir()
	host, _ := os.Hostname()
	r, err := record.Begin(record.Options{
		Dir: dir, Sessions: a.cfg.Sessions.Dir, Preset: a.cfg.Permissions.Preset, ToolMode: a.cfg.Tools.Mode, Version: versionString(),
		Redact: record.Redaction{Home: home, Host: host, Secrets: a.secrets(ctx), Patterns: a.cfg.Record.Redact}, Logger: a.logger,
	})
	if err != nil {
		return nil, nil, nil, err
	}
	end := func() {
		if err := r.End(); err != nil {
			a.logger.Error("not everything could be recorded", "dir", dir, "err", err)
		}
	}
	return r.Reader(in), r.Writer(out), end, nil
}

// secrets are the keys that this program knows of: the model's, those in
// configured headers, and what variables of telling names hold.
func (a *app) secrets(ctx context.Context) []string {
	ctx, cancel := context.WithTimeout(ctx, recordKeyWait)
	defer cancel()
	var out []string
	if key, err := a.key.Key(ctx); err == nil {
		out = append(out, key)
	}
	for _, v := range a.cfg.Model.Headers {
		out = append(out, v)
	}
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		name = strings.ToUpper(name)
		for _, word := range []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD"} {
			if strings.Contains(name, word) && len(value) >= 8 {
				out = append(out, value)
				break
			}
		}
	}
	return out
}
