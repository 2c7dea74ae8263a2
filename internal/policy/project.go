package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/filelock"
)

// Project keeps what a person allowed for a project: a directory in its
// canonical form. The file lies in a folder of the user's, not in the project,
// where anybody who can change the project could grant himself something. All
// sessions of a process that work in the directory share one Project; other
// processes may change the file at any time. It is safe for concurrent use.
type Project struct {
	dir, file string
	log       *slog.Logger
	changed   broadcast

	mu    sync.Mutex
	list  []Granted
	stamp fs.FileInfo // of the file that list was read from; nil before, and when there is none
	read  bool        // list is what the file says, or that there is none
	err   error       // why the file cannot be used
}

// OpenProject gives the grants of the project at an absolute directory, kept in
// a file below folder. It touches no file yet.
func OpenProject(folder, dir string, log *slog.Logger) *Project {
	dir = CanonicalDir(dir)
	sum := sha256.Sum256([]byte(dir))
	return &Project{dir: dir, file: filepath.Join(folder, hex.EncodeToString(sum[:12])+".json"), log: log}
}

// CanonicalDir is the one form by which a project is known: absolute, cleaned,
// with symbolic links resolved where the directory exists.
func CanonicalDir(dir string) string {
	if abs, err := filepath.Abs(dir); err == nil {
		dir = abs
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		return real
	}
	return filepath.Clean(dir)
}

// Dir is the project's directory in its canonical form.
func (p *Project) Dir() string { return p.dir }

// File is where the grants are kept. It need not exist.
func (p *Project) File() string { return p.file }

// List gives what is granted, the oldest first. The error says why the file
// cannot be used; then nothing is granted by it.
func (p *Project) List() ([]Granted, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	return slices.Clone(p.list), p.err
}

func (p *Project) has(key string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refresh()
	return slices.ContainsFunc(p.list, func(x Granted) bool { return x.Key == key })
}

var errNoProject = errors.New("there is no project to save anything for")

const (
	projectVersion = 1
	// maxProjectFile and maxProjectGrants bound what is read and kept.
	maxProjectFile   = 1 << 20
	maxProjectGrants = 1000
	// lockPatience is how long another process may take to change the file.
	lockPatience = 2 * time.Second
)

// savedFile is the form of the file.
type savedFile struct {
	Version int          `json:"version"`
	Project string       `json:"project"`
	Grants  []savedGrant `json:"grants"`
}

type savedGrant struct {
	Key     string    `json:"key"`
	At      time.Time `json:"at"`
	Session string    `json:"session,omitempty"`
}

// damagedError says that a file is not what was written.
type damagedError struct{ why string }

func (e *damagedError) Error() string { return "the file of saved grants is damaged: " + e.why }

// refresh reads the file again when it is another than last time.
func (p *Project) refresh() {
	now, err := os.Lstat(p.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.list, p.stamp, p.read, p.err = nil, nil, true, nil
		return
	case err != nil:
		p.fail(err)
		return
	}
	if p.read && p.stamp != nil && os.SameFile(p.stamp, now) && p.stamp.Size() == now.Size() && p.stamp.ModTime().Equal(now.ModTime()) {
		return
	}
	p.list, p.err = p.load(now)
	p.stamp, p.read = now, true
	if p.err != nil {
		p.list = nil
		p.log.Warn("what was allowed for this project cannot be used, and is asked about again", "file", p.file, "err", p.err)
	}
}

func (p *Project) fail(err error) {
	if p.err == nil {
		p.log.Warn("what was allowed for this project cannot be read, and is asked about again", "file", p.file, "err", err)
	}
	p.list, p.stamp, p.read, p.err = nil, nil, false, err
}

