package policy

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Whatever was granted for harmless commands, a line that writes a file or runs
// another program when bash has its way is not let through by it.
func TestGrantsAgainstBash(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	dir, err := os.MkdirTemp("", "policy")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for range 50 {
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
		t.Logf("%s is left behind", dir)
	})
	bin := filepath.Join(dir, "bin")
	if err := os.Mkdir(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(bin, "zzrun"), []byte("#!/bin/sh\n: > \"$MARK\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	granted := newPolicy(t, WorkspaceWrite)
	for _, harmless := range []string{
		"echo x", "true", ":", "ls", "cat f", "printf x", "cd .", "git status", "head f", "wc f", "grep x f", "test -n x", "pwd", "date", "id", "seq 3", "sort f", "cut -c1 f", "tr a b", "uniq", "basename x", "sleep 0", "false",
		"env", "command true", "xargs echo", "time ls", "nohup true", "timeout 5 true", "bash -c 'echo x'", "eval 'echo x'", "exec true", "sudo ls", "find . -name x", "sed -n 1p f", "awk '{print}' f",
	} {
		if g, ok := granted.GrantForCall(bash(harmless)); ok {
			granted.Grants().Remember(g)
		}
	}
	if d := granted.DecideCall(bash("echo x && ls | cat")); !d.IsAllow() {
		t.Fatal("harmless commands are not granted: the test compares nothing")
	}
	effects := []string{
		"zzrun", "zz\\run", "'zzrun'", bin + "/zzru?", "$Z", "$(echo zzrun)", "`echo zzrun`", "env zzrun", "command zzrun", "nohup zzrun", "timeout 5 zzrun", "echo zzrun | xargs env", "echo x | xargs zzrun", "bash -c zzrun", "eval zzrun", "exec zzrun", "time zzrun", "A=1 zzrun",
		"find /dev/null -exec zzrun \\;", "awk 'BEGIN{system(\"zzrun\")}'", "sed '1e zzrun' " + bin + "/zzrun", "sort --compress-program=zzrun -S1 /dev/null; echo x | split --filter=zzrun", "trap zzrun EXIT", "source <(echo zzrun)", "echo() { zzrun; }; echo x", "alias ls=zzrun; shopt -s expand_aliases; eval ls", "PATH=" + bin + ":$PATH; hash -p " + bin + "/zzrun ls; ls",
		`: > "$MARK"`, `echo x >> "$MARK"`, `echo x >| "$MARK"`, `echo x &> "$MARK"`, `echo x &>> "$MARK"`, `echo x >& "$MARK"`, `cat <> "$MARK"`, `{ echo x; } > "$MARK"`, `exec 3> "$MARK"`, `printf x 1>"$MARK"`, `>"$MARK"`, `echo x 2>"$MARK"`, `echo x | tee "$MARK"`, `git status 2> "$MARK"`, `true {fd}> "$MARK"`, `coproc cat > "$MARK"`, `dd of="$MARK" </dev/null`, `cp /dev/null "$MARK"`, `touch "$MARK"`,
		`echo "${MARK:=x}" > "$MARK"`, `echo $(( x[$(zzrun)] ))`, `x='a[$(zzrun)]'; test -v "$x"`, `printf -v 'a[$(zzrun)]' x`, `echo ${x[$(zzrun)]}`, `let 'a[$(zzrun)]=1'`, `test 1 -eq 1 && zzrun`,
	}
	runs, hits, outer := 0, 0, t
	rapid.Check(t, func(t *rapid.T) {
		if runs > 3000 {
			return // processes are slow
		}
		line := rapid.SampledFrom(effects).Draw(t, "effect")
		for range rapid.IntRange(0, 2).Draw(t, "depth") {
			nest := rapid.SampledFrom(nests).Draw(t, "nest")
			line = strings.Replace(nest, "%s", line, 1)
			if strings.HasPrefix(nest, "while") {
				line = strings.Replace(line, "do ls", "do break", 1)
			}
		}
		runs++
		mark := filepath.Join(dir, "ran"+strconv.Itoa(runs))
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, shell, "-c", line)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "Z=zzrun", "MARK=" + mark}
		cmd.WaitDelay = time.Second
		_ = cmd.Run()
		if _, err := os.Stat(mark); err != nil {
			return
		}
		hits++
		if d := granted.DecideCall(bash(line)); d.IsAllow() {
			t.Fatalf("the grants for harmless commands let %q through", line)
		}
		// Nor does what would be offered for it cover more than it says.
		if g, ok := granted.GrantForCall(bash(line)); ok {
			fresh := newPolicy(outer, WorkspaceWrite)
			fresh.Grants().Remember(g)
			for _, more := range []string{line + " > f", "X=1 " + line, line + "; zzother", "env " + line, line + " $(zzother)"} {
				if d := fresh.DecideCall(bash(more)); d.IsAllow() && !strings.ContainsAny(line, "#\n") {
					t.Fatalf("the grant %q for %q lets %q through", g.Label, line, more)
				}
			}
		}
	})
	t.Logf("%d lines had an effect, of %d", hits, runs)
	if hits == 0 && !testing.Short() {
		t.Error("no line had an effect: the test compares nothing")
	}
}
