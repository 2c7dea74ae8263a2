package launch

import (
	"syscall"
	"unsafe"
)

// System calls that are newer than package syscall; these numbers are the same on
// every architecture that Go runs on, but for mips, whose are offset.
const (
	sysOpenTree            = 428
	sysMoveMount           = 429
	sysCloseRange          = 436
	sysOpenat2             = 437
	sysMountSetattr        = 442
	sysLandlockRestrict    = 446
	maxDescriptor          = 1<<32 - 1
	closeRangeCloexec      = 4
	atFdcwd                = -100
	atEmptyPath            = 0x1000
	atRecursive            = 0x8000
	openTreeClone          = 1
	moveMountFromEmptyPath = 0x4
	moveMountToEmptyPath   = 0x40
	mountAttrReadOnly      = 1
	resolveNoSymlinks      = 0x04
	oPath                  = 0x200000
	prSetNoNewPrivs        = 38
	prSetSeccomp           = 22
	prCapAmbient           = 47
	prCapAmbientClearAll   = 4
	prCapbsetDrop          = 24
	seccompModeFilter      = 2
	capVersion3            = 0x20080522
	siocgifflags           = 0x8913
	siocsifflags           = 0x8914
)

func init() {
	if v, ok := syscall.Getenv(EnvName); !ok || v != EnvValue || !called(Argument) {
		return
	}
	fd, ok := 0, false
	if line, waits := syscall.Getenv(EnvWait); waits {
		fd, ok = wait(line)
	} else if number, given := syscall.Getenv(EnvPlan); given {
		fd, ok = decimal([]byte(number))
	}
	if !ok {
		syscall.Exit(ExitFailed)
	}
	r := runner{fd: fd}
	r.run()
}

// called says whether the only argument is this one. The arguments are not at
// hand before package os is there.
func called(argument string) bool {
	fd, err := syscall.Open("/proc/self/cmdline", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return false
	}
	defer syscall.Close(fd)
	var buf [4096]byte
	n, err := syscall.Read(fd, buf[:])
	if err != nil || n <= 0 {
		return false
	}
	for i := range n {
		if buf[i] == 0 { // the end of the program's name
			return string(buf[i+1:n]) == argument+"\x00"
		}
	}
	return false
}

func decimal(text []byte) (n int, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' || n > 1<<20 {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, len(text) > 0
}

// runner carries out a plan. A step that fails ends it: nothing runs with less
// confinement than it should have.
type runner struct {
	fd   int // of the plan
	args []*byte
	env  []*byte // empty for that of this process
}

// fail leaves the reason in the plan's file and ends the process.
func (r *runner) fail(what string, err error) {
	text := []byte{Failed}
	text = append(text, what...)
	if err != nil {
		text = append(append(text, ": "...), err.Error()...)
	}
	_ = syscall.Ftruncate(r.fd, 0)
	_, _ = syscall.Pwrite(r.fd, text, 0)
	syscall.Exit(ExitFailed)
}

func (r *runner) run() {
	plan, err := readAll(r.fd)
	if err != nil {
		r.fail("reading the plan", err)
	}
	for whole := plan; len(plan) > 0; {
		op, text, rest, ok := next(plan)
		if !ok {
			r.fail("the plan is damaged", nil)
		}
		plan = rest
		switch op {
		case OpSeal, OpPin, OpReadOnly, OpWritable:
			// Every tree is taken before the first is attached: what is mounted
			// read-only above it would make it so too.
			r.mounts(whole)
			for len(plan) > 0 && isMount(Op(plan[0])) {
				_, _, plan, _ = next(plan)
			}
		case OpLoopback:
			err = loopback()
		case OpDir:
			// By name, and after the mounts: the directory that we are in is the
			// one below them.
			err = syscall.Chdir(string(text))
		case OpCapabilities:
			err = capabilities(text)
		case OpLandlock:
			err = restrict(text)
		case OpFilter:
			err = filter(text)
		case OpArgument:
			r.args, err = appendText(r.args, text)
		case OpVariable:
			r.env, err = appendText(r.env, text)
		case OpExec:
			r.exec(string(text))
		default:
			r.fail("the plan has an unknown step", nil)
		}
		if err != nil {
			r.fail(string([]byte{byte(op)})+" "+printable(op, text), err)
		}
	}
	r.fail("the plan has no command", nil)
}

