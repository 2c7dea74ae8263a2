package sandbox

import (
	"bytes"
	"errors"
	"os"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/dsh-acp/dsh-acp/internal/proc"
)

func (b *Box) useBwrap() {
	b.status = Status{Mechanism: Bubblewrap, Protects: true, Details: []string{
		b.bwrap + ": what may be written, protected paths inside of it, processes, network",
		"seccomp: sockets",
	}}
}

// bwrapBase is what every box of bwrap has in common. The process is not tied to
// the life of its parent: the thread that started it may end long before it.
func bwrapBase() []string {
	args := []string{"--ro-bind", "/", "/", "--dev", "/dev", "--unshare-pid", "--unshare-ipc", "--proc", "/proc"}
	if os.Geteuid() == 0 {
		args = append(args, "--cap-drop", "ALL")
		for _, c := range []string{"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID", "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_NET_BIND_SERVICE"} {
			args = append(args, "--cap-add", c)
		}
	}
	return args
}

func (b *Box) wrapBwrap(p Policy, layout *Layout, run *Run) error {
	filter, err := filterFor(p, p.Mode == ReadOnly)
	if err != nil {
		return err
	}
	options := append(bwrapBase(), bwrapMounts(layout)...)
	if run.NoNetwork {
		options = append(options, "--unshare-net")
	}
	ended := b.follow(run, layout)
	run.Wrap = func(spec *proc.Spec) (func(), error) {
		code, err := planFile(filter)
		if err != nil {
			return nil, err
		}
		if _, err := code.Seek(0, 0); err != nil { // bwrap reads from where it stands
			return nil, errors.Join(err, code.Close())
		}
		status, err := planFile(nil)
		if err != nil {
			return nil, errors.Join(err, code.Close())
		}
		first := 3 + len(spec.ExtraFiles)
		args := append([]string{b.bwrap}, options...)
		args = append(args, "--seccomp", strconv.Itoa(first), "--json-status-fd", strconv.Itoa(first+1))
		if spec.Dir != "" {
			args = append(args, "--chdir", spec.Dir)
		}
		spec.Args = append(append(args, "--"), spec.Args...)
		spec.ExtraFiles = append(spec.ExtraFiles[:len(spec.ExtraFiles):len(spec.ExtraFiles)], code, status)
		return func() {
			buf := make([]byte, 4096)
			n, _ := unix.Pread(int(status.Fd()), buf, 0)
			why := ""
			if !bytes.Contains(buf[:max(n, 0)], []byte("child-pid")) {
				why = "bwrap could not set up its box"
			}
			ended(why)
			_ = code.Close()
			_ = status.Close()
		}, nil
	}
	return nil
}
