package sandbox_test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/sandbox"
)

// world is a workspace with a repository, a home folder and a state folder beside
// it, outside of the temporary folder that the policy lets be written.
type world struct {
	t                            testing.TB
	box                          *sandbox.Box
	base, work, home, state, tmp string
	policy                       sandbox.Policy
	procs                        *proc.Supervisor
}

// eachBox tries every mechanism that this machine has. Landlock is tried with a new
// launcher, and with one that waits for its command since an earlier one ended.
func eachBox(t *testing.T, f func(t *testing.T, w *world)) {
	for _, m := range []struct {
		name  string
		want  sandbox.Mechanism
		ahead bool
	}{{"landlock", sandbox.Landlock, false}, {"landlock, ahead", sandbox.Landlock, true}, {"bwrap", sandbox.Bubblewrap, false}} {
		t.Run(m.name, func(t *testing.T) {
			box := sandbox.New(m.want)
			if box.Status().Mechanism == sandbox.None {
				t.Skipf("this machine has no %s: %s", m.want, strings.Join(box.Status().Details, "; "))
			}
			t.Cleanup(box.Close)
			w := newWorld(t, box)
			if m.ahead {
				w.ok("true")
				w.policy.Mode = sandbox.ReadOnly
				w.ok("true")
				w.policy.Mode = sandbox.WorkspaceWrite
			}
			f(t, w)
		})
	}
}

// protecting is eachBox for what needs more than a list of writable folders.
func protecting(t *testing.T, f func(t *testing.T, w *world)) {
	eachBox(t, func(t *testing.T, w *world) {
		if !w.box.Status().Protects {
			t.Skipf("%s keeps no protected paths here: %s", w.box.Status().Mechanism, strings.Join(w.box.Status().Details, "; "))
		}
		f(t, w)
	})
}

func newWorld(t testing.TB, box *sandbox.Box) *world {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, box: box, base: base, procs: proc.NewSupervisor()}
	t.Cleanup(func() { _ = w.procs.Close(context.Background()) })
	for _, d := range []struct {
		at   *string
		name string
	}{{&w.work, "work"}, {&w.home, "home"}, {&w.state, "state"}, {&w.tmp, "tmp"}} {
		*d.at = filepath.Join(base, d.name)
		if err := os.Mkdir(*d.at, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	w.write("home/.bashrc", "# mine\n")
	w.write("state/session.jsonl", "{}\n")
	w.policy = sandbox.Policy{
		Mode: sandbox.WorkspaceWrite, Roots: []string{w.work}, Temp: []string{w.tmp}, Home: w.home, Protected: []string{w.state},
	}
	return w
}

func (w *world) path(rel string) string { return filepath.Join(w.base, filepath.FromSlash(rel)) }

func (w *world) write(rel, text string) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(w.path(rel)), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(w.path(rel), []byte(text), 0o644); err != nil {
		w.t.Fatal(err)
	}
}

// repo makes the workspace a repository with a hook, a configuration and a commit.
func (w *world) repo() {
	w.t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		w.t.Skip("git is not installed")
	}
	w.write("work/a.txt", "a\n")
	cmd := exec.Command("sh", "-c", "git init -q . && git config user.email a@b && git config user.name n && git add . && git commit -qm one")
	cmd.Dir = w.work
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
	if out, err := cmd.CombinedOutput(); err != nil {
		w.t.Fatalf("git: %v\n%s", err, out)
	}
}

type result struct {
	code        int
	out         string
	run         *sandbox.Run
	failure     string
	undone      []string
	background  bool
	stdout, err string
}

