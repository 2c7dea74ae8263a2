// Package launch is the other half of the sandbox: what runs in the new process
// between its start and the command. It is this same program, started again with
// a plan on a file descriptor; it mounts, gives up its rights, takes on the
// restrictions and becomes the command.
//
// It runs from an init function, and imports nothing but syscall and unsafe. The
// language runs the init functions of packages in the order of their import
// paths, each as soon as its imports are ready; a package that needs so little is
// ready long before the libraries that the rest of the program is made of. Without that every
// command would wait for tables of parsers that it has no use for.
package launch

// The helper is told apart by its one argument and by a variable of its
// environment, both of which the parent sets and a person has no reason to.
const (
	// Argument is the helper's only argument.
	Argument = "internal-sandbox-launcher"
	// EnvName is set to EnvValue in the helper's environment, and gone from the
	// command's.
	EnvName = "DSH_ACP_INTERNAL_LAUNCHER"
	// EnvValue names the form of the plan.
	EnvValue = "launch/1"
	// EnvPlan holds the number of the descriptor with the plan.
	EnvPlan = "DSH_ACP_INTERNAL_LAUNCHER_PLAN"
	// EnvWait stands instead of EnvPlan in the environment of a helper that was
	// started ahead of its command. It holds the number of the descriptor of a
	// socket on which one message comes: its text is what EnvPlan would hold, and
	// with it come the descriptors that the command has, from the first one on, the
	// plan among them. When the socket ends without one so does the helper.
	EnvWait = "DSH_ACP_INTERNAL_LAUNCHER_WAIT"
)

// MaxFiles is how many descriptors a helper that waits can be given.
const MaxFiles = 64

// ExitFailed is the status of a helper that could not do what the plan says. The
// plan's file then begins with Failed, and what follows says why. Nothing was
// run.
const ExitFailed = 125

// Failed marks a plan file that holds the helper's last words.
const Failed = 'X'

// Op is what one step of a plan does.
type Op byte

// The steps, in the order in which a plan has them. The text of a step is a path
// unless it is said otherwise.
const (
	// OpSeal mounts everything read-only that no later step mounts again, so that
	// owners, modes and times cannot be changed either, of which Landlock knows
	// nothing. Its text is empty. The mounts follow it.
	OpSeal Op = 's'
	// OpPin makes a path a mount point of its own, so that nothing can rename it
	// or put something else in its place.
	OpPin Op = 'p'
	// OpReadOnly mounts a path read-only over itself.
	OpReadOnly Op = 'r'
	// OpWritable mounts a path writable again, inside of a read-only one.
	OpWritable Op = 'w'
	// OpLoopback brings up the loopback device of a new network namespace.
	OpLoopback Op = 'l'
	// OpDir changes the working directory.
	OpDir Op = 'd'
	// OpCapabilities keeps only these capabilities; the text is a 64-bit mask,
	// little-endian.
	OpCapabilities Op = 'c'
	// OpLandlock restricts to a ruleset; the text is the decimal number of its
	// descriptor.
	OpLandlock Op = 'L'
	// OpFilter loads a seccomp program; the text is its instructions in the
	// kernel's form.
	OpFilter Op = 'F'
	// OpVariable adds a variable to the command's environment, as "NAME=value".
	// Without any it is the helper's own, without the marks.
	OpVariable Op = 'e'
	// OpArgument adds an argument of the command; the first is what it is called.
	OpArgument Op = 'a'
	// OpExec becomes the command: the program at the path.
	OpExec Op = 'x'
)

// Append adds a step to a plan.
func Append(plan []byte, op Op, text string) []byte {
	n := len(text)
	plan = append(plan, byte(op), byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	return append(plan, text...)
}

// next takes the first step off a plan.
func next(plan []byte) (op Op, text, rest []byte, ok bool) {
	if len(plan) < 5 {
		return 0, nil, nil, false
	}
	n := int(plan[1]) | int(plan[2])<<8 | int(plan[3])<<16 | int(plan[4])<<24
	if n < 0 || n > len(plan)-5 {
		return 0, nil, nil, false
	}
	return Op(plan[0]), plan[5 : 5+n], plan[5+n:], true
}
