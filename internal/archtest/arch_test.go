// Package archtest keeps the architecture: which package may import which, who
// may use the heavy libraries, who starts processes, and what licences come in.
// It has no code of its own.
package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path"
	"slices"
	"sort"
	"strings"
	"testing"
)

const module = "github.com/dsh-acp/dsh-acp"

// arrows says what each package may import of ours, besides packages below
// itself. A name stands for the package and everything below it. To add a
// package, add it here with the fewest arrows that it needs; docs/architecture.md
// has the map.
var arrows = map[string][]string{
	// Values: they know nothing above themselves.
	"internal/jsonvalue":   {},
	"internal/textdiff":    {},
	"internal/content":     {"internal/jsonvalue"},
	"internal/schema":      {"internal/jsonvalue"},
	"internal/cards":       {"internal/content", "internal/jsonvalue", "internal/textdiff"},
	"internal/credentials": {"internal/jsonvalue"},
	"internal/config":      {},
	"internal/elicit":      {},
	"internal/textfile":    {},
	"internal/fileuri":     {},
	// Everybody may use it: it is the regexp package with another start.
	"internal/lazyregexp": {},
	"internal/filelock":   {},

	// Processes and confinement decide nothing.
	"internal/proc":    {},
	"internal/sandbox": {"internal/proc"},
	// The other half of the sandbox, which has to be ready before anything else.
	"internal/sandbox/launch": {},

	// The core: registry, pipeline, log, models.
	"internal/registry":     {"internal/schema", "internal/cards", "internal/content", "internal/jsonvalue"},
	"internal/pipeline":     {"internal/registry", "internal/schema", "internal/cards", "internal/content", "internal/jsonvalue"},
	"internal/model":        {"internal/jsonvalue", "internal/content"},
	"internal/model/replay": {"internal/model", "internal/session", "internal/jsonvalue", "internal/content"},
	"internal/model/local":  {"internal/model", "internal/jsonvalue", "internal/content"},
	"internal/record":       {"internal/session", "internal/model", "internal/jsonvalue", "internal/filelock"},
	"internal/compact":      {"internal/session", "internal/model", "internal/jsonvalue", "internal/content"},
	"internal/session":      {"internal/model", "internal/jsonvalue", "internal/content", "internal/filelock"},
	"internal/codemode":     {"internal/pipeline", "internal/registry", "internal/schema", "internal/cards", "internal/content", "internal/jsonvalue"},
	// The runner is the seam to the worker process.
	"internal/codemode/runner": {"internal/codemode", "internal/proc", "internal/sandbox", "internal/jsonvalue"},
	"internal/codemode/wire":   {"internal/jsonvalue"},

	// What listens on the pipeline or brings tools to it.
	"internal/policy":       {"internal/pipeline", "internal/registry", "internal/cards", "internal/jsonvalue", "internal/filelock"},
	"internal/policy/shell": {},
	"internal/workspace":    {"internal/pipeline", "internal/registry", "internal/content", "internal/jsonvalue", "internal/textfile"},
	"internal/repeat":       {"internal/pipeline", "internal/registry", "internal/content", "internal/jsonvalue"},
	"internal/spill":        {"internal/pipeline", "internal/registry", "internal/content", "internal/jsonvalue"},
	"internal/hooks":        {"internal/pipeline", "internal/registry", "internal/consent", "internal/cards", "internal/content", "internal/jsonvalue", "internal/textfile", "internal/proc", "internal/sandbox"},
	"internal/mcp":          {"internal/pipeline", "internal/registry", "internal/consent", "internal/cards", "internal/content", "internal/schema", "internal/elicit", "internal/filelock", "internal/fileuri", "internal/jsonvalue", "internal/textfile", "internal/proc", "internal/sandbox"},
	"internal/plugin":       {"internal/pipeline", "internal/registry", "internal/cards", "internal/content", "internal/schema", "internal/jsonvalue", "internal/proc", "internal/sandbox"},
	"internal/tools":        {"internal/pipeline", "internal/registry", "internal/cards", "internal/content", "internal/schema", "internal/jsonvalue", "internal/textdiff", "internal/textfile", "internal/elicit", "internal/proc", "internal/sandbox"},

	"internal/consent": {},

	// The turn, and the connection around it.
	"internal/agent": {"internal/compact", "internal/pipeline", "internal/registry", "internal/session", "internal/model", "internal/cards", "internal/content", "internal/schema", "internal/elicit", "internal/jsonvalue"},
	// Subagents are sessions that a tool starts.
	"internal/delegate":     {"internal/agent", "internal/tools/subagent", "internal/pipeline", "internal/registry", "internal/session", "internal/content", "internal/jsonvalue"},
	"internal/acp":          {"internal/agent", "internal/elicit", "internal/fileuri", "internal/pipeline", "internal/registry", "internal/session", "internal/model", "internal/cards", "internal/content", "internal/jsonvalue"},
	"internal/acp/protocol": {"internal/cards", "internal/content", "internal/jsonvalue"},
	"internal/acp/wire":     {"internal/acp/protocol", "internal/jsonvalue"},
	// The kit checks agents of others as well: it uses nothing of this one.
	"internal/acp/conformance": {},

	// The tour is a client: it speaks the protocol, and draws cards.
	"internal/termui": {},
	"internal/demo":   {"internal/termui", "internal/acp/protocol", "internal/acp/wire", "internal/cards", "internal/content", "internal/textdiff", "internal/jsonvalue", "internal/proc"},

	// Wiring, and tests of the whole.
	"cmd":              {"internal"},
	"internal/e2e":     {"internal"},
	"internal/vectors": {"internal"},
}

