package sandbox_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/dsh-acp/dsh-acp/internal/proc"
	"github.com/dsh-acp/dsh-acp/internal/sandbox"
)

// Each script makes a repository that runs "evil" in the hands of whoever uses git in
// the folder next.
func TestNewRepositoriesRunNothing(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	const evil = `printf '#!/bin/sh\ntouch '$BASE'/escaped\n' > evil && chmod +x evil; `
	scripts := map[string]string{
		"hook before the repository":         "mkdir -p .git/hooks && cp evil .git/hooks/post-checkout",
		"hook":                               "git init -q . && cp evil .git/hooks/post-checkout",
		"hook by link":                       "git init -q . && ln -s ../../evil .git/hooks/post-checkout",
		"folder of hooks by link":            "git init -q . && mkdir h && cp evil h/post-checkout && rm -r .git/hooks && ln -s ../h .git/hooks",
		"fsmonitor":                          "git init -q . && git config core.fsmonitor $PWD/evil",
		"hooks path":                         "git init -q . && mkdir h && cp evil h/post-checkout && git config core.hooksPath $PWD/h",
		"one line":                           "git init -q . && printf '[core] fsmonitor = %s\\n' $PWD/evil >> .git/config",
		"continued line":                     "git init -q . && printf '[user]\\n\\tname = x\\\\\\n\\n[core]\\n\\tfsmonitor = %s\\n' $PWD/evil >> .git/config",
		"included":                           "git init -q . && printf '[core]\\n\\tfsmonitor = %s\\n' $PWD/evil > inc && git config include.path $PWD/inc",
		"included if":                        "git init -q . && printf '[core]\\n\\tfsmonitor = %s\\n' $PWD/evil > inc && git config includeIf.gitdir:/.path $PWD/inc",
		"configuration by link":              "git init -q . && mv .git/config c && printf '[core]\\n\\tfsmonitor = %s\\n' $PWD/evil >> c && ln -s ../c .git/config",
		"configuration of a worktree":        "git init -q . && git config extensions.worktreeConfig true && git config --worktree core.fsmonitor $PWD/evil",
		"commondir":                          "git init -q . && cp -r .git e && git config -f e/config core.fsmonitor $PWD/evil && echo ../e > .git/commondir",
		"file":                               "git init -q --bare e && git config -f e/config core.bare false && git config -f e/config core.fsmonitor $PWD/evil && echo gitdir: e > .git",
		"file to elsewhere":                  "git init -q $TMPDIR/e && git config -f $TMPDIR/e/.git/config core.fsmonitor $PWD/evil && echo gitdir: $TMPDIR/e/.git > .git",
		"file of another form":               "git init -q --bare 'e ' && git config -f 'e /config' core.bare false && git config -f 'e /config' core.fsmonitor $PWD/evil && git init -q --bare e && printf 'gitdir: e ' > .git",
		"file with a long end":               "git init -q --bare e && git config -f e/config core.bare false && git config -f e/config core.fsmonitor $PWD/evil && { echo gitdir: e; head -c 400000 /dev/zero | tr '\\0' '\\n'; } > .git",
		"file by way of a link":              "mkdir -p p/q && git init -q --bare p/e && git config -f p/e/config core.bare false && git config -f p/e/config core.fsmonitor $PWD/evil && git init -q --bare e && ln -s p/q l && echo gitdir: l/../e > .git",
		"bare":                               "git init -q --bare . && git config -f config core.bare false && git config -f config core.worktree $PWD && git config -f config core.fsmonitor $PWD/evil",
		"bare, one folder down":              "git init -q --bare sub && cp evil sub/hooks/post-checkout && git config -f sub/config core.bare false && git config -f sub/config core.worktree $PWD/sub && git config -f sub/config core.fsmonitor $PWD/evil",
		"link":                               "git init -q e && git config -f e/.git/config core.fsmonitor $PWD/evil && ln -s e/.git .git",
		"link to elsewhere":                  "git init -q $TMPDIR/e && git config -f $TMPDIR/e/.git/config core.fsmonitor $PWD/evil && ln -s $TMPDIR/e/.git .git",
		"one folder down":                    "git init -q sub && cp evil sub/.git/hooks/post-checkout && git -C sub config core.fsmonitor $PWD/evil",
		"false worktree":                     "git init -q e && mkdir -p e/.git/worktrees/w && git config -f e/.git/config core.fsmonitor $PWD/evil && cd e/.git/worktrees/w && cp ../../HEAD . && echo ../.. > commondir && echo $OLDPWD/.git > gitdir && cd $OLDPWD && echo gitdir: e/.git/worktrees/w > .git",
		"repository without a configuration": "git init -q . && rm .git/config && git config core.fsmonitor $PWD/evil",
		"filter":                             "git init -q . && git config filter.f.clean $PWD/evil && git config filter.f.smudge $PWD/evil && echo '* filter=f' > .gitattributes",
	}
	use := `for d in . sub; do (cd $d 2>/dev/null && { [ ! -d .git ] || [ -e .git/HEAD ] || git init -q .; }; git status; touch t; git add t; git -c user.name=a -c user.email=b commit -qm x; git checkout -q -b y) done`
	box := sandbox.New(sandbox.Auto)
	t.Cleanup(box.Close)
	if box.Status().Mechanism == sandbox.None {
		t.Skip("this machine confines nothing")
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			outside := func(w *world) {
				cmd := exec.Command("bash", "-c", use)
				cmd.Dir = w.work
				cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CEILING_DIRECTORIES="+w.base)
				_, _ = cmd.CombinedOutput() // whether it works is not the question
			}
			tame := newWorld(t, sandbox.New(sandbox.None))
			tame.bash(evil + script)
			outside(tame)
			if _, err := os.Lstat(tame.path("escaped")); err != nil {
				t.Skipf("%s runs nothing with this git", name)
			}
			// What is done afterwards is the same whatever confined the command.
			w := newWorld(t, box)
			r := w.bash(evil + script)
			if len(r.undone) == 0 || r.failure != "" {
				t.Errorf("nothing was undone: %+v", r)
			}
			for range 2 {
				outside(w)
				w.absent("escaped")
				// The next command finds a repository that is protected as any.
				w.bash("true")
			}
		})
	}
}

