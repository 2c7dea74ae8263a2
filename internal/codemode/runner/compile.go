package runner

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/codemode/transpile"
	"github.com/dsh-acp/dsh-acp/internal/codemode/worker"
	"github.com/dsh-acp/dsh-acp/internal/proc"
)

// Bounds of compiling one program in a process of its own.
const (
	compileMemory = 384 << 20 // bytes
	compileCPU    = 5         // seconds
	compileWall   = 15 * time.Second
	compileOutput = 32 << 20 // bytes of the answer
)

// compile compiles a program. The compiler folds constants, so a short source can
// double a text forty times, and nothing can stop it from inside: a source that
// could is compiled in a process with limits. Most sources cannot, and are
// compiled here, which is thirty times as fast.
func (r *Runner) compile(ctx context.Context, p Program) (*transpile.Script, *Failure) {
	if r.o.Mode != InProcess && foldsMuch(p.Source) {
		return r.compileApart(ctx, p)
	}
	script, err := transpile.Compile(p.Source, transpile.Options{Tools: p.Tools})
	if err != nil {
		return nil, notCompiled(transpile.AsError(err))
	}
	return script, nil
}

// foldsMuch reports whether folding the constants of a source could cost more
// than some megabytes: enum members may refer to each other and so grow with
// every line, and a sum of texts costs the square of its length.
func foldsMuch(source string) bool {
	return len(source) > 64<<10 || strings.Contains(source, "enum") ||
		strings.Count(source, "+") > 400 || strings.Count(source, "${") > 400
}

func (r *Runner) compileApart(ctx context.Context, p Program) (*transpile.Script, *Failure) {
	job, err := json.Marshal(worker.CompileJob{Source: []byte(p.Source), Tools: p.Tools, Memory: compileMemory, CPU: compileCPU})
	if err != nil {
		return nil, notCompiled(transpile.AsError(err))
	}
	out, err := r.o.Supervisor.Run(ctx, proc.Command{
		Spec: proc.Spec{
			Args: []string{r.o.Executable, worker.CompileArgument},
			Env:  []string{worker.EnvName + "=" + worker.EnvValue, "GOTRACEBACK=none", "GOMAXPROCS=2"},
			Dir:  os.TempDir(),
		},
		Owner: "codemode", Grace: time.Millisecond,
	}, proc.RunOptions{Stdin: job, Timeout: compileWall, Limit: compileOutput, EndGroup: true})
	switch {
	case ctx.Err() != nil:
		return nil, &Failure{Kind: KindAbort, Message: reason(ctx)}
	case err != nil:
		return nil, &Failure{Kind: KindWorkerExit, Message: "worker error: " + clip(err.Error(), 500)}
	}
	var res worker.CompileResult
	if out.Code != 0 || out.TimedOut || out.Stdout.Truncated || json.Unmarshal([]byte(out.Stdout.Text), &res) != nil || (res.Script == nil && res.Error == nil) {
		return nil, &Failure{Kind: KindWorkerExit, Message: fmt.Sprintf(
			"worker error: compiling the program takes more than %d MiB or %d s: its constants are folded, so build long text with an array and join, and keep enum members short",
			compileMemory>>20, compileCPU)}
	}
	if res.Error != nil {
		return nil, notCompiled(res.Error)
	}
	return res.Script, nil
}
