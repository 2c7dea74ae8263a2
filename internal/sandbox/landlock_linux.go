package sandbox

import (
	"fmt"
	"os"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// Rights in groups, and the first ABI that knows the later ones.
const (
	rightsRead  = ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir
	rightsWrite = ll.AccessFSWriteFile | ll.AccessFSRemoveDir | ll.AccessFSRemoveFile | ll.AccessFSMakeDir |
		ll.AccessFSMakeReg | ll.AccessFSMakeSock | ll.AccessFSMakeFifo | ll.AccessFSMakeSym
	rightsDevices = ll.AccessFSMakeChar | ll.AccessFSMakeBlock // never granted

	abiRefer, abiTruncate, abiIoctl, abiScope, abiUnix = 2, 3, 5, 6, 9
)

// handled is every right that the kernel of that ABI knows and a policy bounds.
func (b *Box) handled(p Policy) (all uint64) {
	all = rightsRead | rightsWrite | rightsDevices
	if b.abi >= abiRefer {
		all |= ll.AccessFSRefer
	}
	if b.abi >= abiTruncate {
		all |= ll.AccessFSTruncate
	}
	if b.abi >= abiIoctl {
		all |= ll.AccessFSIoctlDev
	}
	if b.abi >= abiUnix && !p.UnixSockets {
		all |= ll.AccessFSResolveUnix
	}
	return all
}

// ruleset checks that the policy can be expressed and gives what makes a ruleset
// of it. Each command has one of its own: it is made when the command starts.
func (b *Box) ruleset(p Policy, layout *Layout) (func() (*os.File, error), error) {
	handled := b.handled(p)
	attr := ll.RulesetAttr{HandledAccessFS: handled}
	if b.abi >= abiScope {
		// Sockets without a file: other programs listen there too. Signals are not
		// scoped: a command ends what an earlier one left running.
		attr.Scoped = ll.ScopeAbstractUnixSocket
	}
	roots := layout.Roots()
	return func() (f *os.File, err error) {
		fd, err := ll.LandlockCreateRuleset(&attr, 0)
		if err != nil {
			return nil, fmt.Errorf("no Landlock ruleset could be made: %w", err)
		}
		f = os.NewFile(uintptr(fd), "ruleset")
		defer func() {
			if err != nil {
				_ = f.Close()
			}
		}()
		if err := allow(fd, "/", handled&rightsRead); err != nil {
			return nil, err
		}
		onFile := handled & (ll.AccessFSWriteFile | ll.AccessFSTruncate | ll.AccessFSIoctlDev)
		for _, dev := range devicesEverybodyWrites {
			if err := allow(fd, dev, onFile); err != nil {
				return nil, err
			}
		}
		for _, root := range roots {
			rights := handled &^ (rightsDevices | ll.AccessFSIoctlDev)
			if info, err := os.Lstat(root); err != nil {
				continue // gone since the layout was made
			} else if !info.IsDir() {
				rights &= onFile | ll.AccessFSExecute | ll.AccessFSReadFile
			}
			if err := allow(fd, root, rights); err != nil {
				return nil, err
			}
		}
		return f, nil
	}, nil
}

// allow adds a rule. The path has no symbolic links; what is not there needs none.
func allow(ruleset int, path string, rights uint64) error {
	fd, err := unix.Openat2(unix.AT_FDCWD, path, &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err == unix.ENOENT {
		return nil
	}
	if err != nil {
		return fmt.Errorf("the sandbox cannot open %s: %w", path, err)
	}
	defer unix.Close(fd)
	rule := ll.PathBeneathAttr{AllowedAccess: rights, ParentFd: fd}
	if err := ll.LandlockAddPathBeneathRule(ruleset, &rule, 0); err != nil {
		return fmt.Errorf("the sandbox cannot allow %s: %w", path, err)
	}
	return nil
}
