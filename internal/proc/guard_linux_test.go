package proc

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// victimVariable makes the test program one that starts processes and waits.
const victimVariable = "PROC_TEST_VICTIM"

// TestVictim is not a test by itself: it is the program that the test below
// kills. It prints the ids of what it has started.
func TestVictim(t *testing.T) {
	if os.Getenv(victimVariable) == "" {
		t.Skip("only run by TestNothingOutlivesAKilledProgram")
	}
	s := NewSupervisor()
	script := `sleep 81 & echo $!; setsid sleep 82 & echo $!; (trap '' TERM; sleep 83) & echo $!; echo ready; sleep 84`
	_, err := s.Run(context.Background(), Command{
		Spec: Spec{Args: []string{"bash", "-c", script}, Env: os.Environ()},
	}, RunOptions{OnOutput: func(_ Stream, p []byte) { fmt.Print(string(p)) }})
	t.Fatal(err)
}

func TestNothingOutlivesAKilledProgram(t *testing.T) {
	cmd := exec.Command(os.Args[0], "-test.run=^TestVictim$")
	cmd.Env = append(os.Environ(), victimVariable+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pids []int
	lines := bufio.NewScanner(out)
	for lines.Scan() && !strings.HasPrefix(lines.Text(), "ready") {
		if pid, err := strconv.Atoi(lines.Text()); err == nil {
			pids = append(pids, pid)
		}
	}
	if len(pids) != 3 {
		t.Fatalf("the program started %v", pids)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	alive := func() (left []int) {
		for _, pid := range pids {
			if state, _, ok := processState(pid); ok && state != 'Z' {
				left = append(left, pid)
			}
		}
		return left
	}
	for end := time.Now().Add(60 * time.Second); len(alive()) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("still running after the program was killed: %v", alive())
		}
	}
}

// A supervisor that was closed leaves no guard behind.
func TestTheGuardEndsWithItsSupervisor(t *testing.T) {
	s := NewSupervisor()
	if _, err := s.Run(t.Context(), Command{Spec: Spec{Args: []string{"true"}, Env: os.Environ()}}, RunOptions{}); err != nil {
		t.Fatal(err)
	}
	pid := s.guard.cmd.Process.Pid
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, _, ok := processState(pid); ok {
		t.Error("the guard outlived its supervisor")
	}
}
