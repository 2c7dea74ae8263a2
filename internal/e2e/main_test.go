// Package e2e drives the built program the way editors do: over pipes, through
// every layer. It holds tests only.
package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/mcp/mcptest"
)

// bin is the program under test: the one named by DSH_ACP_BIN, else one built
// for this run.
var bin string

func TestMain(m *testing.M) {
	mcptest.MaybeServe() // a server of the tests is this binary, started again
	os.Exit(run(m))
}

func run(m *testing.M) int {
	if bin = os.Getenv("DSH_ACP_BIN"); bin != "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "dsh-acp-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	bin = filepath.Join(dir, "dsh-acp")
	build := exec.Command("go", "build", "-o", bin, "github.com/dsh-acp/dsh-acp/cmd/dsh-acp")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