func (w *world) bash(script string, env ...string) result {
	w.t.Helper()
	run, err := w.box.Command(w.policy)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	environ := append(os.Environ(), "HOME="+w.home, "TMPDIR="+w.tmp, "GIT_CONFIG_GLOBAL=/dev/null", "BASE="+w.base)
	out, err := w.procs.Run(ctx, proc.Command{
		Spec: proc.Spec{Args: []string{"bash", "-c", script}, Env: append(environ, env...), Dir: w.work}, Wrap: run.Wrap, Owner: "w",
	}, proc.RunOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return result{
		code: out.Code, out: out.Stdout.Text + out.Stderr.Text, run: run, failure: run.Failure(), undone: run.Undone(),
		background: out.Background, stdout: out.Stdout.Text, err: out.Stderr.Text,
	}
}

// ok runs what must work.
func (w *world) ok(script string) string {
	w.t.Helper()
	r := w.bash(script)
	if r.code != 0 || r.failure != "" {
		w.t.Fatalf("%s\nended with %d (%s):\n%s", script, r.code, r.failure, r.out)
	}
	return r.stdout
}

// unchanged says what the file must still hold.
func (w *world) unchanged(rel, want string) {
	w.t.Helper()
	if got, err := os.ReadFile(w.path(rel)); err != nil || string(got) != want {
		w.t.Errorf("%s: %q, %v; want %q", rel, got, err, want)
	}
}

func (w *world) absent(rel string) {
	w.t.Helper()
	if _, err := os.Lstat(w.path(rel)); err == nil {
		w.t.Errorf("%s was made", rel)
	}
}

// A machine that runs the project's tests for everybody has to have something to
// test the sandbox with, or these tests would pass by doing nothing.
func TestCIHasAMechanism(t *testing.T) {
	if os.Getenv("CI") != "true" {
		t.Skip("CI is not set to true: any machine will do")
	}
	s := sandbox.New(sandbox.Auto).Status()
	if s.Mechanism == sandbox.None || !s.Protects {
		t.Fatalf("no mechanism that keeps protected paths is active: %+v", s)
	}
	t.Logf("%s: %s", s.Mechanism, strings.Join(s.Details, "; "))
}

func TestWorkspaceWrite(t *testing.T) {
	eachBox(t, func(t *testing.T, w *world) {
		if got := w.ok("printf 'before\\n' > out.txt && cat out.txt && mkdir d && mv out.txt d/ && echo x > $TMPDIR/y && echo x > /dev/null"); got != "before\n" {
			t.Errorf("%q", got)
		}
		r := w.bash("echo x > ../escaped; echo status $?")
		w.absent("escaped")
		if !strings.Contains(r.out, "status 1") {
			t.Error(r.out)
		}
		if got := w.ok("cat ../home/.bashrc"); got != "# mine\n" {
			t.Errorf("reading is free: %q", got)
		}
		if env := w.ok("env"); strings.Contains(env, "DSH_ACP_INTERNAL") {
			t.Error("the launcher's marks are in the command's environment")
		}
	})
}

func TestReadOnly(t *testing.T) {
	eachBox(t, func(t *testing.T, w *world) {
		w.policy.Mode = sandbox.ReadOnly
		w.write("work/a.txt", "a\n")
		if got := w.ok("cat a.txt; echo x > /dev/null; cat <<< here"); got != "a\nhere\n" {
			t.Errorf("%q", got)
		}
		w.bash("echo x > a.txt; echo x > new; rm a.txt; mkdir d; echo x > $TMPDIR/y; ln -s a l; truncate -s 0 a.txt; chmod 777 . ; touch -d 2000-01-01 a.txt")
		w.unchanged("work/a.txt", "a\n")
		for _, rel := range []string{"work/new", "work/d", "tmp/y", "work/l"} {
			w.absent(rel)
		}
	})
}

// Each line tries to get out of the workspace in another way.
func TestEscapes(t *testing.T) {
	for name, script := range map[string]string{
		"dots":                "echo x > ../../$(basename $BASE)/escaped",
		"symlink":             "ln -s $BASE out && echo x > out/escaped",
		"proc self root":      "echo x > /proc/self/root$BASE/escaped",
		"proc self cwd":       "echo x > /proc/self/cwd/../escaped",
		"proc of the parent":  "echo x > /proc/$PPID/root$BASE/escaped; echo x > /proc/1/root$BASE/escaped; for p in /proc/[0-9]*; do echo x > $p/root$BASE/escaped; case $(readlink $p/cwd) in $BASE/*) echo x > $p/cwd/../escaped;; esac; done", // processes of others are not ours to litter
		"rename out":          "echo x > f && mv f ../escaped",
		"link out":            "echo x > f && ln f ../escaped",
		"copy with a program": "echo x > f && cp f ../escaped; install f ../escaped; dd if=f of=../escaped; tee ../escaped < f",
		"directory":           "mkdir ../escaped",
		"background":          "(sleep 0.2; echo x > ../escaped) & disown",
		"new session":         "setsid bash -c 'sleep 0.2; echo x > ../escaped' & disown",
		"fsmonitor":           "git init -q r && cd r && printf '#!/bin/sh\\necho x > $BASE/escaped\\n' > m && chmod +x m && git -c core.fsmonitor=$PWD/m status",
		"nested namespaces":   "unshare -Urm sh -c 'mount --bind $BASE /mnt; echo x > $BASE/escaped; echo x > /mnt/escaped'",
		"chroot":              "unshare -r chroot / sh -c 'echo x > $BASE/escaped'",
		"unmounting":          "umount -l $BASE; echo x > ../escaped",
		"python":              "python3 -c \"import os; fd=os.open('$BASE', os.O_RDONLY); os.open('escaped', os.O_WRONLY|os.O_CREAT, dir_fd=fd)\"",
	} {
		t.Run(name, func(t *testing.T) {
			patience := time.Duration(0)
			if name == "background" || name == "new session" {
				patience = 500 * time.Millisecond
			}
			// What does not get out without a box either shows nothing.
			free := newWorld(t, sandbox.New(sandbox.None))
			free.bash(script)
			time.Sleep(patience)
			if _, err := os.Lstat(free.path("escaped")); err != nil {
				t.Skipf("%s does not get out of anything on this machine", name)
			}
			eachBox(t, func(t *testing.T, w *world) {
				r := w.bash(script)
				time.Sleep(patience)
				w.absent("escaped")
				if r.failure != "" {
					t.Errorf("the box failed: %s", r.failure)
				}
			})
		})
	}
}

// A hard link to a file outside would make it writable under a name inside.
func TestHardLinkIn(t *testing.T) {
	eachBox(t, func(t *testing.T, w *world) {
		w.bash("ln ../home/.bashrc rc && echo x >> rc; ln ../state/session.jsonl $TMPDIR/s && echo x >> $TMPDIR/s")
		w.unchanged("home/.bashrc", "# mine\n")
		w.unchanged("state/session.jsonl", "{}\n")
	})
}

// Owners, modes, times and attributes of what may not be written stay too, under
// every mode, however the file is named; inside of the workspace they are free.
func TestMetadataOutside(t *testing.T) {
	protecting(t, func(t *testing.T, w *world) {
		at := time.Unix(1e9, 0)
		w.write("outside", "x\n")
		if err := os.Chtimes(w.path("outside"), at, at); err != nil {
			t.Fatal(err)
		}
		before, err := os.Stat(w.path("outside"))
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []sandbox.Mode{sandbox.WorkspaceWrite, sandbox.ReadOnly} {
			w.policy.Mode = mode
			w.bash("ln -s $BASE out")
			for _, script := range []string{
				"chmod 777 ../outside", "chmod 777 /proc/self/root$BASE/outside", "chmod 777 out/outside", "chmod -R 777 ../", "chmod 700 ..",
				"touch -d 2001-01-01 ../outside", "touch -a -d 2001-01-01 ../outside", "chown 1:1 ../outside", "chgrp 1 ../outside",
				"python3 -c \"import os; os.setxattr('$BASE/outside', 'user.x', b'y')\"",
				"python3 -c \"import os; fd=os.open('$BASE/outside', os.O_RDONLY); os.fchmod(fd, 0o777)\"",
				"python3 -c \"import os; fd=os.open('$BASE/outside', os.O_RDONLY); os.utime(fd, (1, 1))\"",
				"python3 -c \"import os; os.truncate('$BASE/outside', 0)\"",
			} {
				r := w.bash(script)
				after, err := os.Stat(w.path("outside"))
				if err != nil {
					t.Fatal(err)
				}
				if r.failure != "" || after.Mode() != before.Mode() || !after.ModTime().Equal(at) || after.Size() != before.Size() || owner(after) != owner(before) {
					t.Fatalf("%v: %s: %v %v (%s)", mode, script, after.Mode(), after.ModTime(), r.failure)
				}
			}
		}
		w.policy.Mode = sandbox.WorkspaceWrite
		w.ok("echo x > f && chmod 755 f && touch -d 2001-01-01 f && mkdir -p d/e && mv f d/e/ && chmod 700 d && test -x d/e/f && echo y > $TMPDIR/g && chmod 600 $TMPDIR/g && mv $TMPDIR/g . && echo z > /dev/null && (echo p > /dev/stderr) && (: > /dev/tty) 2>/dev/null; test -f g")
	})
}

// A name that is swapped between a folder and a link while it is written through.
func TestSymlinkRace(t *testing.T) {
	eachBox(t, func(t *testing.T, w *world) {
		w.bash(`mkdir d; (for i in $(seq 60); do rm -rf s; ln -s $BASE s; rm -f s; mkdir s; done) & for i in $(seq 200); do echo x > s/escaped; done 2>/dev/null; wait`)
		w.absent("escaped")
	})
}

func TestProtectedInsideTheWorkspace(t *testing.T) {
	protecting(t, func(t *testing.T, w *world) {
		w.repo()
		w.write("work/.vscode/tasks.json", "{}\n")
		w.write("work/.envrc", "true\n")
		w.write("work/.dsh-acp.yaml", "permissions: {preset: read-only}\n")
		config, err := os.ReadFile(w.path("work/.git/config"))
		if err != nil {
			t.Fatal(err)
		}
		for _, script := range []string{
			"echo x > .git/hooks/pre-commit", "mkdir .git/hooks/d", "mv .git/hooks .git/h", "rm -rf .git/hooks",
			"git config core.fsmonitor ./evil", "git config core.hooksPath evil", "echo '[core] fsmonitor = ./evil' >> .git/config",
			"cp .git/config c && echo '[core] fsmonitor = ./evil' >> c && mv c .git/config", "rm -f .git/config", "ln -sf ../c .git/config",
			"mv .git g && mkdir .git && cp -r g/. .git && echo '[core] fsmonitor = ./evil' >> .git/config",
			"mv ../work ../w2", "cd .. && mv work w2",
			"echo x > .vscode/tasks.json", "echo x > .vscode/new.json", "mv .vscode v", "echo x > .envrc", "rm -f .envrc", "echo x > .dsh-acp.yaml",
			"unshare -Urm sh -c 'umount -l .git/config; umount -l .git/hooks; mount -o remount,rw,bind .git/config; echo x > .git/config'",
			"truncate -s 0 .git/config", "chmod 777 .git/config", "exec 3<>.git/config && echo x >&3",
		} {
			if r := w.bash(script); r.failure != "" || r.code == 0 {
				t.Errorf("%s: ended with %d, %q\n%s", script, r.code, r.failure, r.out)
			}
		}
		w.unchanged("work/.git/config", string(config))
		w.unchanged("work/.vscode/tasks.json", "{}\n")
		w.unchanged("work/.envrc", "true\n")
		w.unchanged("work/.dsh-acp.yaml", "permissions: {preset: read-only}\n")
		for _, rel := range []string{"work/.git/hooks/pre-commit", "work/.git/hooks/d", "work/.vscode/new.json", "w2", "work/g"} {
			w.absent(rel)
		}
		// And what is everyday work goes on.
		w.ok("echo b > b.txt && git add b.txt && git commit -qm two && git checkout -qb topic && git merge -q master 2>/dev/null || git merge -q main; git stash list; git log --oneline | wc -l")
		if got := w.ok("git log --oneline | wc -l"); strings.TrimSpace(got) != "2" {
			t.Errorf("%q commits", got)
		}
	})
}

// What a command leaves running has no more leave than the command.
func TestCommonDirOfAProcessLeftRunningIsUndone(t *testing.T) {
	protecting(t, func(t *testing.T, w *world) {
		w.repo()
		left := func() {
			w.bash("cp -r .git evil; (sleep 0.2; echo ../evil > .git/commondir) >/dev/null 2>&1 &")
			patience := time.Second // where it ends with the command it never appears
			landlock := w.box.Status().Mechanism == sandbox.Landlock
			if landlock {
				patience = time.Minute
			}
			for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				if _, err := os.Lstat(w.path("work/.git/commondir")); err == nil {
					return
				}
			}
			if landlock {
				t.Error("nothing was tried")
			}
		}
		left()
		if r := w.bash("rm -rf evil; git status"); r.code != 0 {
			t.Errorf("%+v", r)
		}
		w.absent("work/.git/commondir")
		left()
		w.box.Sweep()
		w.absent("work/.git/commondir")
	})
}

