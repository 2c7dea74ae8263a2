package worker

import (
	"encoding/json"
	"io"
	"os"
	"runtime/debug"

	"github.com/dsh-acp/dsh-acp/internal/codemode/transpile"
)

// CompileArgument starts this program as a compiler of one program. Compiling is
// where a small source can ask for any amount of memory (constants are folded),
// and the compiler can be neither interrupted nor bounded from inside.
const CompileArgument = "internal-codemode-compile"

// CompileJob is what such a process reads from stdin, as JSON.
type CompileJob struct {
	Source []byte
	Tools  []string
	Memory uint64 // bytes it may use
	CPU    uint64 // seconds it may compute
}

// CompileResult is what it writes to stdout: a script or an error.
type CompileResult struct {
	Script *transpile.Script `json:",omitempty"`
	Error  *transpile.Error  `json:",omitempty"`
}

// compileMain serves one job and returns the exit code.
func compileMain() int {
	debug.SetMaxStack(maxStack)
	var job CompileJob
	data, err := io.ReadAll(os.Stdin)
	if err != nil || json.Unmarshal(data, &job) != nil {
		return exitProtocol
	}
	limitCompiler(job.Memory*memoryFactor, job.CPU)
	var res CompileResult
	res.Script, err = transpile.Compile(string(job.Source), transpile.Options{Tools: job.Tools})
	if err != nil {
		res.Script, res.Error = nil, transpile.AsError(err)
	}
	if json.NewEncoder(os.Stdout).Encode(res) != nil {
		return exitProtocol
	}
	return exitOK
}
