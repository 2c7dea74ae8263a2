package proc

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// The keys that a program was started with are not to be read off it by others,
// and are still there for itself and for whom it gives them to.
func TestHideEnviron(t *testing.T) {
	if os.Getenv("HIDE_ENVIRON_HELPER") != "" {
		HideEnviron()
		own, err := os.ReadFile("/proc/self/environ")
		if err != nil {
			t.Fatal(err)
		}
		child, err := exec.Command("env").Output()
		if err != nil {
			t.Fatal(err)
		}
		HideEnviron() // once more is no harm
		os.Stdout.WriteString(strings.ReplaceAll("own "+os.Getenv("SOME_KEY")+"\nshown "+string(own)+"\nchild "+strings.ReplaceAll(string(child), "\n", " ")+"\n", "\x00", ""))
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestHideEnviron$")
	cmd.Env = []string{"HIDE_ENVIRON_HELPER=1", "SOME_KEY=s3cret", "PATH=" + os.Getenv("PATH"), markVariable + "=outer-1", "EMPTY="}
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for lines := bufio.NewScanner(strings.NewReader(string(out))); lines.Scan(); {
		name, rest, _ := strings.Cut(lines.Text(), " ")
		got[name] = rest
	}
	if got["own"] != "s3cret" || !strings.Contains(got["child"], "SOME_KEY=s3cret") {
		t.Errorf("the program itself lost its environment: %q", got)
	}
	if got["shown"] != markVariable+"=outer-1" {
		t.Errorf("shown: %q", got["shown"])
	}
}

func TestEnvironBlock(t *testing.T) {
	for stat, ok := range map[string]bool{"": false, "1 (a) S 1": false, "1 (a ) b) S" + strings.Repeat(" 0", 49): false, "1 (a ) b) S" + strings.Repeat(" 7", 46) + " 100 164 0": true, "1 (x) S" + strings.Repeat(" 7", 46) + " 100 nan 0": false, "1 (x) S" + strings.Repeat(" 7", 46) + " 100 99 0": false} {
		start, end, got := environBlock([]byte(stat))
		if got != ok || ok && (start != 100 || end != 164) {
			t.Errorf("%q: %d %d %v", stat, start, end, got)
		}
	}
}
