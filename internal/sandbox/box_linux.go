package sandbox

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/sandbox/launch"
)

// Box is a way in which this machine confines. Make it with [New]; it is safe for
// concurrent use.
type Box struct {
	status Status
	abi    int
	spaces namespaces
	bwrap  string
	strays strays
	ahead  ahead
}

// namespaces says which can be had without asking anybody.
type namespaces struct {
	mount, network bool
	seal           bool // everything can be mounted read-only at once
	user           bool // only inside of a user namespace of our own
	why            string
}

// New finds out what this machine can do. It starts a process or two for that, a
// few milliseconds, so call it when the answer is wanted rather than at start-up.
func New(want Mechanism) *Box {
	b := &Box{}
	if want == None {
		b.status = Status{Mechanism: None, Details: []string{"switched off by sandbox.mechanism"}, Remedy: "set sandbox.mechanism: auto"}
		return b
	}
	b.abi, _ = ll.LandlockGetABIVersion()
	b.bwrap = findBwrap()
	landlock := b.abi > 0 && (want == Auto || want == Landlock)
	if landlock {
		b.spaces = probeNamespaces()
	}
	switch {
	case landlock && (b.spaces.mount || want == Landlock):
		b.useLandlock()
	case b.bwrap != "" && (want == Auto || want == Bubblewrap):
		if why := probeBwrap(b.bwrap); why != "" {
			if landlock {
				b.useLandlock()
				break
			}
			b.status = Status{Mechanism: None, Details: []string{"bwrap does not work here: " + why}, Remedy: noneRemedy}
			break
		}
		b.useBwrap()
	case landlock:
		b.useLandlock()
	default:
		b.status = Status{Mechanism: None, Details: []string{b.missing(want)}, Remedy: noneRemedy}
	}
	return b
}

const noneRemedy = "use a kernel with Landlock (5.13 or newer, with landlock among the security modules), or install bubblewrap"

func (b *Box) missing(want Mechanism) string {
	switch want {
	case Landlock:
		return "this kernel has no Landlock"
	case Bubblewrap:
		return "bwrap is not installed"
	case Seatbelt:
		return "sandbox-exec is a program of macOS"
	}
	return "this kernel has no Landlock, and bwrap is not installed"
}

func (b *Box) useLandlock() {
	s := Status{Mechanism: Landlock, Protects: b.spaces.mount, Details: []string{fmt.Sprintf("Landlock (ABI %d): what may be written", b.abi)}}
	if b.spaces.mount {
		what := "mount namespace: protected paths inside of writable folders"
		if b.spaces.seal {
			what += ", owners, modes and times of all others"
		}
		s.Details = append(s.Details, what)
	} else {
		s.Details = append(s.Details, "no mount namespace ("+b.spaces.why+"): protected paths inside of a writable folder are not kept, so commands ask where there are any")
		s.Remedy = "allow unprivileged user namespaces, or install bubblewrap"
	}
	if b.spaces.network {
		s.Details = append(s.Details, "network namespace and seccomp: network, sockets")
	} else {
		s.Details = append(s.Details, "seccomp: network, sockets")
	}
	b.status = s
}

// wrap fills in how the command is started.
func (b *Box) wrap(p Policy, layout *Layout, run *Run) error {
	if b.status.Mechanism == Bubblewrap {
		return b.wrapBwrap(p, layout, run)
	}
	f, err := filterFor(p, run.NoNetwork && !b.ownNetwork(p))
	if err != nil {
		return err
	}
	ruleset, err := b.ruleset(p, layout)
	if err != nil {
		return err
	}
	var steps []step
	switch {
	case b.spaces.seal:
		steps = layout.mounts()
	case b.spaces.mount:
		steps = layout.steps()
	}
	ended := b.follow(run, layout)
	spaces := wanted{mount: len(steps) > 0 || b.spaces.seal, network: run.NoNetwork && b.ownNetwork(p)}
	run.Wrap = func(spec *proc.Spec) (func(), error) {
		rules, err := ruleset()
		if err != nil {
			return nil, err
		}
		first := 3 + len(spec.ExtraFiles)
		plan, err := b.plan(spec, p, steps, f, first+1)
		if err != nil {
			return nil, errors.Join(err, rules.Close())
		}
		file, err := planFile(plan)
		if err != nil {
			return nil, errors.Join(err, rules.Close())
		}
		spec.ExtraFiles = append(spec.ExtraFiles[:len(spec.ExtraFiles):len(spec.ExtraFiles)], file, rules)
		spec.Args = []string{"/proc/self/exe", launch.Argument}
		spec.Spawn = func(files []*os.File) (*os.Process, error) { return b.ahead.give(spaces, first, files) }
		spec.Env = append(spec.Env[:len(spec.Env):len(spec.Env)], launch.EnvName+"="+launch.EnvValue, launch.EnvPlan+"="+strconv.Itoa(first))
		spec.Attributes = b.attributes(spaces)
		return func() {
			ended(lastWords(file))
			_ = file.Close()
			_ = rules.Close()
			b.ahead.prepare(spaces, b.attributes(spaces))
		}, nil
	}
	return nil
}