// A repository can be told to look for its configuration elsewhere by a file that
// is not there yet, in a folder in which git has to make files.
func TestCommonDirIsUndone(t *testing.T) {
	protecting(t, func(t *testing.T, w *world) {
		w.repo()
		r := w.bash("cp -r .git evil && echo ../evil > .git/commondir")
		w.absent("work/.git/commondir")
		if len(r.undone) != 1 {
			t.Errorf("undone: %q", r.undone)
		}
	})
}

func TestHooksFolderIsMadeToBeKept(t *testing.T) {
	protecting(t, func(t *testing.T, w *world) {
		w.repo()
		if err := os.RemoveAll(w.path("work/.git/hooks")); err != nil {
			t.Fatal(err)
		}
		w.bash("mkdir -p .git/hooks && echo x > .git/hooks/post-checkout")
		w.absent("work/.git/hooks/post-checkout")
	})
}

func TestSubmodulesAndNeighbours(t *testing.T) {
	protecting(t, func(t *testing.T, w *world) {
		w.repo()
		for _, git := range []string{"work/.git/modules/lib/x", "work/sub/.git"} {
			w.write(git+"/HEAD", "ref: refs/heads/main\n")
			w.write(git+"/config", "[core]\n")
			w.write(git+"/hooks/keep", "")
		}
		w.bash("echo x >> .git/modules/lib/x/config; echo x > .git/modules/lib/x/hooks/post-checkout; echo x >> sub/.git/config; mv sub s2; echo x > sub/ok.txt")
		w.unchanged("work/.git/modules/lib/x/config", "[core]\n")
		w.unchanged("work/sub/.git/config", "[core]\n")
		w.absent("work/.git/modules/lib/x/hooks/post-checkout")
		w.unchanged("work/sub/ok.txt", "x\n")
	})
}

