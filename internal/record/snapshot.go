package record

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// The most that is copied of a workspace.
const (
	maxFile      = 256 << 10
	maxWorkspace = 8 << 20
	maxFiles     = 2000
	maxListed    = 100 // of what was left out
)

// skipped are folders that belong to no scenario: they are made by tools, or hold
// more of the past than anybody wants to publish.
var skipped = map[string]bool{
	".git": true, ".hg": true, ".svn": true, "node_modules": true, ".venv": true, "__pycache__": true, ".DS_Store": true,
}

// private are files that hold keys by their nature.
func private(name string) bool {
	name = strings.ToLower(name)
	switch {
	case name == ".env", strings.HasPrefix(name, ".env."), strings.HasPrefix(name, "id_rsa"), strings.HasPrefix(name, "id_ed25519"),
		name == ".netrc", name == ".npmrc", name == "credentials", name == "credentials.json":
		return true
	}
	switch filepath.Ext(name) {
	case ".pem", ".key", ".p12", ".pfx", ".kdbx":
		return true
	}
	return false
}

// snapshot copies a folder, as far as the bounds allow, and says what it left
// out and why.
func snapshot(from, to string, red *redactor) jsonvalue.Value {
	var out []jsonvalue.Value
	omitted := 0
	leave := func(path, why string) {
		omitted++
		if len(out) < maxListed {
			path = red.text(strings.ToValidUTF8(filepath.ToSlash(path), "?"))
			out = append(out, jsonvalue.Object(member("path", jsonvalue.String(path)), member("reason", jsonvalue.String(why))))
		}
	}
	files, total := 0, int64(0)
	err := filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(from, path)
		switch {
		case err != nil || relErr != nil:
			leave(rel, "it could not be read")
			if d != nil && d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case rel == ".":
			return nil
		case skipped[d.Name()]:
			leave(rel, "folders of that name are not recorded")
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case red.text(d.Name()) != d.Name():
			leave(rel, "its name holds what looks like a key")
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() && (strings.HasPrefix(d.Name(), hiddenPrefix) || isScenario(path)):
			leave(rel, "it is a recording")
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		if files++; files > maxFiles {
			leave(rel, "there are too many files")
			return fs.SkipAll
		}
		if d.Type()&fs.ModeSymlink != 0 {
			if why := copyLink(from, path, filepath.Join(to, rel)); why != "" {
				leave(rel, why)
			}
			return nil
		}
		info, err := d.Info()
		switch {
		case err != nil || !info.Mode().IsRegular():
			leave(rel, "it is no file")
		case private(d.Name()):
			leave(rel, "files of that name hold keys")
		case info.Size() > maxFile:
			leave(rel, "it is too large")
		case total+info.Size() > maxWorkspace:
			leave(rel, "the workspace is too large")
		default:
			total += info.Size()
			switch err := copyFile(path, filepath.Join(to, rel), info.Mode().Perm(), red); {
			case errors.Is(err, errHolds):
				leave(rel, errHolds.Error())
			case err != nil:
				leave(rel, "it could not be copied")
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		leave(".", "the workspace could not be read")
	}
	if omitted > len(out) {
		out = append(out, jsonvalue.Object(member("path", jsonvalue.String("…")), member("reason", jsonvalue.String("and more"))))
	}
	return jsonvalue.Array(out...)
}

// isScenario reports whether a folder is what an earlier recording became.
func isScenario(dir string) bool {
	for _, name := range []string{"recording.json", "session.jsonl"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.Mode().IsRegular() {
			return false
		}
	}
	return true
}

// errHolds says why a file that is no text is left out: nothing can be replaced
// in it without breaking it.
var errHolds = errors.New("it is no text and holds what looks like a key")

// copyFile copies a file; of a text the secrets go.
func copyFile(from, to string, mode fs.FileMode, red *redactor) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		data = []byte(red.places.Replace(red.text(string(data))))
	} else if text := string(data); red.text(text) != text {
		return errHolds
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	return os.WriteFile(to, data, mode|0o600)
}

// copyLink copies a link that stays in the workspace.
func copyLink(root, from, to string) (why string) {
	target, err := os.Readlink(from)
	if err != nil {
		return "it could not be read"
	}
	rel, err := filepath.Rel(root, filepath.Join(filepath.Dir(from), target))
	if filepath.IsAbs(target) || err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return "it is a link out of the workspace"
	}
	if os.MkdirAll(filepath.Dir(to), 0o700) != nil || os.Symlink(target, to) != nil {
		return "it could not be copied"
	}
	return ""
}
