package shell

import (
	"slices"
	"strings"
	"sync"
)

// runner is a program whose options name commands to run. With its options
// known, its other arguments need not be suspected.
type runner struct {
	names  []string
	short  string   // letters whose value is a command, joined or as the next word
	joined string   // letters whose value is a command when it is joined
	long   []string // names whose value is a command, behind = or as the next word; a name that ends in = has it behind = only
	rest   []string // options behind which a command follows word by word
	writes []string // options that write or delete: an allow rule spells them out
	values []string // options that take the next word, whatever it is
	single bool     // long options have one dash as well
	bundle bool     // the first word may be letters without a dash, as in tar xf
}

var findValues = strings.Fields("-name -iname -path -ipath -wholename -iwholename -regex -iregex -lname -ilname -type -xtype -maxdepth -mindepth -size -newer -anewer -cnewer -mtime -mmin -atime -amin -ctime -cmin -user -group -uid -gid -perm -links -inum -samefile -printf -fstype -used -context")

// runners are the programs that are understood this far.
var runners = sync.OnceValue(func() []runner {
	return []runner{
		{
			names: []string{"find", "bfs", "gfind"}, rest: strings.Fields("-exec -execdir -ok -okdir"),
			writes: strings.Fields("-delete -fprint -fprint0 -fprintf -fls"), values: findValues,
		},
		{names: []string{"fd", "fdfind"}, short: "xX", long: strings.Fields("exec exec-batch")},
		{names: []string{"split", "gsplit"}, long: strings.Fields("filter")},
		{names: []string{"sort", "gsort"}, long: strings.Fields("compress-program")},
		{
			names: []string{"tar", "gtar", "bsdtar"}, short: "IF", bundle: true,
			long: strings.Fields("use-compress-program to-command checkpoint-action info-script new-volume-script rsh-command rmt-command"),
		},
		{names: []string{"rsync"}, short: "eM", long: strings.Fields("rsh rsync-path remote-option")},
		{names: []string{"scp", "sftp"}, short: "SoD"},
		{names: []string{"rg"}, long: strings.Fields("pre hostname-bin")},
		{names: []string{"zip"}, short: "T", long: strings.Fields("unzip-command")},
		{names: []string{"man"}, short: "PH", long: strings.Fields("pager html")},
		{names: []string{"cpio"}, long: strings.Fields("rsh-command rmt-command")},
		{names: []string{"wget"}, short: "e", long: strings.Fields("execute use-askpass")},
		{names: []string{"go"}, long: strings.Fields("exec toolexec vettool"), single: true},
	}
})

func runnerOf(name string) *runner {
	list := runners()
	for i := range list {
		if slices.Contains(list[i].names, name) {
			return &list[i]
		}
	}
	return nil
}

// names says whether an option may be one of the list: GNU programs take any
// abbreviation.
func abbreviates(option string, list []string) (found, needsEqual bool) {
	for _, name := range list {
		bare := strings.TrimSuffix(name, "=")
		if option != "" && strings.HasPrefix(bare, option) {
			return true, bare != name
		}
	}
	return false, false
}

