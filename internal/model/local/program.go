package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// actionKind says what an action does.
type actionKind int

const (
	doThink actionKind = iota
	doSay
	doSlow
	doCall
	doFail
)

// action is one thing the model does in a step.
type action struct {
	kind actionKind
	// text is what to think, say or fail with.
	text string
	// duration is how long doSlow takes.
	duration time.Duration
	// id, name and arguments are doCall's; arguments is raw text.
	id, name, arguments string
}

// step is one answer: what happens until the results of its calls are in.
type step []action

func sayStep(text string) step { return step{{kind: doSay, text: strings.TrimSpace(text)}} }

// calls reports whether the step calls that tool, or any when name is empty.
func (s step) calls(name string) bool {
	for _, a := range s {
		if a.kind == doCall && (name == "" || a.name == name) {
			return true
		}
	}
	return false
}

// withIDs returns the step with an id on each call.
func (s step) withIDs(answer int) step {
	out := make(step, len(s))
	calls := 0
	for i, a := range s {
		if a.kind == doCall {
			calls++
			a.id = callID(answer, calls)
		}
		out[i] = a
	}
	return out
}

// fault is a line of a prompt that cannot be obeyed.
type fault struct {
	line int // 1-based
	text string
}

// parse reads a prompt as a program: steps, none when the prompt holds no
// command. Text that is no command is passed over, so a block can be sent with
// words around it.
func parse(prompt string) ([]step, []fault) {
	p := &parser{rest: strings.ReplaceAll(prompt, "\r\n", "\n"), line: 1, steps: []step{nil}}
	for p.rest != "" {
		p.next()
	}
	if last := len(p.steps) - 1; len(p.steps[last]) == 0 {
		p.steps = p.steps[:last]
	}
	return p.steps, p.faults
}

type parser struct {
	rest   string
	line   int
	steps  []step
	faults []fault
}

// takeLine cuts the next line off.
func (p *parser) takeLine() string {
	line, rest, _ := strings.Cut(p.rest, "\n")
	p.rest = rest
	p.line++
	return line
}

func (p *parser) add(a action) {
	last := len(p.steps) - 1
	p.steps[last] = append(p.steps[last], a)
}

func (p *parser) fault(line int, format string, args ...any) {
	p.faults = append(p.faults, fault{line, fmt.Sprintf(format, args...)})
}

func (p *parser) next() {
	at := p.line
	line := strings.TrimLeft(p.takeLine(), " \t")
	if ticks := len(line) - len(strings.TrimLeft(line, "`")); ticks >= 3 {
		p.fence(at, line[:ticks], strings.TrimSpace(line[ticks:]))
		return
	}
	if !strings.HasPrefix(line, "/") {
		return
	}
	name, text, _ := strings.Cut(line[1:], " ")
	text = strings.TrimSpace(text)
	switch strings.TrimSpace(name) {
	case "tool":
		p.tool(at, text)
	case "think", "say":
		if text == "" {
			p.fault(at, "/%s needs a text", name)
			return
		}
		kind := doSay
		if name == "think" {
			kind = doThink
		}
		p.add(action{kind: kind, text: text})
	case "slow":
		p.slow(at, text)
	case "fail":
		if text == "" {
			text = "the local model was told to fail"
		}
		p.add(action{kind: doFail, text: text})
	case "help":
		p.add(action{kind: doSay, text: strings.TrimSpace(helpText)})
	case "then":
		// Only calls bring the loop back for another answer.
		if p.steps[len(p.steps)-1].calls("") {
			p.steps = append(p.steps, nil)
		}
	}
}

// fence reads a block up to its closing fence, or to the end of the prompt.
func (p *parser) fence(at int, ticks, info string) {
	var body []string
	for p.rest != "" {
		line := p.takeLine()
		if t := strings.TrimSpace(line); strings.HasPrefix(t, ticks) && strings.Trim(t, "`") == "" {
			break
		}
		body = append(body, line)
	}
	language, _, _ := strings.Cut(info, " ")
	switch strings.ToLower(language) {
	case "ts", "typescript", "js", "javascript":
	default:
		return
	}
	code := strings.Join(body, "\n")
	if strings.TrimSpace(code) == "" {
		p.fault(at, "the %s block is empty", language)
		return
	}
	args := jsonvalue.Object(jsonvalue.Member{Key: "code", Value: jsonvalue.String(code)})
	p.add(action{kind: doCall, name: codeTool, arguments: args.String()})
}

// tool reads a tool's name and its arguments, which may go on over the lines
// that follow.
func (p *parser) tool(at int, text string) {
	name, args, _ := strings.Cut(text, " ")
	if i := strings.IndexByte(name, '{'); i > 0 { // NAME{…}
		name, args = text[:i], text[i:]
	}
	args = strings.TrimSpace(args)
	if name == "" || strings.HasPrefix(name, "{") {
		p.fault(at, "/tool needs the name of a tool, then its arguments: /tool read {\"file_path\": \"go.mod\"}")
		return
	}
	if args == "" && !strings.HasPrefix(strings.TrimLeft(p.rest, " \t\n"), "{") {
		p.add(action{kind: doCall, name: name, arguments: "{}"})
		return
	}
	source := args
	if p.rest != "" {
		source += "\n" + p.rest
	}
	raw, used, err := leadingJSON(source)
	if err != nil {
		p.fault(at, "the arguments of %s are not JSON: %v", name, err)
		return
	}
	// Give back what follows the arguments, from the next line on.
	tail, rest, _ := strings.Cut(source[used:], "\n")
	if strings.TrimSpace(tail) != "" {
		p.fault(at, "there is more after the arguments of %s: %s", name, strings.TrimSpace(tail))
	}
	p.line = at + 1 + strings.Count(source[:used], "\n")
	p.rest = rest
	p.add(action{kind: doCall, name: name, arguments: raw})
}

// leadingJSON returns the JSON value at the start of s, as it is written, and
// how many bytes it takes with the white space before it.
func leadingJSON(s string) (raw string, used int, err error) {
	d := json.NewDecoder(strings.NewReader(s))
	var m json.RawMessage
	switch err := d.Decode(&m); {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return "", 0, errors.New("they end too early")
	case err != nil:
		return "", 0, err
	}
	return string(m), int(d.InputOffset()), nil
}

const maxSlow = time.Hour

func (p *parser) slow(at int, text string) {
	seconds, err := strconv.ParseFloat(strings.TrimSuffix(text, "s"), 64)
	if err != nil || !(seconds > 0) || seconds > maxSlow.Seconds() {
		p.fault(at, "/slow needs a number of seconds, at most %.0f", maxSlow.Seconds())
		return
	}
	p.add(action{kind: doSlow, duration: time.Duration(seconds * float64(time.Second))})
}
