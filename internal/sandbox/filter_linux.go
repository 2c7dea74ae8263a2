package sandbox

import (
	"encoding/binary"
	"fmt"

	"github.com/elastic/go-seccomp-bpf"
	"github.com/elastic/go-seccomp-bpf/arch"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// neverCalls are system calls that reach around files and sockets, or change the
// whole machine. Few programs use them; those that do have another way, or the
// user's word for a wider mode.
var neverCalls = []string{
	"io_uring_setup", "io_uring_enter", "io_uring_register", // opens sockets past this filter
	"setns", "open_by_handle_at", "mount", "umount2", "pivot_root", "move_mount", "fsopen", "fsmount", "fspick", "open_tree", "mount_setattr",
	"bpf", "perf_event_open", "userfaultfd", "add_key", "request_key", "keyctl",
	"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot", "swapon", "swapoff",
	"acct", "quotactl", "quotactl_fd", "iopl", "ioperm", "settimeofday", "clock_settime", "sethostname", "setdomainname", "syslog", "fanotify_init",
}

// sysNotThere is what a call of another interface of the kernel answers.
const sysNotThere = uint32(unix.ENOSYS)

// lowHalfOfSecond is where the kernel shows a filter the lower half of the second
// argument, on processors that have it first.
const lowHalfOfSecond = 24

// filterFor assembles the filter of a policy in the kernel's form. noInet leaves
// out the internet's sockets.
func filterFor(p Policy, noInet bool) ([]byte, error) {
	families := []uint64{unix.AF_NETLINK}
	if !noInet {
		families = append(families, unix.AF_INET, unix.AF_INET6)
	}
	if p.UnixSockets {
		families = append(families, unix.AF_UNIX)
	}
	other := make(seccomp.ArgumentConditions, len(families))
	for i, f := range families {
		other[i] = seccomp.Condition{Argument: 0, Operation: seccomp.NotEqual, Value: f}
	}
	conditions := []seccomp.NameWithConditions{{Name: "socket", Conditions: other}}
	if !p.UnixSockets {
		// One of a pair is a socket like any, and of datagrams it needs no connection to
		// send them to whoever has a name: SOCK_DGRAM and SOCK_RAW alone have this bit.
		conditions = append(conditions, seccomp.NameWithConditions{
			Name: "socketpair", Conditions: seccomp.ArgumentConditions{{Argument: 1, Operation: seccomp.BitsSet, Value: unix.SOCK_DGRAM}},
		})
	}
	info, err := arch.GetInfo("")
	if err != nil {
		return nil, fmt.Errorf("the sandbox does not know this processor's system calls: %w", err)
	}
	var names []string
	for _, name := range neverCalls {
		if _, ok := info.SyscallNames[name]; ok {
			names = append(names, name)
		}
	}
	policy := seccomp.Policy{
		DefaultAction: seccomp.ActionAllow,
		Syscalls: []seccomp.SyscallGroup{{
			Action: seccomp.ActionErrno, Names: names,
			NamesWithCondtions: conditions,
		}},
	}
	code, err := policy.Assemble()
	if err != nil {
		return nil, fmt.Errorf("the sandbox's system call filter cannot be assembled: %w", err)
	}
	// Programs for another interface of the kernel have other numbers for the same
	// calls; none of theirs is let through.
	head := []bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(info.ID), SkipTrue: 1},
		bpf.RetConstant{Val: uint32(seccomp.ActionErrno) | sysNotThere},
	}
	if nr, ok := info.SyscallNames["ioctl"]; ok {
		// Typing into somebody's terminal. The kernel looks at the lower half of the
		// argument alone, so that must be done here too.
		head = append(head,
			bpf.LoadAbsolute{Off: 0, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(nr), SkipFalse: 3},
			bpf.LoadAbsolute{Off: lowHalfOfSecond, Size: 4},
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.TIOCSTI, SkipFalse: 1},
			bpf.RetConstant{Val: uint32(seccomp.ActionErrno) | uint32(unix.EPERM)},
		)
	}
	code = append(head, code...)
	raw, err := bpf.Assemble(code)
	if err != nil {
		return nil, fmt.Errorf("the sandbox's system call filter cannot be assembled: %w", err)
	}
	out := make([]byte, 0, 8*len(raw))
	for _, i := range raw {
		out = binary.NativeEndian.AppendUint16(out, i.Op)
		out = append(out, i.Jt, i.Jf)
		out = binary.NativeEndian.AppendUint32(out, i.K)
	}
	return out, nil
}