// A linked work tree commits to a repository elsewhere. One that only claims to be
// linked gets nothing.
func TestLinkedWorkTree(t *testing.T) {
	protecting(t, func(t *testing.T, w *world) {
		w.repo()
		cmd := exec.Command("git", "worktree", "add", "-q", w.path("linked"))
		cmd.Dir = w.work
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		w.policy.Roots = []string{w.path("linked")}
		w.ok("cd ../linked && echo b > b && git add b && git commit -qm two")
		w.bash("cd ../linked; git config core.fsmonitor evil; echo x > ../work/.git/hooks/post-commit; echo x > ../work/a.txt; echo x > ../work/.git/worktrees/linked/commondir; echo x > .git")
		w.absent("work/.git/hooks/post-commit")
		w.unchanged("work/a.txt", "a\n")
		w.unchanged("work/.git/worktrees/linked/commondir", "../..\n")
		if got, _ := os.ReadFile(w.path("work/.git/config")); strings.Contains(string(got), "fsmonitor") {
			t.Error("the configuration was changed")
		}
		w.write("forged/.git", "gitdir: "+w.home+"/worktrees/x\n")
		w.write("home/worktrees/x/gitdir", "elsewhere\n")
		w.policy.Roots = []string{w.path("forged")}
		w.bash("echo x >> ../home/.bashrc; echo x > ../home/worktrees/x/y")
		w.unchanged("home/.bashrc", "# mine\n")
		w.absent("home/worktrees/x/y")
	})
}

