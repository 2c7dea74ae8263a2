package proc

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestKeepDescriptors(t *testing.T) {
	if way := os.Getenv("KEEP_DESCRIPTORS_HELPER"); way != "" {
		before, _ := exec.Command("readlink", "/proc/self/fd/3").Output()
		if way == "each" {
			keepEach()
		} else {
			KeepDescriptors()
		}
		after, _ := exec.Command("readlink", "/proc/self/fd/3").Output()
		still, _ := os.Readlink("/proc/self/fd/3")
		os.Stdout.WriteString("before " + strings.TrimSpace(string(before)) + ", after " + strings.TrimSpace(string(after)) + ", own " + still + ".\n")
		return
	}
	f, err := os.CreateTemp(t.TempDir(), "left-open")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, way := range []string{"range", "each"} {
		cmd := exec.Command(os.Args[0], "-test.run=^TestKeepDescriptors$")
		cmd.Env = []string{"KEEP_DESCRIPTORS_HELPER=" + way, "PATH=" + os.Getenv("PATH")}
		cmd.ExtraFiles = []*os.File{f}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if want := "before " + f.Name() + ", after , own " + f.Name() + ".\n"; !strings.Contains(string(out), want) {
			t.Errorf("%s: %s\nwant %s", way, out, want)
		}
	}
}
