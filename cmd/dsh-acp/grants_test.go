package main

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/config"
	"github.com/dsh-acp/dsh-acp/internal/policy"
)

func TestCheckMentionsTheSavedGrants(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	cfg := &config.Config{}
	cfg.Sessions.Dir = t.TempDir()
	check := func() (string, bool) {
		var out strings.Builder
		r := &report{out: &out}
		checkGrants(r, cfg)
		return out.String(), r.failed
	}
	if out, failed := check(); failed || !strings.Contains(out, "nothing is saved for ") {
		t.Error(out)
	}
	project := openProject(cfg, dir, slog.New(slog.DiscardHandler))
	g := policy.NewSessionGrants(policy.GrantsOptions{Project: project})
	if err := g.Allow(policy.Grant{Key: "workspace edit"}, policy.ThisProject); err != nil {
		t.Fatal(err)
	}
	if out, failed := check(); failed || !strings.Contains(out, "1 saved for ") || !strings.Contains(out, project.File()) {
		t.Error(out)
	}
	if rel, err := filepath.Rel(cfg.Sessions.Dir, project.File()); err != nil || strings.HasPrefix(rel, "..") {
		t.Errorf("saved at %s", project.File())
	}
	if err := os.WriteFile(project.File(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, failed := check(); !failed || !strings.Contains(out, "damaged") {
		t.Error(out)
	}
}
