package credentials_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/credentials"
)

const secret = "sk-0123456789-secret"

func TestStoreKeepsKeysPrivately(t *testing.T) {
	s := credentials.NewStore(filepath.Join(t.TempDir(), "deep", "credentials.json"))
	if key, err := s.Get("deepseek"); key != "" || err != nil {
		t.Fatalf("%q %v", key, err)
	}
	for provider, key := range map[string]string{"deepseek": secret, "openai": "other"} {
		if err := s.Set(provider, key); err != nil {
			t.Fatal(err)
		}
	}
	if key, err := s.Get("deepseek"); key != secret || err != nil {
		t.Errorf("%q %v", key, err)
	}
	info, err := os.Stat(s.Path())
	if err != nil || (runtime.GOOS != "windows" && info.Mode().Perm() != 0o600) {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if err := s.Set("deepseek", ""); err != nil {
		t.Fatal(err)
	}
	if key, _ := s.Get("deepseek"); key != "" {
		t.Errorf("removed, and still %q", key)
	}
	if key, _ := s.Get("openai"); key != "other" {
		t.Errorf("%q", key)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(s.Path()), ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

func TestAStoreThatIsOpenOrBrokenIsRefusedWithoutItsContent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "credentials.json")
	s := credentials.NewStore(path)
	if err := os.WriteFile(path, []byte(`{"deepseek": `+secret), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get("deepseek"); err == nil || strings.Contains(err.Error(), "sk-") {
		t.Errorf("broken: %v", err)
	}
	if runtime.GOOS == "windows" {
		return
	}
	if err := os.WriteFile(path, []byte(`{"deepseek": "`+secret+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if key, err := s.Get("deepseek"); key != "" || err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("open to others: %q %v", key, err)
	}
}

func TestSourceOrder(t *testing.T) {
	store := credentials.NewStore(filepath.Join(t.TempDir(), "c.json"))
	vars := map[string]string{}
	runs := 0
	src := func() *credentials.Source {
		return &credentials.Source{
			Provider: "p", EnvName: "P_KEY", Env: func(n string) string { return vars[n] }, Store: store,
			Command: func(context.Context) (string, error) { runs++; return " from command \nsecond line\n", nil },
		}
	}
	want := func(key string) {
		t.Helper()
		if got, err := src().Key(t.Context()); got != key || err != nil {
			t.Errorf("%q %v, wanted %q", got, err, key)
		}
	}
	s := src()
	for range 2 {
		if got, err := s.Key(t.Context()); got != "from command" || err != nil {
			t.Errorf("%q %v", got, err)
		}
	}
	if runs != 1 {
		t.Errorf("the command ran %d times", runs)
	}
	if err := store.Set("p", "from store"); err != nil {
		t.Fatal(err)
	}
	want("from store")
	vars["P_KEY"] = " from env\n"
	want("from env")

	none := &credentials.Source{Provider: "p", EnvName: "P_KEY", Env: func(string) string { return "" }}
	if _, err := none.Key(t.Context()); !errors.Is(err, credentials.ErrNone) || !strings.Contains(err.Error(), "P_KEY") {
		t.Errorf("%v", err)
	}
	failing := &credentials.Source{Provider: "p", Command: func(context.Context) (string, error) { return "", errors.New("exit status 1") }}
	if _, err := failing.Key(t.Context()); err == nil || !strings.Contains(err.Error(), "api_key_command") {
		t.Errorf("%v", err)
	}
	silent := &credentials.Source{Provider: "p", Command: func(context.Context) (string, error) { return "\n", nil }}
	if _, err := silent.Key(t.Context()); !errors.Is(err, credentials.ErrNone) {
		t.Errorf("%v", err)
	}
}
