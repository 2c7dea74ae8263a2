package consent

import (
	"os"
	"path/filepath"
	"testing"
)

func TestStore(t *testing.T) {
	s := Store{Dir: filepath.Join(t.TempDir(), "a", "b")}
	key, other := Key("mcp", "/w/.mcp.json", []byte("x")), Key("mcp", "/w/.mcp.json", []byte("y"))
	if key == other || key == Key("mcp", "/v/.mcp.json", []byte("x")) || key == Key("hooks", "/w/.mcp.json", []byte("x")) {
		t.Error("two contents, places or kinds have one key")
	}
	if s.Allowed(key) || s.Revoke(key) != nil {
		t.Error("consent from nowhere")
	}
	if err := s.Allow(key); err != nil {
		t.Fatal(err)
	}
	if !s.Allowed(key) || s.Allowed(other) {
		t.Error("not what was allowed")
	}
	info, err := os.Stat(s.Dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v %v", info.Mode(), err)
	}
	if err := s.Revoke(key, other); err != nil || s.Allowed(key) {
		t.Errorf("%v", err)
	}
	// What is no file of ours is no consent.
	if err := os.Mkdir(filepath.Join(s.Dir, other), 0o700); err != nil || s.Allowed(other) {
		t.Error("a folder counts as consent")
	}
	if err := s.Refuse(key); err != nil || !s.Refused(key) || s.Allowed(key) || s.Refused(other) {
		t.Errorf("a refusal: %v", err)
	}
	if err := s.Allow(key); err != nil || s.Refused(key) || !s.Allowed(key) {
		t.Errorf("consent after a refusal: %v", err)
	}
	if err := s.Refuse(key); err != nil || s.Allowed(key) {
		t.Errorf("a refusal after consent: %v", err)
	}
	if err := s.Revoke(key); err != nil || s.Refused(key) || s.Allowed(key) {
		t.Errorf("taken back: %v", err)
	}
	if (Store{}).Refused(key) || (Store{}).Refuse(key) == nil || (Store{}).Allowed(key) || (Store{}).Allow(key) == nil || (Store{}).Revoke(key) != nil {
		t.Error("the zero store remembers something")
	}
}
