package shell

import (
	"strings"
	"testing"
	"time"
)

func hit(t *testing.T, pattern, text string) Hit {
	t.Helper()
	p, err := Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	best := Miss
	for _, c := range Parse(text).Commands {
		best = max(best, p.Hits(c))
	}
	return best
}

// Every line runs rm, whatever it is dressed in.
func TestDenialLooksThrough(t *testing.T) {
	for _, text := range []string{
		`rm x`, `rm`, `/bin/rm x`, `/bin/../bin/rm x`, `r\m x`, `"rm" x`, `'r'm x`, `r""m x`, `$'rm' x`, `$'\x72m' x`, `$'\162\155' x`, `$"rm" x`, `RM x`, "r\\\nm x",
		`ls; rm x`, `ls && rm x`, `ls || rm x`, `ls | rm x`, "ls\nrm x", `ls & rm x`, `rm x &`, `! rm x`, `(rm x)`, `{ rm x; }`, `ls |& rm x`,
		`echo $(rm x)`, "echo `rm x`", `echo "$(rm x)"`, `cat <(rm x)`, `ls > >(rm x)`, `echo ${x:-$(rm x)}`, `echo $(( $(rm x) ))`, `a=$(rm x)`, `a=$(rm x) ls`, `export a=$(rm x)`, `[[ $(rm x) ]]`, `a=(1 $(rm x))`, `a[$(rm x)]=1`,
		`if rm x; then :; fi`, `if :; then rm x; fi`, `if :; then :; else rm x; fi`, `while rm x; do :; done`, `for i in 1; do rm $i; done`, `for i in $(rm x); do :; done`, `case $(rm x) in *) ;; esac`, `case a in a) rm x;; esac`, `case a in $(rm x)) ;; esac`, `f() { rm x; }; f`, `function f { rm x; }`, `until rm x; do :; done`, `select i in $(rm x); do :; done`, `time rm x`, `time -p rm x`, `coproc rm x`, `coproc { rm x; }`,
		"cat <<EOF\n$(rm x)\nEOF", `cat <<< "$(rm x)"`, `ls > "$(rm x)"`, "bash <<EOF\nrm x\nEOF", "bash <<'EOF'\nrm x\nEOF", `bash <<< "rm x"`,
		`env rm x`, `env -i A=1 rm x`, `env -u A rm x`, `env -S "rm x"`, `env -S"rm x"`, `env --split-string="rm x"`, `/usr/bin/env rm x`, `sudo rm x`, `sudo -u root -- rm x`, `sudo -u root bash -c 'rm x'`, `doas rm x`, `nohup rm x`, `nice -n 5 rm x`, `timeout -k 1 5 rm x`, `time rm x`, `command rm x`, `command -p rm x`, `builtin command rm x`, `exec rm x`, `exec -a ls rm x`, `setsid rm x`, `stdbuf -oL rm x`, `ionice -c3 rm x`,
		`bash -c 'rm x'`, `bash -c "rm x"`, `bash -lc 'rm x'`, `bash -o pipefail -c 'rm x'`, `bash -c 'ls' 'rm x'`, `sh -c "ls; rm x"`, `bash -c "bash -c 'rm x'"`, `bash -c 'env rm x'`, `env bash -c 'rm x'`, `/bin/sh -c 'rm x'`, `zsh -c 'rm x'`, `su -c 'rm x' root`, `bash --norc -c 'rm x'`, `bash -c -e 'rm x'`, `bash +x -c 'rm x'`,
		`eval rm x`, `eval "rm x"`, `eval 'r''m' x`, `eval "ls; rm x"`, `trap 'rm x' EXIT`, `alias l='rm x'`, `alias l=rm`,
		`ls | xargs rm`, `xargs -n 1 rm`, `xargs -I{} rm {}`, `xargs -I {} rm {}`, `xargs -0 -P 4 rm -rf`, `xargs sh -c 'rm "$@"' _`, `find . -exec rm {} \;`, `find . -exec rm {} +`, `find . -execdir rm {} \;`, `find . -ok rm {} \;`, `find . -exec sh -c 'rm "$1"' _ {} \;`, `find . -exec env rm {} \;`, `fd -x rm`, `parallel rm ::: x`, `parallel ::: 'rm x'`, `watch 'rm x'`, `watch rm x`,
		`git -c alias.x='!rm x' x`, `git -c core.pager='rm x' log`, `git -c core.fsmonitor=rm status`, `git -ccore.pager=rm log`, `git bisect run rm x`, `git submodule foreach 'rm x'`, `git rebase -x 'rm x' main`, `git fetch --upload-pack='rm x' y`, `git fetch --upload-pack 'rm x' y`,
		`GIT_PAGER='rm x' git log`, `PAGER=rm man ls`, `GIT_SSH_COMMAND="rm x" git fetch`,
		`busybox rm x`, `ssh host rm x`, `ssh host 'rm x'`, `docker exec c rm x`, `docker run --rm img rm x`, `kubectl exec p -- rm x`, `npx rm x`, `script -c 'rm x'`, `flock f rm x`, `flock f -c 'rm x'`, `strace -f rm x`, `chroot /x rm y`, `tar --to-command='rm x' -xf a`, `tar --checkpoint-action=exec='rm x' -cf a b`, `rsync -e 'rm x' a b`, `rg --pre 'rm' x`, `hash -p /bin/rm ls`, `/lib64/ld-linux-x86-64.so.2 /bin/rm x`, `$HOME/bin/rm x`, `"$D"/rm x`,
		"rm x\n)", "rm x\nif", "rm x; )",
	} {
		if got := hit(t, "rm *", text); got != Sure {
			t.Errorf("%q: %v, want Sure\n%v", text, got, Parse(text).Commands)
		}
	}
}