// load reads the file. A file that somebody else could have written grants
// nothing.
func (p *Project) load(info fs.FileInfo) ([]Granted, error) {
	switch {
	case !info.Mode().IsRegular():
		return nil, &damagedError{"it is no regular file"}
	case info.Size() > maxProjectFile:
		return nil, &damagedError{"it is too long"}
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		return nil, fmt.Errorf("others may write to %s: check what it says, then run chmod 600 on it", p.file)
	}
	text, err := os.ReadFile(p.file)
	if err != nil {
		return nil, err
	}
	var f savedFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, &damagedError{err.Error()}
	}
	switch {
	case f.Version > projectVersion:
		return nil, fmt.Errorf("%s was written by a newer version of this program, and is left alone", p.file)
	case f.Version != projectVersion:
		return nil, &damagedError{fmt.Sprintf("it has the version %d", f.Version)}
	case f.Project != p.dir:
		return nil, &damagedError{fmt.Sprintf("it is about %q", f.Project)}
	}
	var list []Granted
	for _, g := range f.Grants {
		if g.Key != "" && len(list) < maxProjectGrants {
			list = append(list, Granted{Key: g.Key, Label: keyLabel(g.Key), Lifetime: ThisProject, At: g.At, Session: g.Session})
		}
	}
	return list, nil
}

func (p *Project) add(add []Granted) error {
	return p.change(func(list []Granted) ([]Granted, error) {
		for _, x := range add {
			if slices.ContainsFunc(list, x.sameAs) {
				continue
			}
			if len(list) == maxProjectGrants {
				return nil, fmt.Errorf("%d grants are saved for this project already: take some back with /permissions revoke", maxProjectGrants)
			}
			list = append(list, x)
		}
		return list, nil
	})
}

func (p *Project) remove(x Granted) error {
	return p.change(func(list []Granted) ([]Granted, error) { return slices.DeleteFunc(list, x.sameAs), nil })
}

// change reads, changes and writes the file under its lock, so that processes do
// not undo each other's changes, and takes over what it then says.
func (p *Project) change(edit func([]Granted) ([]Granted, error)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := os.MkdirAll(filepath.Dir(p.file), 0o700); err != nil {
		return err
	}
	lock, err := p.lock()
	if err != nil {
		return err
	}
	defer lock.Close() // lets go of the lock
	p.refresh()
	var damaged *damagedError
	if errors.As(p.err, &damaged) {
		aside := p.file + ".damaged-" + time.Now().UTC().Format("20060102T150405.000000000")
		if err := os.Rename(p.file, aside); err != nil {
			return err
		}
		p.log.Warn("the damaged file of saved grants is kept aside, and a new one begun", "file", aside)
		p.refresh()
	}
	if p.err != nil {
		return p.err
	}
	list, err := edit(slices.Clone(p.list))
	if err != nil {
		return err
	}
	if err := p.write(list); err != nil {
		return err
	}
	p.read = false // the time stamp may be the same
	p.refresh()
	return p.err
}

// lock takes the lock beside the file, which itself is replaced at each change.
func (p *Project) lock() (*os.File, error) {
	f, err := os.OpenFile(p.file+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(lockPatience); ; time.Sleep(5 * time.Millisecond) {
		err := filelock.Try(f)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, filelock.ErrLocked) || time.Now().After(deadline) {
			_ = f.Close()
			return nil, fmt.Errorf("the saved grants are being changed by somebody else: %w", err)
		}
	}
}

// write replaces the file in one step.
func (p *Project) write(list []Granted) (err error) {
	f := savedFile{Version: projectVersion, Project: p.dir, Grants: []savedGrant{}}
	for _, x := range list {
		f.Grants = append(f.Grants, savedGrant{Key: x.Key, At: x.At.UTC(), Session: x.Session})
	}
	text, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(p.file), ".new-*") // 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = tmp.Close()
			_ = os.Remove(tmp.Name())
		}
	}()
	if _, err = tmp.Write(append(text, '\n')); err != nil {
		return err
	}
	if err = tmp.Sync(); err != nil {
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), p.file)
}