// A repository as it is made every day stays as it was made.
func TestNewRepositoriesStay(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	protecting(t, func(t *testing.T, w *world) {
		r := w.bash(`git init -q . && git config user.name n && git config user.email a@b && git config commit.gpgsign false && git config gc.auto 0 && echo a > a && git add a && git commit -qm one &&
			git remote add origin https://example.com/x.git && git branch -q side && git clone -q . copy && git -c protocol.file.allow=always submodule --quiet add "$PWD/copy" sub && git worktree add -q tree side && git clone -q --bare . bare.git && cat .git/config`)
		if r.code != 0 || len(r.undone) > 0 {
			t.Fatalf("%+v", r)
		}
		if got := w.ok("git log --oneline | wc -l && git -C tree status --short && git -C copy remote && git -C sub log --oneline | wc -l"); strings.Join(strings.Fields(got), " ") != "1 origin 1" {
			t.Error(got)
		}
	})
}

// What is set aside keeps what it said, and so does what is harmless beside it.
func TestWhatIsSetAsideIsKept(t *testing.T) {
	protecting(t, func(t *testing.T, w *world) {
		if _, err := exec.LookPath("git"); err != nil {
			t.Skip("git is not installed")
		}
		r := w.bash("git init -q . && git config user.name 'A B' && git config alias.x '!evil' && echo hook > .git/hooks/pre-push && cp .git/config before")
		want := []string{w.path("work/.git/hooks/pre-push"), w.path("work/.git/config")}
		if !slices.Equal(r.undone, want) {
			t.Errorf("undone %q", r.undone)
		}
		w.unchanged("work/.git/hooks/pre-push"+sandbox.HeldBack, "hook\n")
		before, err := os.ReadFile(w.path("work/before"))
		if err != nil {
			t.Fatal(err)
		}
		w.unchanged("work/.git/config"+sandbox.HeldBack, string(before))
		if got := w.ok("git config user.name; git config core.bare; git config alias.x || echo none"); got != "A B\nfalse\nnone\n" {
			t.Error(got)
		}
		// What a link leads to is nobody's to rename.
		w.write("home/h/pre-push", "mine\n")
		w.bash("rm -rf .git && mkdir .git && ln -s " + filepath.Join(w.home, "h") + " .git/hooks")
		w.unchanged("home/h/pre-push", "mine\n")
	})
}

// A file by which this program would run commands next time does not appear, however
// it is put there; one that is there already is kept as any protected path.
func TestUnmadeFilesDoNotAppear(t *testing.T) {
	eachBox(t, func(t *testing.T, w *world) {
		w.policy.Unmade = []string{w.path("work/tools/hooks.json"), w.path("elsewhere/hooks.json")}
		for _, script := range []string{
			"mkdir -p tools && echo x > tools/hooks.json",
			"mkdir -p t2 && echo x > t2/hooks.json && ln -s t2 tools",
			"mkdir -p $TMPDIR/t && echo x > $TMPDIR/t/hooks.json && ln -s $TMPDIR/t tools",
			"mkdir -p tools && echo x > x.json && ln -s ../x.json tools/hooks.json",
			"mkdir -p tools/hooks.json",
		} {
			r := w.bash(script)
			w.absent("work/tools/hooks.json")
			if len(r.undone) != 1 || r.code != 0 {
				t.Errorf("%s: %+v", script, r)
			}
			w.ok("rm -rf tools t2 x.json")
		}
		w.write("home/t/hooks.json", "mine\n")
		w.bash("ln -s ../home/t tools")
		w.absent("work/tools/hooks.json")
		w.unchanged("home/t/hooks.json", "mine\n")
		if r := w.bash("rm -f tools; mkdir tools; echo x > tools/other"); len(r.undone) > 0 || r.code != 0 {
			t.Errorf("%+v", r)
		}
	})
}