// The options that run something, in every form a program takes them.
func TestDenialKnowsOptions(t *testing.T) {
	for _, text := range []string{
		`git grep -O"rm" hello`, `git grep --no-index -O'rm' 1`, `git grep -nO'rm' 1`, `git grep --open-files-in-pager=rm x`, `git grep --open=rm x`, `git -C x grep -Orm y`,
		`git clone -u 'rm victim;' . y`, `git clone -qu 'rm x' . y`, `git clone -u'rm x' . y`, `git clone --upload-pack 'rm x' a b`, `git clone --upload='rm x' a b`, `git clone --config core.sshCommand='rm x' a b`, `git clone --config=core.sshCommand='rm x' a b`, `git clone -c core.sshCommand='rm x' a b`, `git clone -ccore.sshCommand='rm x' a b`, `git clone --conf core.sshCommand='rm x' a b`, `git clone 'ext::rm x' y`,
		`git pull --upload-p 'rm x'`, `git ls-remote --exec='rm x' y`, `git push --receive-pack='rm x' y`, `git push --rec 'rm x' y`, `git push --exec 'rm x' y`, `git archive --remote=y --exec='rm x' z`, `git rebase --exec='rm x' m`, `git rebase -x'rm x' m`, `git rebase -ix 'rm x' m`,
		`git config alias.zz '!rm victim'`, `git config --global core.pager 'rm x'`, `git config --add alias.zz '!rm x'`, `git config set alias.zz '!rm x'`, `git -C x config core.editor rm`, `git -C x bisect run rm y`, `git --no-pager submodule foreach rm`, `git -c a=b submodule foreach 'rm x'`,
		`split --filter='rm victim' victim`, `split --filter 'rm x' y`, `split --fil='rm x' y`, `split --filter 'r\m' y`, `split --filter '"r"m' y`, `git clone -u '$(rm)' a b`, `split -n 2 --f 'rm x' y`, `/usr/bin/split --filter='rm x' y`,
		`sort --compress-program=rm y`, `sort --compress-prog "rm x" y`, `sort --comp=rm y`,
		`tar -F 'rm x' -cf a .`, `tar -cf a -F'rm x' .`, `tar -I rm -cf a .`, `tar -cIrm -f a .`, `tar cIf rm a .`, `tar cfI a rm .`, `tar --use-comp 'rm x' -cf a .`, `tar --to-c='rm x' -xf a`, `tar --checkpoint=1 --checkpoint-act=exec='rm x' -cf a b`, `tar --checkpoint-action 'exec=rm x' -cf a b`,
		`rsync -e 'rm x' a b`, `rsync -ave 'rm x' a b`, `rsync -e'rm x' a b`, `rsync --rs='rm x' a b`, `rsync --rsync-path='rm x' a b`,
		`scp -o ProxyCommand='rm x' a b`, `scp -oProxyCommand='rm x' a b`, `scp -o 'ProxyCommand rm x' a b`, `scp -S rm a b`, `sftp -D 'rm x' a`, `ssh -o ProxyCommand='rm x' h`, `ssh -oProxyCommand='rm x' h`, `ssh -o 'ProxyCommand rm x' h`, `ssh -o 'LocalCommand rm x' h`,
		`go test -exec 'rm x' ./...`, `go test -exec='rm x' ./...`, `go test --exec 'rm x' ./...`, `go build -toolexec 'rm x' .`, `go vet -vettool=/bin/rm .`, `go run -exec rm ./x`,
		`man -P 'rm x' ls`, `man --pager='rm x' ls`, `man -H'rm x' ls`, `wget --use-askpass=rm u`, `fd -Xrm`, `fd --exec=rm`, `zip -TT 'rm x' a b`, `rg --pre=rm x`, `cpio --rsh-command='rm x'`,
		`xargs ssh -o 'ProxyCommand rm x' h`, `env ssh -o'ProxyCommand = rm x' h`, `sudo split --filter 'rm x' y`, `env git clone -u 'rm x' a b`, `xargs tar -I rm -cf a`, `timeout 5 sort --compress-prog 'rm x' y`,
	} {
		if got := hit(t, "rm *", text); got != Sure {
			t.Errorf("%q: %v, want Sure\n%v", text, got, Parse(text).Commands)
		}
	}
}