// Home folders and our own state may lie inside of a writable folder.
func TestHomeAndStateInsideOfARoot(t *testing.T) {
	protecting(t, func(t *testing.T, w *world) {
		w.policy.Temp = []string{w.base}
		w.write("home/.config/fish/config.fish", "")
		w.write("home/notes/a", "a\n")
		w.bash(`echo x >> ~/.bashrc; echo x > ~/.bash_profile; echo x > ~/.config/fish/config.fish; mkdir ~/.ssh; mv ~ ~2; rm -rf ~/.bashrc
			echo x > $BASE/state/session.jsonl; rm -rf $BASE/state; mv $BASE/state $BASE/s2; echo b > ~/notes/a; echo x > $BASE/free`)
		w.unchanged("home/.bashrc", "# mine\n")
		w.unchanged("home/.config/fish/config.fish", "")
		w.unchanged("state/session.jsonl", "{}\n")
		w.unchanged("home/notes/a", "b\n")
		w.unchanged("free", "x\n")
		w.absent("home/.bash_profile")
		w.absent("home/.ssh")

		w.policy.Roots, w.policy.Temp = []string{w.home}, nil
		w.bash("cd ~; echo x > .zshrc; echo x >> .bashrc; echo x > new; echo c > notes/a")
		w.unchanged("home/.bashrc", "# mine\n")
		w.unchanged("home/notes/a", "c\n")
		w.absent("home/.zshrc")
		w.absent("home/new")
	})
}

