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

// TestAgainstBash builds command lines from harmless pieces, lets bash run
// them, and compares: whenever bash really ran the refused program, the policy
// had not allowed the line.
func TestAgainstBash(t *testing.T) {
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	// Not t.TempDir: what a line left in the background may write while the
	// folder is being removed.
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
	script := "#!/bin/sh\n: > \"$MARK\"\n"
	if err := os.WriteFile(filepath.Join(bin, "zzdeny"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	free := newPolicy(t, WorkspaceWrite, "deny bash: zzdeny *", "allow bash")
	spellings := []string{
		"zzdeny", `zz\deny`, `"zzdeny"`, `'zz'deny`, `zz""deny`, `$'zz\x64eny'`, `$'\172zdeny'`, bin + "/zzdeny", bin + "/../bin/zzdeny", "$Z", "${Z}", `"$Z"`, "zz${E}deny", "${E:-zzdeny}", "$(echo zzdeny)", "`echo zzdeny`", "{zzdeny,x}", bin + "/zzden?", bin + "/zz*", bin + "/[z]zdeny", "z${Z:1}", `$"zzdeny"`, "zz$(:)deny", "zz\\\ndeny", `$'zz\u0064eny'`,
	}
	nests := append(append([]string{}, nests...),
		"eval %q", "bash -c %q", "env %s", "command %s", "exec %s", "A=1 %s", "env A=1 %s", "echo x | xargs %s", "xargs %s </dev/null", "env -S %q", "bash <<< %q", "echo %q | bash", "bash -c 'eval \"$1\"' _ %q", "trap %q EXIT", "find /dev/null -exec %s \\;", "Q=%q; $Q", "Q=%q; eval \"$Q\"", "alias q=%q; q", "f() { \"$@\"; }; f %s", "set -- %s; \"$@\"", "source <(echo %q)", "arr=(%s); \"${arr[@]}\"", "echo x > /dev/null; %s", "nohup %s", "timeout 5 %s", "[[ 1 == $(%s) ]]", "echo $(( $(%s; echo 1) ))", "bash -ec %q", "printf %q | sh", "cat <<E | sh\n%s\nE", "case x in $(%s)) ;; esac", "coproc %s", "until %s; do break; done",
		"echo x | split --fil=%q", "echo x | split --filter %q", "git ls-remote --upload-p=%q .", "git -c alias.q='!'%q q", "tar -cf /dev/null --checkpoint=1 --checkpoint-act=exec=%q /bin/bash", "scp -o ProxyCommand=%q a:x b", "ssh -o 'ProxyCommand '%q h", "find /dev/null $(echo -exec %s {} +)", "find /dev/null -ok %s \\;", "git config --file f alias.zz '!'%q; GIT_CONFIG_GLOBAL=f git zz", "printf 'x:;%%s' %q | make -f - x")
	runs, hits := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		if runs > 5000 {
			return // processes are slow; the policy alone is tested elsewhere
		}
		line := rapid.SampledFrom(spellings).Draw(t, "spelling")
		for range rapid.IntRange(0, 3).Draw(t, "depth") {
			nest := rapid.SampledFrom(nests).Draw(t, "nest")
			if strings.Contains(nest, "%q") {
				line = strings.Replace(nest, "%q", quoteShell(line), 1)
			} else {
				line = strings.Replace(nest, "%s", line, 1)
			}
			if strings.HasPrefix(nest, "while") {
				line = strings.Replace(line, "do ls", "do break", 1)
			}
		}
		runs++
		// A mark of its own: what an earlier line left in the background may
		// still be writing.
		mark := filepath.Join(dir, "ran"+strconv.Itoa(runs))
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		defer cancel()
		cmd := exec.CommandContext(ctx, shell, "-c", line)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + bin + ":/usr/bin:/bin", "Z=zzdeny", "E=", "MARK=" + mark}
		cmd.WaitDelay = time.Second
		_ = cmd.Run()
		if _, err := os.Stat(mark); err != nil {
			return
		}
		hits++
		if d := free.DecideCall(bash(line)); d.IsAllow() {
			t.Fatalf("bash ran the refused program in %q, which was allowed", line)
		}
	})
	t.Logf("%d lines ran the refused program, of %d", hits, runs)
	if hits == 0 && !testing.Short() {
		t.Error("no line ran the refused program: the test compares nothing")
	}
}