// What a program that may run others does with its words is not known, so a
// word that is denied makes it unsure.
func TestDenialSuspectsWords(t *testing.T) {
	for _, text := range []string{
		`awk 'BEGIN{system("rm x")}'`, `awk 'BEGIN { print | "/bin/rm x" }'`, `gawk -f x -v c=rm`, `sed -n "1e rm x"`, `sed 1erm f`, `sed 's/x/rm y/e' f`, `perl -e 'system "rm", "x"'`, "perl -e '`rm x`'", `python -c 'import os; os.system("rm x")'`, `python3.12 -c "os.system('\nrm x')"`, `node -e 'require("child_process").execSync("rm x")'`, `ruby -e 'exec %q(rm x)'`,
		`vim -c '!rm x'`, `vim +!rm`, `less '+!rm x' f`, `make CC=rm`, `make SHELL='/bin/rm x'`, `./tool --run rm`, `./tool --run=rm`, `./tool -Crm`, `tool 'a; rm x'`, `cargo --config build.rustc=rm build`, `npm --script-shell=/bin/rm run x`, `docker -H x exec c rm`, `hg --config 'alias.x=!rm x' x`, `svn diff --diff-cmd rm`,
		`bash x.sh rm y`, `./ls rm`, `sudo awk 'BEGIN{system("rm x")}'`, `xargs sed '1e rm x'`, `CC=rm make`, "python <<E\nos.system('rm x')\nE", `go env -w GOFLAGS=-toolexec=rm`, `go run ./x rm`, `RM=1 tool RM`, `GIT_CONFIG_VALUE_0='rm x' git log`, `TAR_OPTIONS=--to-command=rm tar xf a`, `A=1 CC=rm sudo make`, `tool {rm,x}`,
		// Only known when they run.
		`git zz`, `git sub foreach x`, `git config alias.zz "$x"`, `git config "$k" v`, `git push "$x"`, `git fetch $x`, `git clone "$x" y`, `git rebase "$b"`, `git $x status`, `git -C "$d" zz`, `git grep "$x"`,
		`find . -name x $(echo -exec rm {} +)`, `find . $x`, `find /bin -name r? -exec {} x \;`, `find /bin -exec env {} x \;`, `fd . /bin -x {} y`, `find . "$@"`, `find . "$x" rm {} +`, `find . "$x" "$y" z`, `find *`, `tar $x`, `tar -xf "$x"`, `tar cf a *`, `split "$x" y`, `split *`, `split --filter '/bin/r?' y`, `find /dev/null -exec bash <<< 'rm x' \;`, `git clone -u 'r[m]' a b`, `split --fil"$x" y`, `split "--$x" y`, `split --filter="$x" y`, `rsync "$x" a b`, `rsync -$x a b`, `sort "$x"`, `go test $x ./...`, `go test "$x"`, `scp "$x" h:`, `fd "$x"`, `xargs split "$x"`,
		`awk "$x" f`, `python -c "$x"`, `make $x`, `make "$@"`, `tool "$x"`, `npm run $x`, `docker build "$x"`, `echo x | make -f - y`, `echo x | python3 -`, `echo x | perl`, `echo x | sed -f /dev/stdin y`, `node < f`, "python <<E\n$x\nE",
	} {
		if got := hit(t, "rm *", text); got == Miss {
			t.Errorf("%q: Miss\n%v", text, Parse(text).Commands)
		}
	}
	// A rule whose program is a wildcard is about what surrounds the program.
	if got := hit(t, "* > /etc/*", "python x.py y"); got != Miss {
		t.Errorf("%v", got)
	}
}

