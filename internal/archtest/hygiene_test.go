package archtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// foreign are traces of the machine that something was written on. They are
// put together here so that this file is not found itself.
var foreign = []*regexp.Regexp{
	regexp.MustCompile(`(?m)(^|[\s"'(=:])/(home|Users)/[a-z][a-z0-9_-]+/`),
	regexp.MustCompile(`(?m)(^|[\s"'(=:])/wo` + `rk/(main|shared)\b`),
	regexp.MustCompile(`(?m)(^|[\s"'(=:])/ro` + `ot/`),
	regexp.MustCompile(`/tmp/d` + `sh\b`),
	regexp.MustCompile(`\b(10|192\.168|172\.(1[6-9]|2\d|3[01]))(\.\d{1,3}){2,3}:\d+\b`),
	regexp.MustCompile(`<<<<` + `<<< |>>>>` + `>>> `),
}

// examples are home folders of nobody.
var examples = regexp.MustCompile(`/(home|Users)/(u|me|user|alice|bob|you|dev|x|someone|name|test|tester|ada)/`)

// TestNoForeignPaths looks for paths of one machine in the files that are kept.
func TestNoForeignPaths(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	cmd := exec.Command("git", "ls-files", "-z")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Skip("this is no git checkout")
	}
	count := 0
	for _, name := range strings.Split(strings.TrimRight(string(out), "\x00"), "\x00") {
		data, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil || len(data) > 1<<20 || bytes.IndexByte(data, 0) >= 0 {
			continue // gone, generated or binary
		}
		count++
		for _, re := range foreign {
			for _, at := range re.FindAllIndex(data, -1) {
				found := data[at[0]:min(at[1]+20, len(data))]
				if examples.Match(found) {
					continue
				}
				line := 1 + bytes.Count(data[:at[0]], []byte("\n"))
				t.Errorf("%s:%d: %q belongs to one machine, or to a merge: use a temporary folder or an example path", name, line, strings.TrimSpace(string(data[at[0]:at[1]])))
			}
		}
	}
	if count == 0 {
		t.Skip("no files to look at")
	}
}

// TestOneName: the program has one name, spelled one way.
func TestOneName(t *testing.T) {
	cmd := exec.Command("go", "list", "-f", "{{.Name}} {{.ImportPath}}", "./...")
	cmd.Dir = "../.."
	out, err := cmd.Output()
	if err != nil {
		t.Skip("the go command lists no packages: " + err.Error())
	}
	for line := range strings.Lines(string(out)) {
		name, importPath, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name == "main" && !strings.HasPrefix(importPath, module+"/cmd/") {
			t.Errorf("%s is a program outside cmd", importPath)
		}
		if name != "main" && !strings.HasSuffix(importPath, "/"+name) {
			t.Errorf("the package of %s is called %s: name it like its folder", importPath, name)
		}
	}
}