// owners says who may import a library; everybody else goes through them.
var owners = map[string]struct {
	by  []string
	why string
}{
	"github.com/sourcegraph/jsonrpc2":          {[]string{"internal/acp"}, "the connection is one package's business"},
	"github.com/dop251/goja":                   {[]string{"internal/codemode/worker"}, "programs run in the worker process only"},
	"github.com/evanw/esbuild":                 {[]string{"internal/codemode"}, "only Code Mode compiles programs"},
	"github.com/santhosh-tekuri/jsonschema/v6": {[]string{"internal/schema"}, "schemas are compiled in one place"},
	"github.com/goccy/go-yaml":                 {[]string{"internal/config", "internal/tools/skill"}, "only the configuration and what skills say about themselves are YAML"},
	"mvdan.cc/sh/v3":                           {[]string{"internal/policy/shell"}, "command lines are understood in one place"},
	"github.com/landlock-lsm/go-landlock":      {[]string{"internal/sandbox", "internal/codemode/worker"}, "confinement is the sandbox's; the worker confines itself"},
	"os/exec":                                  {[]string{"internal/proc", "internal/codemode/runner", "internal/demo", "internal/acp/conformance", "cmd"}, "internal/proc starts processes: groups, bounded output, the kill ladder"},
	"github.com/modelcontextprotocol/go-sdk":   {[]string{"internal/mcp"}, "MCP is one package's business"},
	"github.com/go-sourcemap/sourcemap":        {[]string{"internal/codemode"}, "positions are mapped by Code Mode"},
	"github.com/aymanbagabas/go-udiff":         {[]string{"internal/textdiff", "internal/cards", "internal/tools/fs"}, "differences are computed in few places"},
	"github.com/elastic/go-seccomp-bpf":        {[]string{"internal/sandbox", "internal/codemode/worker"}, "filters belong to whoever confines a process"},
	"golang.org/x/term":                        {[]string{"internal/demo", "cmd"}, "only the commands talk to a terminal"},

	"github.com/JohannesKaufmann/html-to-markdown/v2": {[]string{"internal/tools/web"}, "pages are read in one place"},
}

type pkg struct {
	ImportPath string
	Imports    []string
	Standard   bool
	Module     *struct {
		Path, Version, Dir string
		Main, Indirect     bool
	}
}

func list(t *testing.T) []pkg {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("the go command is not installed")
	}
	cmd := exec.Command("go", "list", "-e", "-deps", "-json=ImportPath,Imports,Standard,Module", "./...")
	cmd.Dir = "../.."
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
}

// ours gives the path inside the module.
func ours(importPath string) (string, bool) { return strings.CutPrefix(importPath, module+"/") }