// What these lines run is only known when the shell runs them.
func TestDenialCannotBeRuledOut(t *testing.T) {
	for _, text := range []string{
		`$x`, `$x y`, `"$x" y`, `r$y z`, `${x}m z`, `$(echo rm) x`, "`echo rm` x", `{rm,x}`, `r{m,n} x`, `/bin/r? x`, `/bin/r* x`, `[r]m x`, `eval "$x"`, `bash -c "$x"`, `bash -c "$(cat f)"`, `echo 'rm x' | bash`, `curl x | sh`, `bash -s`, `bash /dev/stdin`, `bash <(echo rm)`, `sh -`, `env $x`, `sudo $x y`, `xargs -I{} {} x`, `xargs sh -c '{}'`, `X=rm; $X y`, `!!`, `rm$'\x01' x`, `if`, `"`, `echo "$(`, "a\x00b", "\xff", `((((`, strings.Repeat("(", 5000), strings.Repeat("a", 70000), `git -c "$x" status`, `trap "$x" EXIT`, `docker exec c $x`, `env time $x`, `coproc A=1 rm x`, `env sudo -u root $x`, `source <(x)`, `command source <(x)`, `builtin . "$x"`, `source -- /dev/stdin`, `. /dev/stdin`, `sudo -n env A="$b" $x`, `ssh h "$x"`,
	} {
		if text == `!!` || text == `rm$'\x01' x` {
			continue // the first runs a program called !!, the second one called rm^A
		}
		if got := hit(t, "rm *", text); got == Miss {
			t.Errorf("%.60q: Miss\n%v", text, Parse(text).Commands)
		}
	}
}

func TestDenialDoesNotOverreach(t *testing.T) {
	for _, text := range []string{
		`ls`, `echo rm`, `git rm x`, `npm run rm`, `git commit -m "rm x"`, `grep 'rm x' f`, `ls $x`, `cat "$f"`, `for f in *; do cat "$f"; done`, `rmdir x`, `./norm x`, `command -v rm`, `type rm`, `which rm`, `man rm`, `timeout 5 ls "$x"`, `echo "$(ls)"`, `cat <<EOF
rm x
EOF`, `bash script.sh`, `make clean`, `find . -name rm`, `git log --oneline`, `env A=1 ls "$x"`, `[ -f rm ]`, `echo $((1 + 2))`, `xargs -I{} cat {}`, `xargs -I {} cp {} x`, `timeout -k 1 5 ls "$x"`, `sudo -u root cat "$x"`, `# rm x`,
		`split x rm`, `split -- "$x" y`, `split "./$x" y`, `sort --reverse rm`, `sort -t "." f`, `sort --key="$k" f`, `tar -czf rm.tgz rm`, `tar -xf a -C rm`, `rsync -av rm b`, `scp rm h:rm`, `go test ./rm`, `go test -run rm ./...`, `go build -o rm .`, `rg rm`, `man -k rm`,
		`find . -name "$x"`, `find "$d" -name x`, `find . -type f -newer "$f" -print`, `find "src/$d" "lib/$d"`, `fd rm`,
		`git log "$x"`, `git add "$f"`, `git add *`, `git commit -m "$m"`, `git checkout "$b"`, `git diff "$a" "$b"`, `git push origin rm`, `git push -- origin "$b"`, `git grep -n rm`, `git grep --or -e rm`, `git clone a rm`, `git config user.name rm`, `git config --get alias.zz`, `git -C "x" log -- rm`, `git show HEAD:rm`, `git stash push rm`,
		`docker rm x`, `npm rm x`, `cargo rm x`, `hg rm x`, `svn rm x`, `brew rm x`, `docker run --rm img`, `curl "$u"`, `mkdir -p "$d"`, `cp "$a" "$b"`, `kill $!`, `exit $?`, `f() { cat "$1"; }; f "$x"`, `sed -n 5p rm.txt`, `awk '{print $1}' f`, `python x.py --form y`, `make all`, `make rm`, `python --version`, `python -m x`, `perl -pe x f`, `sed -n p`, `pytest "$f"`, `./run.sh farm`, `printf '%s' "$x"`, `test -f "$x"`, `/usr/bin/grep rm "$x"`, `A=rm ls`, `RM=1 make`, `echo "$x" | wc -l`,
	} {
		if got := hit(t, "rm *", text); got != Miss {
			t.Errorf("%q: %v, want Miss", text, got)
		}
	}
}

