package worker

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// memorySlack is what the kernel's limit allows beyond the program's: the
// runtime itself, and one allocation the watchdog has not seen yet.
const memorySlack = 512 << 20

// confine takes from this process, for good, what a program must not reach even
// if it broke out of the engine. Each step is best effort: a kernel without it
// still has the others, and Confinement says which are there.
func confine() {
	limit(unix.RLIMIT_CORE, 0)
	limit(unix.RLIMIT_NOFILE, 16)
	_ = landlock.V6.BestEffort().Restrict()
	if f, err := filter(); err == nil {
		_ = seccomp.LoadFilter(*f)
	}
}

// limitRun sets the limits that depend on the program.
func limitRun(memory uint64, cpuSeconds uint64) {
	if memory > 0 {
		limit(unix.RLIMIT_DATA, memory+memorySlack)
		debug.SetMemoryLimit(int64(memory / 4 * 3)) // garbage must not be taken for use
	}
	if cpuSeconds > 0 {
		limit(unix.RLIMIT_CPU, cpuSeconds)
	}
}

func limit(which int, n uint64) {
	_ = unix.Setrlimit(which, &unix.Rlimit{Cur: n, Max: n})
}

// denied are the system calls a worker never makes once it is prepared. The Go
// runtime needs memory, threads, clocks, signals to itself, and open pipes.
var denied = []string{
	"socket", "socketpair", "connect", "bind", "listen", "accept", "accept4", "sendto", "sendmsg", "sendmmsg",
	"execve", "execveat", "fork", "vfork", "ptrace", "process_vm_readv", "process_vm_writev", "kill",
	"open", "openat", "openat2", "creat", "link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat",
	"rename", "renameat", "renameat2", "mkdir", "mkdirat", "rmdir", "mknod", "mknodat", "truncate",
	"chmod", "fchmod", "fchmodat", "chown", "fchown", "lchown", "fchownat", "utimensat",
	"mount", "umount2", "pivot_root", "chroot", "chdir", "fchdir", "setns", "unshare", "bpf", "perf_event_open",
	"keyctl", "add_key", "request_key", "io_uring_setup", "io_uring_enter", "io_uring_register", "memfd_create",
	"userfaultfd", "shmget", "shmat", "msgget", "semget", "mq_open", "pidfd_open", "pidfd_getfd",
	"init_module", "finit_module", "delete_module", "reboot", "swapon", "swapoff", "sethostname", "setuid", "setgid",
	"name_to_handle_at", "open_by_handle_at", "fanotify_init", "inotify_init1", "quotactl", "acct", "kexec_load",
}

// filter is the seccomp program: denied calls fail as not permitted.
func filter() (*seccomp.Filter, error) {
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range denied {
		if _, ok := info.SyscallNames[name]; ok { // older architectures have more calls
			names = append(names, name)
		}
	}
	return &seccomp.Filter{
		NoNewPrivs: true,
		Flag:       seccomp.FilterFlagTSync,
		Policy: seccomp.Policy{
			DefaultAction: seccomp.ActionAllow,
			Syscalls:      []seccomp.SyscallGroup{{Names: names, Action: seccomp.ActionErrno}},
		},
	}, nil
}

func confinement() []string {
	out := []string{"resource limits: memory, CPU time, open files, no core dumps"}
	if v, err := ll.LandlockGetABIVersion(); err == nil && v > 0 {
		out = append(out, fmt.Sprintf("Landlock (ABI %d): no file system, no TCP", v))
	} else {
		out = append(out, "Landlock: not available on this kernel")
	}
	if f, err := filter(); err == nil && seccomp.Supported() {
		out = append(out, fmt.Sprintf("seccomp: no sockets, no files, no new processes (%d system calls denied on %s)",
			len(f.Policy.Syscalls[0].Names), runtime.GOARCH))
	} else {
		out = append(out, "seccomp: not available on this kernel")
	}
	return out
}
