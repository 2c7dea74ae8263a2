package proc

import (
	"os"
	"os/exec"
	"sync"
)

// guardScript waits until its standard input ends and then kills every process
// that carries the mark. A line on the input says that nothing is left to kill.
// It goes over the processes again and again for half a second, found or not: a
// process that has just been forked carries the mark only once it has become
// another program, and any may be starting another while it is looked at.
const guardScript = `read -r done && exit 0
for round in 1 2 3 4 5 6 7 8 9 10; do
	pids=
	for f in $(grep -la "$1" /proc/[0-9]*/environ 2>/dev/null); do
		f=${f#/proc/}
		pids="$pids ${f%/environ}"
	done
	[ -z "$pids" ] || kill -9 $pids 2>/dev/null
	sleep 0.05
done`

// guard is a small process that outlives this one when it is killed without
// warning: nobody else could then end what it had started. It holds the reading
// end of a pipe whose end it takes for the death of the program.
type guard struct {
	cmd   *exec.Cmd
	alive *os.File // the writing end; closed by the kernel when the program dies
	once  sync.Once
}

// startGuard starts the guard of everything that carries the mark. It returns nil
// where there is no shell for it: the program works without.
func startGuard(mark string) *guard {
	r, w, err := os.Pipe()
	if err != nil {
		return nil
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", guardScript, "sh", markVariable+"="+mark)
	cmd.Env = []string{"PATH=/usr/local/bin:/usr/bin:/bin"}
	cmd.Dir = "/"
	cmd.Stdin = r
	detach(cmd) // a signal to the program's group must not reach it
	if err := cmd.Start(); err != nil {
		_ = w.Close()
		return nil
	}
	return &guard{cmd: cmd, alive: w}
}

// end tells the guard that nothing is left, and waits for it.
func (g *guard) end() {
	if g == nil {
		return
	}
	g.once.Do(func() {
		_, _ = g.alive.WriteString("done\n") // it may have been killed: no matter
		_ = g.alive.Close()
		_ = g.cmd.Wait()
	})
}