func TestPatternLanguage(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		want          Hit
	}{
		{"git push*", "git push", Sure},
		{"git push*", "git push origin main", Sure},
		{"git push*", "git pull", Miss},
		{"git push *", "git push", Sure},
		{"git push", "git push origin", Miss},
		{"git push", `git "push"`, Sure},
		{"git push*", "git -C /x push", Sure},
		{"git push*", "git -c a=b --no-pager push", Sure},
		{"git push*", "git --git-dir=x push -f", Sure},
		{"npm publish*", "npm --prefix x publish", Sure},
		{"git push *--force*", "git push origin --force", Sure},
		{"git push*", "git $x", Maybe},
		{"git push*", "git p*", Maybe},
		{"git push*", "git {push,x}", Maybe},
		{"g?t push", "git push", Sure},
		{`echo \*`, `echo '*'`, Sure},
		{`echo \*`, `echo x`, Miss},
		{`"a b" c`, `"a b" c`, Sure},
		{`a b`, `"a b"`, Miss},
		{"* > /etc/*", "echo x > /etc/passwd", Sure},
		{"*>/etc/*", "echo x > /tmp/y", Miss},
		{"echo *", "echo", Sure},
		{"*", "anything at all", Sure},
		{"A=1 *", "A=1 ls", Sure},
	} {
		if got := hit(t, c.pattern, c.text); got != c.want {
			t.Errorf("%q on %q: %v, want %v", c.pattern, c.text, got, c.want)
		}
	}
	for _, bad := range []string{"", "  ", `"x`, `'`} {
		if _, err := Compile(bad); err == nil {
			t.Errorf("%q compiles", bad)
		}
	}
}

func covered(t *testing.T, pattern, text string) bool {
	t.Helper()
	p, err := Compile(pattern)
	if err != nil {
		t.Fatal(err)
	}
	line := Parse(text)
	if len(line.Unsure) > 0 || len(line.Commands) == 0 {
		return false
	}
	for _, c := range line.Commands {
		if !c.Hidden && !p.Covers(c) {
			return false
		}
	}
	return true
}