func appendText(list []*byte, text []byte) ([]*byte, error) {
	p, err := syscall.BytePtrFromString(string(text))
	if err != nil {
		return list, err
	}
	return append(list, p), nil
}

func isMount(op Op) bool {
	return op == OpSeal || op == OpPin || op == OpReadOnly || op == OpWritable
}

func printable(op Op, text []byte) string {
	if op == OpFilter || op == OpCapabilities || op == OpVariable {
		return ""
	}
	return string(text)
}

func readAll(fd int) ([]byte, error) {
	var all []byte
	buf := make([]byte, 64<<10)
	for {
		n, err := syscall.Pread(fd, buf, int64(len(all)))
		if err == syscall.EINTR {
			continue
		}
		if err != nil {
			return nil, err
		}
		if n == 0 {
			return all, nil
		}
		all = append(all, buf[:n]...)
	}
}

// mounts carries out all the mounts of a plan.
func (r *runner) mounts(plan []byte) {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		r.fail("separating the mounts", err)
	}
	type tree struct {
		fd   int
		path string
	}
	var trees []tree
	seal := false
	for len(plan) > 0 {
		op, text, rest, ok := next(plan)
		plan = rest
		if !ok || !isMount(op) {
			continue
		}
		if op == OpSeal {
			seal = true
			continue
		}
		path := string(text)
		at, err := open(path)
		if err == syscall.ENOENT {
			continue // it was there when the plan was made; there is nothing to protect
		}
		if err != nil {
			r.fail("opening "+path, err)
		}
		fd, err := openTree(at)
		_ = syscall.Close(at)
		if err == nil {
			attr := [4]uint64{}
			switch op {
			case OpReadOnly:
				attr[0] = mountAttrReadOnly
			case OpWritable:
				attr[1] = mountAttrReadOnly
			}
			if op != OpPin {
				err = setAttributes(fd, &attr)
			}
		}
		if err != nil {
			r.fail("preparing "+path, err)
		}
		trees = append(trees, tree{fd, path})
	}
	if seal { // the trees that were taken are copies, and stay as they are
		root, err := open("/")
		if err == nil {
			err = setAttributes(root, &[4]uint64{mountAttrReadOnly})
			_ = syscall.Close(root)
		}
		if err != nil {
			r.fail("mounting everything read-only", err)
		}
	}
	for _, t := range trees {
		at, err := open(t.path)
		if err == nil {
			err = moveMount(t.fd, at)
			_ = syscall.Close(at)
		}
		if err != nil {
			r.fail("mounting "+t.path, err)
		}
		_ = syscall.Close(t.fd)
	}
}

// open opens a path without following any symbolic link in it: the plan's paths
// have none, and one that has one now was put there to lead us elsewhere.
func open(path string) (int, error) {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	how := [3]uint64{oPath | syscall.O_CLOEXEC | syscall.O_NOFOLLOW, 0, resolveNoSymlinks}
	fd, _, errno := syscall.RawSyscall6(sysOpenat2, fdcwd(), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	return result(fd, errno)
}

func fdcwd() uintptr { n := atFdcwd; return uintptr(n) }

func result(fd uintptr, errno syscall.Errno) (int, error) {
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

var empty = [1]byte{}

func openTree(at int) (int, error) {
	fd, _, errno := syscall.RawSyscall(sysOpenTree, uintptr(at), uintptr(unsafe.Pointer(&empty)), openTreeClone|syscall.O_CLOEXEC|atEmptyPath|atRecursive)
	return result(fd, errno)
}

func setAttributes(fd int, attr *[4]uint64) error {
	_, _, errno := syscall.RawSyscall6(sysMountSetattr, uintptr(fd), uintptr(unsafe.Pointer(&empty)), atEmptyPath|atRecursive, uintptr(unsafe.Pointer(attr)), unsafe.Sizeof(*attr), 0)
	return asError(errno)
}

func moveMount(tree, at int) error {
	_, _, errno := syscall.RawSyscall6(sysMoveMount, uintptr(tree), uintptr(unsafe.Pointer(&empty)), uintptr(at), uintptr(unsafe.Pointer(&empty)), moveMountFromEmptyPath|moveMountToEmptyPath, 0)
	return asError(errno)
}

func asError(errno syscall.Errno) error {
	if errno != 0 {
		return errno
	}
	return nil
}

// loopback brings up the only device that a new network namespace has.
func loopback() error {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	var request struct {
		name  [16]byte
		flags uint16
		_     [22]byte
	}
	copy(request.name[:], "lo")
	if _, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), siocgifflags, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	request.flags |= syscall.IFF_UP
	_, _, errno := syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(fd), siocsifflags, uintptr(unsafe.Pointer(&request)))
	return asError(errno)
}

