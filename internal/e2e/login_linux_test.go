package e2e

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// terminal gives both ends of a pseudo terminal.
func terminal(t *testing.T) (screen, keys *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals here: ", err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Skip("no pseudo terminals here: ", err)
	}
	keys, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no pseudo terminals here: ", err)
	}
	t.Cleanup(func() { _ = keys.Close() })
	return screen, keys
}

// At the prompt for a key nothing that is typed is shown, and Ctrl-C ends it with
// the terminal as it was.
func TestLoginAtATerminal(t *testing.T) {
	const key = "sk-typed-at-a-terminal-0123"
	for name, typed := range map[string]string{"a key": key + "\n", "Ctrl-C": "sk-typed\x03"} {
		t.Run(name, func(t *testing.T) {
			screen, tty := terminal(t)
			home := t.TempDir()
			cmd := exec.Command(bin, "login", "--model", "openai")
			cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
			cmd.Stdin, cmd.Stdout, cmd.Stderr = tty, tty, tty
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			var mu sync.Mutex
			var shown bytes.Buffer
			text := func() string {
				mu.Lock()
				defer mu.Unlock()
				return shown.String()
			}
			go func() {
				buf := make([]byte, 4096)
				for {
					n, err := screen.Read(buf)
					if err != nil {
						return
					}
					mu.Lock()
					shown.Write(buf[:n])
					mu.Unlock()
				}
			}()
			echoes := func() bool {
				state, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
				return err == nil && state.Lflag&unix.ECHO != 0
			}
			for begun := time.Now(); !strings.Contains(text(), "not shown") || echoes(); {
				if time.Since(begun) > patience {
					t.Fatalf("no prompt: %q", text())
				}
				time.Sleep(5 * time.Millisecond)
			}
			if _, err := screen.WriteString(typed); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			select {
			case err := <-ended:
				if (err == nil) != (name == "a key") {
					t.Errorf("%v: %q", err, text())
				}
			case <-time.After(patience):
				t.Fatalf("it goes on: %q", text())
			}
			if strings.Contains(text(), "sk-typed") {
				t.Errorf("shown: %q", text())
			}
			if !echoes() {
				t.Error("the terminal was not set back")
			}
			data, err := os.ReadFile(home + "/.local/state/dsh-acp/credentials.json")
			if (err == nil && strings.Contains(string(data), key)) != (name == "a key") {
				t.Errorf("stored: %q, %v", data, err)
			}
		})
	}
}