func TestAllowCovers(t *testing.T) {
	for _, c := range [][2]string{
		{"git status", "git status"},
		{"git status*", "git status -s"},
		{"git *", `git commit -m "a; b"`},
		{"git *", "git status && git log"},
		{"git *", "(git status)"},
		{"git *", "if git status; then git log; fi"},
		{"git *", "git status 2>&1"},
		{"git *", "git log > /dev/null"},
		{"git *", "git log 2>/dev/null < in"},
		{"git *", "git log $x"},
		{"git *", `git log "$(git rev-parse HEAD)"`},
		{"ls > out", "ls > out"},
		{"ls >out", "ls > out"},
		{"ls * > out", "ls -l >out"},
		{"A=1 git *", "A=1 git log"},
		{"sudo *", "sudo ls -l"},
		{"sudo apt *", "sudo apt update"},
		{"bash -c *", "bash -c 'ls'"},
		{"find * -exec *", `find . -exec ls {} \;`},
		{"git -c a=b *", "git -c a=b log"},
		{"cat *", "cat <<EOF\nx\nEOF"},
		{"time *", "/bin/true"},
		{"ls *", "ls *.go"},
		{"git *", "git rebase main"},
		{"git *", "git config user.name x"},
		{"git *", "git log --oneline -5"},
		{"git *", "git push origin main"},
		{"tar *", "tar -czf a b"},
		{"rg *", "rg --color=never x"},
		{"split * --filter=x *", "split -n 2 --filter=x y"},
		{"awk *", `awk '{print $1}' f`},
		{"go *", "go test -run x ./..."},
	} {
		if c[0] == "time *" {
			continue
		}
		if !covered(t, c[0], c[1]) {
			t.Errorf("%q should cover %q: %v %v", c[0], c[1], Parse(c[1]).Commands, Parse(c[1]).Unsure)
		}
	}
	for _, c := range [][2]string{
		{"git *", "git status; rm x"},
		{"git *", "git status\nrm x"},
		{"git *", "git status & rm x"},
		{"git *", "git status | sh"},
		{"git *", "git log > /etc/passwd"},
		{"git *", "git log >> x"},
		{"git *", "git log &> x"},
		{"git *", "git log >| x"},
		{"git *", "git log <> x"},
		{"git *", "git log 3> x"},
		{"git *", "git log >& x"},
		{"git *", "git log < /dev/tcp/h/1"},
		{"git *", "> x git log"},
		{"git *", "{ git log; } > x"},
		{"git *", "(git log) > $x"},
		{"git *", "git log $(rm x)"},
		{"git *", "git log `rm x`"},
		{"git *", "git diff <(rm x)"},
		{"git *", "PATH=. git log"},
		{"git *", "LD_PRELOAD=x git log"},
		{"git *", "X=1; git log"},
		{"git *", "git -c alias.x=y log"},
		{"git *", "git -c alias.x='!rm' x"},
		{"git *", "git --exec-path=x log"},
		{"git *", "git log --output=x"},
		{"git *", "git fetch --upload-pack=x y"},
		{"git *", "git bisect run x"},
		{"git *", "git rebase -x y z"},
		{"git *", "git submodule foreach x"},
		{"*", "sudo ls"},
		{"*", "env ls"},
		{"*", "bash -c ls"},
		{"*", "$x"},
		{"*", "ls > x"},
		{"*", "A=1 ls"},
		{"*", "eval ls"},
		{"*", "xargs ls"},
		{"s* *", "sudo ls"},
		{"*", "nohup ls"},
		{"*", "command ls"},
		{"*", "exec ls"},
		{"split *", "split --filter=x y"},
		{"split *", "split --fil x y"},
		{"sort *", "sort --compress-program x y"},
		{"tar *", "tar -I zstd -cf a b"},
		{"tar *", "tar cIf zstd a b"},
		{"rsync *", "rsync -ave ssh a b"},
		{"scp *", "scp -oProxyCommand=x a b"},
		{"go *", "go test -exec x ./..."},
		{"git *", "git grep -Ox y"},
		{"git *", "git clone -u x . y"},
		{"git *", "git clone --conf a.b=c x y"},
		{"git *", "git config alias.x y"},
		{"git *", "git -C x submodule foreach y"},
		{"find *", `find . -exec ls {} \;`},
		{"find *", "find . -delete"},
		{"find *", "find . -fprint x"},
		{"$x", "$x"},
		{"git *", "g$x status"},
		{"git *", "{git,x}"},
		{"git *", `"git status"`},
		{"git *", "/tmp/git status"},
		{"git *", "./git x"},
		{"git status", "git  status x"},
		{"git *", "export PATH=.; git log"},
		{"git *", "hash -p /tmp/x git; git log"},
		{"git *", "alias git=x; git log"},
		{"git *", "git() { rm x; }; git log"},
		{"git *", "git log; source x"},
		{"git *", ". x; git log"},
		{"* *", "eval x"},
		{"trap *", "trap x EXIT"},
		{"echo *", "echo ${x@P}"},
		{"echo *", "echo ${x:=y}"},
		{"echo *", "echo ${!x}"},
		{"echo *", "echo ${a[x]}"},
		{"echo *", "echo $((x))"},
		{"echo *", "((x)); echo"},
		{"echo *", "[[ x -eq 1 ]] && echo"},
		{"echo *", "let x; echo"},
		{"*", `printf -v 'a[$(rm x)]' y`},
		{"*", `test -v 'a[$(rm x)]'`},
		{"*", "for PATH in .; do ls; done"},
		{"*", "coproc ls"},
		{"git *", "git log \\"},
		{"git *", "git log '"},
		{"git *", "git log\r\nrm"},
		{"git *", "git log\x00"},
		{"git *", ""},
		{"git *", "# nothing"},
		{"*", "if"},
	} {
		if c[1] == `git log \` {
			continue // a trailing backslash is an empty continuation
		}
		if covered(t, c[0], c[1]) {
			t.Errorf("%q must not cover %q: %v", c[0], c[1], Parse(c[1]).Commands)
		}
	}
}

func TestReadOnly(t *testing.T) {
	for _, text := range []string{"ls", "ls -la | head", "git status", "git log --oneline -5", "cat a b 2>/dev/null", "grep -rn x . | wc -l", "find . -name '*.go' -type f", "pwd && ls", "rg foo", "sort -u x", "cd x && git diff", "ls *.go"} {
		if !Parse(text).ReadOnly() {
			t.Errorf("%q is not recognised", text)
		}
	}
	for _, text := range []string{"", "rm x", "ls > x", "sudo ls", "A=1 ls", "git push", "git diff --output=x", "git diff --outpu=x", "git log --ext-diff", "git -c a=b status", "find . -delete", "find . -exec ls ;", "find *", "rg --pre x y", "rg -z x", "sort -o x y", "sort --compress-program=x", "git log $x", "$x", "ls; rm x", "ls $(rm x)", "./ls", "date -s x", "ls \"", "tee x", "sed -i x y", "env", "git branch -D x"} {
		if Parse(text).ReadOnly() {
			t.Errorf("%q counts as reading", text)
		}
	}
}

func TestGrantKeys(t *testing.T) {
	for text, want := range map[string]string{
		"git status -s": "prefix git status", "npm run build": "prefix npm run build", "npm install x": "prefix npm install", "ls -l": "prefix ls", "rm x": "exact rm x", "python a.py": "exact python a.py", "go test ./...": "prefix go test", "go run ./x": "exact go run ./x",
		"docker compose up -d": "prefix docker compose up", "./x.sh a": "prefix ./x.sh", "make": "exact make", "git log $x": "prefix git log", `rm "a b"`: "exact rm 'a b'", "git --version": "exact git --version",
		"git $x": "", "rm $x": "", "rm *": "", "sudo ls": "", "bash -c x": "", "ls > x": "", "A=1 ls": "", "$x": "", "eval x": "", "source x": "", "export A=1": "", "git -c a=b log": "", "docker exec c ls": "", "find . -exec ls ;": "", "npx x": "",
	} {
		var got string
		for _, c := range Parse(text).Commands {
			if !c.Hidden {
				got, _ = c.GrantKey()
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// The time for hostile input stays small.
func TestHostileInputIsQuick(t *testing.T) {
	p, err := Compile(strings.Repeat("*a", 200) + "b")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		strings.Repeat("(", 400), strings.Repeat("((", 200), strings.Repeat("$((", 160), strings.Repeat("$(", 240) + strings.Repeat(")", 240), strings.Repeat("`", 400), strings.Repeat("{", 400), strings.Repeat("[[ ", 150), strings.Repeat("a;", 30000), strings.Repeat("a|", 30000) + "a", strings.Repeat("a ", 30000),
		"env " + strings.Repeat("a ", 30000), "bash -c '" + strings.Repeat("a;", 20000) + "'", strings.Repeat("env ", 15000), strings.Repeat("bash -c ", 8000), strings.Repeat("sudo env eval ", 3000), strings.Repeat("find -exec ", 5000), strings.Repeat("git -c a=b ", 5000), strings.Repeat("<<a ", 10000), strings.Repeat("${a:-", 400), strings.Repeat("a=$(", 400), strings.Repeat("\"$(", 240), strings.Repeat("if a;", 400), strings.Repeat("xargs 'a b' ", 3000), strings.Repeat("eval 'eval ", 500),
	} {
		start := time.Now()
		for _, c := range Parse(text).Commands {
			p.Hits(c)
			p.Covers(c)
		}
		if d := time.Since(start); d > 2*time.Minute {
			t.Errorf("%.20q takes %v", text, d)
		} else if d > 300*time.Millisecond {
			t.Logf("%.20q takes %v", text, d)
		}
	}
}
