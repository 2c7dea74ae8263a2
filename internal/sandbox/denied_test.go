package sandbox

import (
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestDenied(t *testing.T) {
	base := tree(t, "work/.git/HEAD", "work/.git/config", "work/a b.txt", "out/file", "out/other file")
	work := filepath.Join(base, "work")
	run := &Run{Mode: WorkspaceWrite, Layout: NewLayout(Policy{Mode: WorkspaceWrite, Roots: []string{work}})}
	for output, want := range map[string]bool{
		"bash: line 1: ../out/new: Permission denied":                                          true,
		"bash: line 1: " + base + "/out/file: Permission denied":                               true,
		"touch: cannot touch '" + base + "/out/other file': Permission denied":                 true,
		"mkdir: cannot create directory ‘../out/d’: Read-only file system":                     true,
		"PermissionError: [Errno 13] Permission denied: '" + base + "/out/x'":                  true,
		"Error: EACCES: permission denied, open '" + base + "/out/x'":                          true,
		"open " + base + "/out/x: permission denied":                                           true,
		"error: could not write config file .git/config: Device or resource busy":              true,
		"fine\nmv: cannot move 'a b.txt' to '../out/a': Permission denied\nmore":               true,
		"rm: cannot remove '../out/file': Permission denied\r":                                 true,
		"bash: line 1: ./a b.txt: Permission denied":                                           false, // not executable: no business of ours
		"cat: '" + work + "/a b.txt': Permission denied":                                       false,
		"echo " + base + "/out/file":                                                           false,
		"Permission denied (publickey).":                                                       false,
		"everything is fine":                                                                   false,
		"":                                                                                     false,
		"bash: /dev/null: Permission denied":                                                   false,
		"cp: cannot create regular file '" + base + "/no/such/folder/x': No such file":         false,
		strings.Repeat("x: Permission denied\n", 5000) + base + "/out/file: Permission denied": false, // bounded
	} {
		if got := run.Denied(output, work); got != want {
			t.Errorf("%.90q: %v", output, got)
		}
	}
	if (&Run{Mode: FullAccess}).Denied("bash: /x: Permission denied", work) {
		t.Error("nothing denies under full access")
	}
}

// What the user may not write either is the system's refusal.
func TestDeniedBySystem(t *testing.T) {
	if runtime.GOOS == "windows" || mayWrite("/etc/passwd") || mayWrite("/etc") {
		t.Skip("this user may write everything")
	}
	run := &Run{Mode: ReadOnly, Layout: NewLayout(Policy{Mode: ReadOnly})}
	if run.Denied("bash: line 1: /etc/passwd: Permission denied", "/") {
		t.Error("a refusal of the system is taken for ours")
	}
}

func TestDeniedTakesAnyOutput(t *testing.T) {
	run := &Run{Mode: ReadOnly, Layout: NewLayout(Policy{Mode: ReadOnly})}
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.StringMatching(`([a-z'"‘’/ :\x00\n]{0,20}([Pp]ermission denied|EACCES)?){0,4}`).Draw(r, "text")
		run.Denied(text, "/nowhere")
	})
}

func TestMissesNetwork(t *testing.T) {
	for text, want := range map[string]bool{
		"curl: (6) Could not resolve host: example.org": true, "npm error code EAI_AGAIN": true, "connect: Network is unreachable": true,
		"error: pathspec 'x' did not match": false, "": false,
	} {
		if MissesNetwork(text) != want {
			t.Errorf("%q", text)
		}
	}
	if !LacksNetwork("landlock, "+noNetwork) || LacksNetwork("landlock") || LacksNetwork("") {
		t.Error("the enforcement's text is misread")
	}
}

func TestConfines(t *testing.T) {
	base := tree(t, "plain/a", "repo/.git/HEAD", "repo/.git/config")
	half := &Box{status: Status{Mechanism: Landlock}}
	full := &Box{status: Status{Mechanism: Landlock, Protects: true}}
	none := &Box{status: Status{Mechanism: None}}
	for _, c := range []struct {
		box  *Box
		mode Mode
		root string
		want bool
	}{
		{full, WorkspaceWrite, "repo", true},
		{half, WorkspaceWrite, "repo", false},
		{half, WorkspaceWrite, "plain", true},
		{half, ReadOnly, "repo", true},
		{none, WorkspaceWrite, "plain", false},
		{full, FullAccess, "plain", false},
	} {
		if got := c.box.Confines(Policy{Mode: c.mode, Roots: []string{filepath.Join(base, c.root)}}); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	run, err := none.Command(Policy{Mode: WorkspaceWrite})
	if err != nil || run.Wrap != nil || run.Enforcement != "" || run.Failure() != "" || run.Undone() != nil {
		t.Errorf("%+v, %v", run, err)
	}
}

func TestBwrapMounts(t *testing.T) {
	base := tree(t, "work/.git/HEAD", "work/.git/config", "tmp/")
	l := NewLayout(Policy{Mode: WorkspaceWrite, Roots: []string{base + "/work"}, Temp: []string{base + "/tmp"}})
	got := strings.ReplaceAll(strings.Join(bwrapMounts(l), " "), base, "/B")
	want := "--bind-try /B/tmp /B/tmp --bind-try /B/work /B/work --bind-try /B/work/.git /B/work/.git --ro-bind-try /B/work/.git/config /B/work/.git/config"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