func TestProcessesOutside(t *testing.T) {
	eachBox(t, func(t *testing.T, w *world) {
		secret := filepath.Join(w.base, "victim")
		w.write("victim", "v\n")
		victim := exec.Command("bash", "-c", "exec 7<>"+secret+"; sleep 300")
		if err := victim.Start(); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = victim.Process.Kill(); _ = victim.Wait() }()
		pid := strconv.Itoa(victim.Process.Pid)
		for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
			if to, _ := os.Readlink("/proc/" + pid + "/fd/7"); to == secret {
				break
			}
			if time.Now().After(end) {
				t.Fatal("the victim did not open its file")
			}
		}
		w.bash("echo x > /proc/" + pid + "/fd/7; dd if=/dev/zero of=/proc/" + pid + "/mem bs=1 count=1 seek=4096 conv=notrunc; cat /proc/" + pid + "/environ > e")
		w.unchanged("victim", "v\n")
		if got, _ := os.ReadFile(w.path("work/e")); len(got) > 0 {
			t.Error("the environment of a process outside was read")
		}
		if _, err := exec.LookPath("python3"); err != nil {
			t.Skip("python3 is not installed: ptrace is not tried")
		}
		r := w.bash(`python3 -c "
import ctypes
libc=ctypes.CDLL(None, use_errno=True)
print('attached' if libc.ptrace(16, ` + pid + `, 0, 0) == 0 else 'refused')"`)
		if !strings.Contains(r.out, "refused") {
			t.Error(r.out)
		}
	})
}

func TestNetwork(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	accepted := make(chan struct{}, 16)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- struct{}{}
			_ = c.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(l.Addr().String())
	connect := "exec 3<>/dev/tcp/127.0.0.1/" + port
	eachBox(t, func(t *testing.T, w *world) {
		for _, mode := range []sandbox.Mode{sandbox.ReadOnly, sandbox.WorkspaceWrite} {
			w.policy.Mode = mode
			if r := w.bash(connect); r.code == 0 {
				t.Errorf("%s: connected", mode)
			}
			if _, err := exec.LookPath("python3"); err == nil {
				if r := w.bash(`python3 -c "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9)); socket.create_connection(('127.0.0.1', ` + port + `))"`); r.code == 0 {
					t.Errorf("%s: connected from python", mode)
				}
			}
		}
		select {
		case <-accepted:
			t.Error("a connection arrived")
		default:
		}
		w.policy.Network = true
		w.ok(connect)
		select {
		case <-accepted:
		case <-time.After(time.Minute):
			t.Error("no connection arrived although the network is on")
		}
	})
}