// capabilities keeps those of the mask and drops all others, for good: what is
// gone from the bounding set does not come back with a later program.
func capabilities(mask []byte) error {
	if len(mask) != 8 {
		return syscall.EINVAL
	}
	var keep uint64
	for i, b := range mask {
		keep |= uint64(b) << (8 * i)
	}
	if _, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prCapAmbient, prCapAmbientClearAll, 0, 0, 0, 0); errno != 0 && errno != syscall.EINVAL {
		return errno
	}
	for c := range uintptr(64) {
		if keep>>c&1 == 0 {
			// Fails where we may not, and at the first that the kernel has not.
			_, _, _ = syscall.RawSyscall6(syscall.SYS_PRCTL, prCapbsetDrop, c, 0, 0, 0, 0)
		}
	}
	header := [2]uint32{capVersion3, 0}
	var data [6]uint32 // effective, permitted, inheritable; low words, then high ones
	if _, _, errno := syscall.RawSyscall(syscall.SYS_CAPGET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data)), 0); errno != 0 {
		return errno
	}
	low, high := uint32(keep), uint32(keep>>32)
	data = [6]uint32{data[0] & low, data[1] & low, 0, data[3] & high, data[4] & high, 0}
	_, _, errno := syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data)), 0)
	return asError(errno)
}

func noNewPrivileges() error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetNoNewPrivs, 1, 0, 0, 0, 0)
	return asError(errno)
}

// restrict takes the ruleset on. It counts for this thread, which is the one that
// becomes the command.
func restrict(text []byte) error {
	fd, ok := decimal(text)
	if !ok {
		return syscall.EINVAL
	}
	if err := noNewPrivileges(); err != nil {
		return err
	}
	_, _, errno := syscall.RawSyscall(sysLandlockRestrict, uintptr(fd), 0, 0)
	_ = syscall.Close(fd)
	return asError(errno)
}

func filter(program []byte) error {
	if len(program) == 0 || len(program)%8 != 0 {
		return syscall.EINVAL
	}
	if err := noNewPrivileges(); err != nil {
		return err
	}
	code := make([]syscall.SockFilter, len(program)/8)
	for i := range code {
		copy(unsafe.Slice((*byte)(unsafe.Pointer(&code[i])), 8), program[8*i:])
	}
	prog := syscall.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetSeccomp, seccompModeFilter, uintptr(unsafe.Pointer(&prog)), 0, 0, 0)
	return asError(errno)
}

// exec becomes the command. Its environment is ours without the marks.
func (r *runner) exec(program string) {
	path, err := syscall.BytePtrFromString(program)
	if err != nil {
		r.fail("the program's name", err)
	}
	env := r.env
	if len(env) == 0 {
		for _, kv := range syscall.Environ() {
			if hasPrefix(kv, EnvName) { // EnvPlan too
				continue
			}
			p, err := syscall.BytePtrFromString(kv)
			if err != nil {
				continue
			}
			env = append(env, p)
		}
	}
	env = append(env, nil)
	args := append(r.args, nil)
	// The plan's descriptor and all behind it end here. Behind it are those that
	// somebody left open when he started the program; a file or a socket among them
	// would be one that nothing bounds.
	if _, _, errno := syscall.RawSyscall(sysCloseRange, uintptr(r.fd), maxDescriptor, closeRangeCloexec); errno != 0 {
		// Containers with older rules do not let it be called.
		if err := endEach(r.fd); err != nil {
			r.fail("closing what is not the command's", err)
		}
	}
	_, _, errno := syscall.RawSyscall(syscall.SYS_EXECVE, uintptr(unsafe.Pointer(path)), uintptr(unsafe.Pointer(&args[0])), uintptr(unsafe.Pointer(&env[0])))
	r.fail("starting "+program, errno)
}

func hasPrefix(s, prefix string) bool { return len(s) >= len(prefix) && s[:len(prefix)] == prefix }
