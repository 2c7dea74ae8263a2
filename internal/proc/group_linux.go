package proc

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
)

// groupAlive says whether a process of the group still runs. Zombies do not
// count: whoever is their parent may never reap them.
func groupAlive(id int) bool {
	if !exists(id) {
		return false
	}
	alive, seen := false, false
	eachProcess(func(pid int) bool {
		state, group, ok := processState(pid)
		seen = seen || ok
		alive = ok && group == id && state != 'Z' && state != 'X'
		return !alive
	})
	return alive || !seen
}

// signalMarked signals every process whose mark begins so, and says how many
// there were. It finds those that called setsid. Signal 0 only counts.
func signalMarked(mark string, sig signal) (found int) {
	want := []byte(markVariable + "=" + mark)
	self := os.Getpid()
	eachProcess(func(pid int) bool {
		if pid == self {
			return true
		}
		env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
		if err != nil || !bytes.Contains(env, want) {
			return true
		}
		if state, _, ok := processState(pid); ok && state != 'Z' && syscall.Kill(pid, sig) == nil {
			found++
		}
		return true
	})
	return found
}

func eachProcess(visit func(pid int) bool) {
	dir, err := os.Open("/proc")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil && !visit(pid) {
			return
		}
	}
}

// processState reads the state letter and the process group of a process. The
// program's name stands before them in parentheses and may hold anything.
func processState(pid int) (state byte, group int, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, 0, false
	}
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 3 || len(fields[0]) != 1 {
		return 0, 0, false
	}
	group, err = strconv.Atoi(string(fields[2]))
	return fields[0][0], group, err == nil
}