// ownNetwork says whether a command gets a network of its own, with a loopback
// device and nothing else. In read-only it gets no sockets at all.
func (b *Box) ownNetwork(p Policy) bool { return p.Mode == WorkspaceWrite && b.spaces.network }

// wanted are the namespaces of a command.
type wanted struct{ mount, network bool }

// attributes asks for the namespaces.
func (b *Box) attributes(w wanted) func(*syscall.SysProcAttr) {
	return func(a *syscall.SysProcAttr) {
		if w.mount {
			a.Cloneflags |= syscall.CLONE_NEWNS
		}
		if w.network {
			a.Cloneflags |= syscall.CLONE_NEWNET
		}
		if a.Cloneflags == 0 || !b.spaces.user {
			return
		}
		a.Cloneflags |= syscall.CLONE_NEWUSER
		a.UidMappings = []syscall.SysProcIDMap{{ContainerID: os.Geteuid(), HostID: os.Geteuid(), Size: 1}}
		a.GidMappings = []syscall.SysProcIDMap{{ContainerID: os.Getegid(), HostID: os.Getegid(), Size: 1}}
		// Rights that the launcher needs for its mounts, and gives up after them.
		a.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN}
	}
}

// plan is what the launcher does before it becomes the command.
func (b *Box) plan(spec *proc.Spec, p Policy, steps []step, filter []byte, rules int) ([]byte, error) {
	if len(spec.Args) == 0 {
		return nil, errors.New("no program was named")
	}
	program, err := proc.LookPath(spec.Args[0])
	if err != nil {
		return nil, err
	}
	var plan []byte
	ops := map[kind]launch.Op{pin: launch.OpPin, readOnly: launch.OpReadOnly, writable: launch.OpWritable}
	if b.spaces.seal {
		plan = launch.Append(plan, launch.OpSeal, "")
	}
	for _, s := range steps {
		plan = launch.Append(plan, ops[s.kind], s.path)
	}
	if b.ownNetwork(p) && !p.Network {
		plan = launch.Append(plan, launch.OpLoopback, "")
	}
	dir := spec.Dir
	if dir == "" {
		if dir, err = os.Getwd(); err != nil {
			return nil, err
		}
	}
	plan = launch.Append(plan, launch.OpDir, dir)
	plan = launch.Append(plan, launch.OpCapabilities, b.capabilities())
	plan = launch.Append(plan, launch.OpLandlock, strconv.Itoa(rules))
	plan = launch.Append(plan, launch.OpFilter, string(filter))
	for _, kv := range environment(spec.Env) {
		plan = launch.Append(plan, launch.OpVariable, kv)
	}
	for _, a := range spec.Args {
		plan = launch.Append(plan, launch.OpArgument, a)
	}
	return launch.Append(plan, launch.OpExec, program), nil
}

// environment is the command's: of a name that is there twice the last value. A
// process that was started ahead has none of it from its start.
func environment(env []string) []string {
	if env == nil {
		env = os.Environ()
	}
	last := make(map[string]int, len(env))
	for i, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		last[name] = i
	}
	out := make([]string, 0, len(last))
	for i, kv := range env {
		if name, _, _ := strings.Cut(kv, "="); last[name] == i && strings.IndexByte(kv, 0) < 0 {
			out = append(out, kv)
		}
	}
	return out
}

// rootCapabilities are what a command of the superuser keeps: what is needed for
// files of others and for acting as somebody else, and none that reaches around
// the confinement.
var rootCapabilities = []uint{
	unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_KILL,
	unix.CAP_SETGID, unix.CAP_SETUID, unix.CAP_NET_BIND_SERVICE,
}

func (b *Box) capabilities() string {
	var mask uint64
	if !b.spaces.user && os.Geteuid() == 0 {
		for _, c := range rootCapabilities {
			mask |= 1 << c
		}
	}
	text := make([]byte, 8)
	for i := range text {
		text[i] = byte(mask >> (8 * i))
	}
	return string(text)
}

// planFile puts a plan into memory that the launcher can read and leave its last
// words in.
func planFile(plan []byte) (*os.File, error) {
	fd, err := unix.MemfdCreate("plan", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("the sandbox's plan cannot be handed over: %w", err)
	}
	f := os.NewFile(uintptr(fd), "plan")
	if _, err := f.Write(plan); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lastWords is what a launcher that failed left.
func lastWords(f *os.File) string {
	buf := make([]byte, 1024)
	n, _ := f.ReadAt(buf, 0)
	if n == 0 || buf[0] != launch.Failed {
		return ""
	}
	return strings.TrimSpace(string(buf[1:n]))
}
