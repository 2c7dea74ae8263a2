//go:build unix

package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

const stdoutRole = "WIRE_TEST_STDOUT"

// stdoutChild is what the test binary does as a child of TestTakeStdout.
func stdoutChild(role string) {
	frames, err := TakeStdout()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if role == "broken" {
		_, _ = io.Copy(io.Discard, os.Stdin) // until the reader of our output is gone
		_, errOut := frames.Write([]byte("x\n"))
		_, errLog := os.Stderr.Write([]byte("x\n"))
		if errors.Is(errOut, syscall.EPIPE) && errors.Is(errLog, syscall.EPIPE) {
			os.Exit(7)
		}
		os.Exit(1)
	}
	fmt.Println("print")
	_, _ = os.NewFile(1, "one").Write([]byte("fd1\n"))
	fmt.Fprintln(frames, "frame")
	sh := exec.Command("/bin/sh", "-c", "echo child")
	sh.Stdout = os.NewFile(1, "one")
	_ = sh.Run()
	os.Exit(0)
}

func TestTakeStdout(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), stdoutRole+"=print")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v: %s", err, errs.String())
	}
	if out.String() != "frame\n" {
		t.Errorf("standard output: %q", out.String())
	}
	for _, want := range []string{"print\n", "fd1\n", "child\n"} {
		if !bytes.Contains(errs.Bytes(), []byte(want)) {
			t.Errorf("standard error lacks %q: %q", want, errs.String())
		}
	}
}

func TestBrokenStdoutIsAnError(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), stdoutRole+"=broken")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	log, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	_ = log.Close()
	_ = in.Close()
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("the child ended with %v", cmd.ProcessState)
	}
}
