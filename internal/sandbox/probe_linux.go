package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/sandbox/launch"
)

// probeNamespaces tries, for whether a kernel lets us has more sides than can be
// read off it: settings, security modules, the filter of a container.
func probeNamespaces() namespaces {
	n := namespaces{user: os.Geteuid() != 0}
	b := &Box{spaces: n}
	dir, ok := realDir(os.TempDir())
	if !ok {
		n.why = "there is no temporary folder to try it in"
		return n
	}
	for _, try := range []namespaces{
		{network: true, seal: true}, {network: true}, {seal: true}, {},
	} {
		if n.why = tryLaunch(b, dir, try); n.why == "" {
			n.mount, n.network, n.seal = true, try.network, try.seal
			return n
		}
	}
	return n
}

// tryLaunch starts a launcher that mounts, and says why that does not work.
func tryLaunch(b *Box, dir string, try namespaces) (why string) {
	program, err := proc.LookPath("true")
	if err != nil {
		return err.Error()
	}
	var plan []byte
	if try.seal {
		plan = launch.Append(plan, launch.OpSeal, "")
	}
	plan = launch.Append(plan, launch.OpPin, dir)
	plan = launch.Append(plan, launch.OpReadOnly, dir)
	if try.network {
		plan = launch.Append(plan, launch.OpLoopback, "")
	}
	plan = launch.Append(plan, launch.OpCapabilities, b.capabilities())
	plan = launch.Append(plan, launch.OpArgument, "true")
	plan = launch.Append(plan, launch.OpExec, program)
	file, err := planFile(plan)
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	attributes := &syscall.SysProcAttr{Setsid: true}
	b.attributes(wanted{mount: true, network: try.network})(attributes)
	p, err := os.StartProcess("/proc/self/exe", []string{"/proc/self/exe", launch.Argument}, &os.ProcAttr{
		Dir: "/", Files: []*os.File{nil, nil, nil, file}, Sys: attributes,
		Env: []string{launch.EnvName + "=" + launch.EnvValue, launch.EnvPlan + "=3"},
	})
	if err != nil {
		return unwrap(err).Error()
	}
	state, err := p.Wait()
	if words := lastWords(file); words != "" {
		return words
	}
	if err != nil || !state.Success() {
		return "the probe ended with " + state.String()
	}
	return ""
}

func unwrap(err error) error {
	if pe, ok := err.(*os.PathError); ok {
		return pe.Err
	}
	return err
}

// findBwrap gives the path of bwrap, "" when it is not installed.
func findBwrap() string {
	path, err := proc.LookPath("bwrap")
	if err != nil || !filepath.IsAbs(path) {
		return ""
	}
	return path
}

// probeBwrap runs it once, and says why it does not work.
func probeBwrap(bwrap string) (why string) {
	program, err := proc.LookPath("true")
	if err != nil {
		return err.Error()
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err.Error()
	}
	defer r.Close()
	p, err := os.StartProcess(bwrap, append(append([]string{bwrap}, bwrapBase()...), "--unshare-net", "--", program), &os.ProcAttr{
		Dir: "/", Files: []*os.File{nil, nil, w}, Env: os.Environ(), Sys: &syscall.SysProcAttr{Setsid: true},
	})
	_ = w.Close()
	if err != nil {
		return unwrap(err).Error()
	}
	buf := make([]byte, 512)
	n, _ := r.Read(buf)
	state, err := p.Wait()
	switch {
	case err != nil:
		return err.Error()
	case !state.Success():
		return strings.TrimSpace(string(buf[:n]))
	}
	return ""
}