// A command that runs for long is no reason to look at a repository that was made by
// others meanwhile, once another command has found it there.
func TestRepositoriesOfOthersStay(t *testing.T) {
	protecting(t, func(t *testing.T, w *world) {
		run, err := w.box.Command(w.policy) // has begun, and does not end yet
		if err != nil {
			t.Fatal(err)
		}
		w.repo()
		w.write("work/.git/hooks/pre-push", "mine\n")
		if r := w.bash("true"); len(r.undone) > 0 {
			t.Errorf("%+v", r)
		}
		out, err := w.procs.Run(t.Context(), proc.Command{Spec: proc.Spec{Args: []string{"true"}, Dir: w.work}, Wrap: run.Wrap}, proc.RunOptions{})
		if err != nil || out.Code != 0 || len(run.Undone()) > 0 {
			t.Errorf("%v %+v %q", err, out, run.Undone())
		}
		w.unchanged("work/.git/hooks/pre-push", "mine\n")
	})
}

// A repository is protected from the next command wherever a file says that it is.
func TestANewRepositoryElsewhereIsProtected(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	protecting(t, func(t *testing.T, w *world) {
		if r := w.bash("mkdir -p deep/in && git init -q --separate-git-dir deep/in/e sub"); r.code != 0 || len(r.undone) > 0 {
			t.Fatalf("%+v", r)
		}
		if r := w.bash("echo x > deep/in/e/hooks/pre-push || git -C sub config core.fsmonitor evil || mv deep/in/e deep/in/f"); r.code == 0 {
			t.Errorf("%+v", r)
		}
		w.absent("work/deep/in/e/hooks/pre-push")
		w.ok("cd sub && touch a && git add a && git -c user.name=a -c user.email=b commit -qm x")
	})
}

// So is one without files; the user's own stays as it is.
func TestBareRepositoriesAreProtected(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	protecting(t, func(t *testing.T, w *world) {
		if r := w.bash("git init -q --bare a.git"); r.code != 0 || len(r.undone) > 0 {
			t.Fatalf("%+v", r)
		}
		w.write("work/a.git/hooks/post-update", "mine\n")
		if r := w.bash("echo x > a.git/hooks/pre-receive || git -C a.git config core.fsmonitor evil"); r.code == 0 || len(r.undone) > 0 {
			t.Errorf("%+v", r)
		}
		w.absent("work/a.git/hooks/pre-receive")
		w.unchanged("work/a.git/hooks/post-update", "mine\n")
		w.ok("git init -q x && cd x && touch a && git add a && git -c user.name=a -c user.email=b commit -qm x && git push -q ../a.git HEAD:main")
	})
}

// What a command may not change it does not get renamed either, by calling it a
// repository's or by leading a name to it.
func TestNothingProtectedIsSetAside(t *testing.T) {
	protecting(t, func(t *testing.T, w *world) {
		w.write("work/.claude/hooks/guard.sh", "mine\n")
		w.write("work/.claude/config", "mine\n")
		w.write("work/.claude/hooks.json", "mine\n")
		w.policy.Unmade = []string{w.path("work/tools/hooks.json")}
		for _, script := range []string{
			"mkdir -p sub && echo gitdir: ../.claude > sub/.git",
			"mkdir -p sub && echo gitdir: $PWD/.claude > sub/.git",
			"mkdir -p sub/.git && ln -s ../../.claude/hooks sub/.git/hooks && ln -s ../../.claude/config sub/.git/config",
			"ln -s .claude tools",
		} {
			w.bash(script)
			w.unchanged("work/.claude/hooks/guard.sh", "mine\n")
			w.unchanged("work/.claude/config", "mine\n")
			w.unchanged("work/.claude/hooks.json", "mine\n")
			w.absent("work/tools/hooks.json")
			w.bash("rm -rf sub* tools*")
		}
	})
}

// Files that a command makes where this program reads a path hold it up by no size
// and no kind.
func TestRepositoriesOfAnyKindAreRead(t *testing.T) {
	eachBox(t, func(t *testing.T, w *world) {
		w.ok("mkdir -p sub x/worktrees/w other && echo gitdir: $PWD/x/worktrees/w > sub/.git && mkfifo x/worktrees/w/gitdir && truncate -s 1T other/.git")
		// The user's own, so that it stays and is read before each command.
		w.write("work/mine/.git", "gitdir: "+w.path("work/x/worktrees/w")+"\n")
		w.ok("true")
		w.ok("true")
	})
}