// options finds the commands among the options of a runner, from a word on.
func (p *parsing) options(c *Command, from int, r *runner, depth int) {
	suspected := false
	suspect := func() {
		if !suspected {
			suspected = true
			p.possible(c.words[0].String() + " takes an option that is only known when it runs")
		}
	}
	dashed := func(at int) bool {
		return at > 0 && len(c.words[at].symbols) > 0 && c.words[at].symbols[0].char == '-'
	}
	for at := from; at < len(c.words) && !p.full; at++ {
		w := c.words[at]
		text, static := w.static()
		if !static {
			switch {
			case len(r.rest) > 0 && !w.splits && !(w.globbed && mayBeOption(w)):
				// One word of find: it may be -exec, and then the next one is the program.
				before := ""
				if at > from {
					before, _ = c.words[at-1].static()
				}
				if mayBeOption(w) && !slices.Contains(r.values, before) {
					p.optionCommand(untilEnd(c.words[at+1:]), depth)
				}
			case r.mayRun(w):
				suspect()
			}
			continue
		}
		if text == "--" && len(r.rest) == 0 && (at == from || !dashed(at-1)) {
			return // operands follow
		}
		next := c.words[at+1:]
		switch {
		case slices.Contains(r.rest, text):
			c.spelled = append(c.spelled, at)
			p.optionCommand(untilEnd(next), depth)
		case slices.Contains(r.writes, text):
			c.spelled = append(c.spelled, at)
		case strings.HasPrefix(text, "--") || r.single && strings.HasPrefix(text, "-"):
			option, value, given := strings.Cut(strings.TrimLeft(text, "-"), "=")
			found, needsEqual := abbreviates(option, r.long)
			switch {
			case found && given:
				c.spelled = append(c.spelled, at)
				p.optionText(value, depth)
			case found && !needsEqual:
				c.spelled = append(c.spelled, at, at+1)
				p.optionCommand(next, depth)
			case found:
				c.spelled = append(c.spelled, at)
			case given && len(r.rest) == 0:
				p.mention([]string{value})
			}
		case strings.HasPrefix(text, "-"), r.bundle && at == from:
			bundled := text[0] != '-'
			for i, letter := range strings.TrimPrefix(text, "-") {
				if !strings.ContainsRune(r.short+r.joined, letter) {
					continue
				}
				c.spelled = append(c.spelled, at)
				value := strings.TrimPrefix(text, "-")[i+len(string(letter)):]
				switch {
				case bundled:
					for j := range next[:min(len(next), len(text))] {
						p.optionCommand(next[j:], depth)
					}
				case value != "":
					p.optionText(value, depth)
					if letter == 'T' { // zip -TT COMMAND
						p.optionCommand(next, depth)
					}
				case !strings.ContainsRune(r.joined, letter):
					c.spelled = append(c.spelled, at+1)
					p.optionCommand(next, depth)
				}
			}
		}
	}
}

// untilEnd cuts what find takes for the end of a command, so that a program
// without words of its own is seen as that: a shell, say, that reads its commands
// from standard input.
func untilEnd(words []word) []word {
	for i, w := range words {
		text, static := w.static()
		if !static {
			continue
		}
		before := ""
		if i > 0 {
			before, _ = words[i-1].static()
		}
		if i > 0 && (text == ";" || text == "+" && before == "{}") {
			return words[:i]
		}
	}
	return words
}

// mayBeOption says whether a word that is only known at run time may begin with
// a dash.
func mayBeOption(w word) bool {
	return len(w.symbols) == 0 || w.symbols[0].char == '-' || w.symbols[0].char == anything || w.symbols[0].glob
}

// mayRun says whether a word that is only known at run time may become one of
// the options that run a command.
func (r *runner) mayRun(w word) bool {
	if w.splits {
		return true
	}
	if !mayBeOption(w) {
		return false
	}
	var prefix strings.Builder
	for _, s := range w.symbols {
		if s.char == anything || s.glob {
			break
		}
		prefix.WriteRune(s.char)
	}
	option, long := strings.CutPrefix(prefix.String(), "--")
	if !long || option == "" {
		return true
	}
	name, _, _ := strings.Cut(option, "=")
	found, _ := abbreviates(name, r.long)
	return found
}

// optionText reads the value of an option as a command. Some programs want a
// word or a key before it.
func (p *parsing) optionText(value string, depth int) {
	if value == "" {
		return
	}
	value = strings.TrimPrefix(strings.TrimPrefix(value, "exec="), "!")
	p.text(value, depth+1, true)
	if _, after, ok := strings.Cut(value, "="); ok && after != "" {
		p.text(strings.TrimPrefix(after, "!"), depth+1, true)
	}
	p.keyword(value, depth)
}

// keyword reads a setting of ssh, such as "ProxyCommand nc h 22".
func (p *parsing) keyword(text string, depth int) {
	if before, after, ok := strings.Cut(text, " "); ok && strings.HasSuffix(strings.ToLower(before), "command") {
		p.text(strings.TrimPrefix(strings.TrimSpace(after), "="), depth+1, true)
	}
}