func TestUnixSockets(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	eachBox(t, func(t *testing.T, w *world) {
		t.Chdir(w.base) // the address of a socket must be short, and a temporary folder's name need not be
		l, err := net.Listen("unix", "sock")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		abstract, err := net.Listen("unix", "@dsh-acp-test-"+strconv.Itoa(os.Getpid()))
		if err != nil {
			t.Fatal(err)
		}
		defer abstract.Close()
		try := func(address string) string {
			return `python3 -c "import socket; socket.socket(socket.AF_UNIX).connect(` + address + `)"`
		}
		at, name := "'../sock'", `'\\0dsh-acp-test-`+strconv.Itoa(os.Getpid())+`'`
		for _, network := range []bool{false, true} {
			w.policy.Network = network
			if r := w.bash(try(at)); r.code == 0 {
				t.Error("connected to a socket outside")
			}
			if r := w.bash(try(name)); r.code == 0 {
				t.Error("connected to an abstract socket")
			}
		}
		// Datagrams need no connection, so one end of a pair could send them anywhere.
		log, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: "sock.log", Net: "unixgram"})
		if err != nil {
			t.Fatal(err)
		}
		defer log.Close()
		send := `python3 -c "import socket; a,b=socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); a.sendto(b'x', '../sock.log')"`
		if r := w.bash(send); r.code == 0 {
			t.Error("a datagram was sent to a socket outside")
		}
		w.ok(`python3 -c "import socket; a,b=socket.socketpair(); a.send(b'x'); a,b=socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET); a.send(b'x')"`)
		w.policy.UnixSockets = true
		w.ok(try(at))
		w.ok(send)
		w.ok(`python3 -c "import socket; a,b=socket.socketpair(); a.send(b'x')"`)
	})
}

// The rights that the launcher needs are gone when the command runs.
func TestNoRightsAreLeft(t *testing.T) {
	eachBox(t, func(t *testing.T, w *world) {
		w.repo()
		for line := range strings.Lines(w.ok("grep -E '^(Cap|NoNewPrivs)' /proc/self/status")) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
			mask, _ := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
			switch {
			case name == "NoNewPrivs" && mask != 1:
				t.Error("programs can gain rights")
			case strings.HasPrefix(name, "Cap") && name != "CapBnd" && mask&(1<<21|1<<19|1<<12|1<<16|1<<17) != 0: // administration, ptrace, network, modules, raw I/O
				t.Errorf("%s", line)
			}
		}
	})
}

// A descriptor that whoever started the program left open is not the command's.
func TestInheritedDescriptorsAreNot(t *testing.T) {
	eachBox(t, func(t *testing.T, w *world) {
		if w.box.Status().Mechanism != sandbox.Landlock {
			t.Skip("bwrap hands on what it gets")
		}
		w.write("outside", "kept\n")
		fd, err := syscall.Open(w.path("outside"), syscall.O_RDWR, 0) // and not close-on-exec
		if err != nil {
			t.Fatal(err)
		}
		defer syscall.Close(fd)
		for range 2 { // a new launcher inherits it, and so does one that is started for the next command
			r := w.bash("for f in /proc/self/fd/*; do readlink $f; done; echo x >&" + strconv.Itoa(fd))
			if strings.Contains(r.out, "outside") || r.code == 0 {
				t.Error(r.out)
			}
			w.unchanged("outside", "kept\n")
		}
	})
}

// What cannot be set up runs nothing, and says why.
func TestFailsClosed(t *testing.T) {
	eachBox(t, func(t *testing.T, w *world) {
		run, err := w.box.Command(w.policy)
		if err != nil {
			t.Fatal(err)
		}
		_, err = w.procs.Run(context.Background(), proc.Command{
			Spec: proc.Spec{Args: []string{"no-such-program-anywhere"}, Dir: w.work}, Wrap: run.Wrap,
		}, proc.RunOptions{})
		if w.box.Status().Mechanism == sandbox.Landlock && err == nil {
			t.Error("no error")
		}
	})
}