// entry is the row of the table that rules a package: its own, or that of the
// nearest package above it.
func entry(p string) (string, bool) {
	for ; p != "."; p = path.Dir(p) {
		if _, ok := arrows[p]; ok {
			return p, true
		}
	}
	return "", false
}

func under(p, root string) bool { return p == root || strings.HasPrefix(p, root+"/") }

// check gives the complaints about one package's imports.
func check(importer string, imports []string) []string {
	var out []string
	row, known := entry(importer)
	for _, imported := range imports {
		if target, ok := ours(imported); ok && target != "internal/lazyregexp" {
			switch {
			case !known:
				out = append(out, importer+" has no row in the table of internal/archtest: add one with what it may import")
			case under(target, row), slices.ContainsFunc(arrows[row], func(a string) bool { return under(target, a) }):
			default:
				out = append(out, importer+" imports "+target+", which is a wrong arrow: "+row+" may import "+orNothing(arrows[row])+
					". Declare the interface you need in "+importer+" and pass the value in from cmd, or argue the arrow and add it to the table")
			}
			continue
		}
		for library, o := range owners {
			if under(imported, library) && !slices.ContainsFunc(o.by, func(a string) bool { return under(importer, a) }) {
				out = append(out, importer+" imports "+imported+", which belongs to "+strings.Join(o.by, ", ")+" ("+o.why+"): use that package instead")
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func orNothing(list []string) string {
	if len(list) == 0 {
		return "nothing of ours"
	}
	return strings.Join(list, ", ")
}

func TestArrows(t *testing.T) {
	count := 0
	for _, p := range list(t) {
		name, ok := ours(p.ImportPath)
		if !ok {
			continue
		}
		count++
		for _, complaint := range check(name, p.Imports) {
			t.Error(complaint)
		}
	}
	if count < 5 {
		t.Errorf("only %d packages of ours were looked at", count)
	}
}

// The checker itself must see a wrong arrow.
func TestCheckerSeesWrongArrows(t *testing.T) {
	for _, c := range []struct {
		importer, imported, want string
	}{
		{"internal/registry", module + "/internal/pipeline", "wrong arrow"},
		{"internal/tools/fs", module + "/internal/acp", "wrong arrow"},
		{"internal/policy", module + "/internal/config", "wrong arrow"},
		{"internal/model/replay", module + "/internal/agent", "wrong arrow"},
		{"internal/unheard", module + "/internal/cards", "has no row"},
		{"internal/agent", "github.com/sourcegraph/jsonrpc2", "belongs to internal/acp"},
		{"internal/codemode", "github.com/dop251/goja/parser", "belongs to internal/codemode/worker"},
		{"internal/tools/shell", "os/exec", "belongs to internal/proc"},
		{"internal/codemode/runner", "os/exec", ""},
		{"internal/acp", "github.com/sourcegraph/jsonrpc2", ""},
		{"internal/acp/wire", module + "/internal/jsonvalue", ""},
		{"cmd/dsh-acp", module + "/internal/acp", ""},
		{"internal/tools/fs", module + "/internal/tools", ""},
	} {
		got := strings.Join(check(c.importer, []string{c.imported}), "\n")
		if c.want == "" && got != "" || !strings.Contains(got, c.want) {
			t.Errorf("%s → %s: %q, want %q", c.importer, c.imported, got, c.want)
		}
	}
}

// The table has no cycle, so that a wrong arrow cannot hide in it.
func TestTableHasNoCycle(t *testing.T) {
	state := map[string]int{}
	var visit func(p string, trail []string)
	visit = func(p string, trail []string) {
		if state[p] == 1 {
			t.Fatalf("cycle: %s", strings.Join(append(trail, p), " → "))
		}
		if state[p] == 2 {
			return
		}
		state[p] = 1
		for _, next := range arrows[p] {
			if _, ok := arrows[next]; ok {
				visit(next, append(trail, p))
			}
		}
		state[p] = 2
	}
	var names []string
	for p := range arrows {
		names = append(names, p)
	}
	sort.Strings(names)
	for _, p := range names {
		visit(p, nil)
	}
}
