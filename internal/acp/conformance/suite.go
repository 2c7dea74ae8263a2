package conformance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Status is how a check ended.
type Status string

// How a check ends. Broken means that the kit, not the agent, is at fault.
const (
	Pass   Status = "pass"
	Fail   Status = "fail"
	Skip   Status = "skip"
	Broken Status = "broken"
)

// Check is one item of the checklist.
type Check struct {
	ID      int
	Section string
	Title   string
	run     func(t *T)
}

// Result is what a check found.
type Result struct {
	ID      int           `json:"id"`
	Section string        `json:"section"`
	Title   string        `json:"title"`
	Status  Status        `json:"status"`
	Why     string        `json:"why,omitempty"`
	Took    time.Duration `json:"took"` // nanoseconds
}

// Options of a run.
type Options struct {
	// Agent is the command of the agent; required.
	Agent []string
	// Profile says how the agent is made to do things.
	Profile Profile
	// Only are the items to run; none means all.
	Only []int
	// Timeout is how long one check waits for one answer; 0 means 20 s.
	Timeout time.Duration
	// Limit is how long one check may take as a whole; 0 means 2 min.
	Limit time.Duration
	// Patience multiplies the limits that are part of an item, such as "within 1
	// s", for slow machines; 0 means 1.
	Patience float64
	// MCPServer is a command that runs [ServeMCP]; without it the item about
	// such servers is skipped.
	MCPServer []string
	// Trace gets every message: "> " and "< " before the line; nil for none.
	Trace io.Writer
	// Done is told each result as it comes; nil for nobody.
	Done func(Result)
}

// suite is what the checks of one run share.
type suite struct {
	opt     Options
	profile Profile
	schema  *schemas
	model   *modelServer

	mu       sync.Mutex
	messages int
	faults   []string // of framing
	invalid  []string // by the schema
	unknown  []string // members that are not in the schema
	traceMu  sync.Mutex
}

// Run tries every item on the agent, one after the other. The error is that of
// the kit itself; what is wrong with the agent is in the results.
func Run(ctx context.Context, opt Options) ([]Result, error) {
	if len(opt.Agent) == 0 {
		return nil, errors.New("no agent: give its command")
	}
	if opt.Timeout == 0 {
		opt.Timeout = 20 * time.Second
	}
	if opt.Limit == 0 {
		opt.Limit = 2 * time.Minute
	}
	if opt.Patience == 0 {
		opt.Patience = 1
	}
	schema, err := published()
	if err != nil {
		return nil, fmt.Errorf("the published schema: %w", err)
	}
	s := &suite{opt: opt, profile: opt.Profile, schema: schema}
	if s.model, err = startModelServer(); err != nil {
		return nil, fmt.Errorf("the model server: %w", err)
	}
	defer s.model.close()
	var results []Result
	for _, check := range inRunningOrder(Checks()) {
		if len(opt.Only) > 0 && !slices.Contains(opt.Only, check.ID) {
			continue
		}
		if ctx.Err() != nil {
			return results, context.Cause(ctx)
		}
		r := s.try(ctx, check)
		results = append(results, r)
		if opt.Done != nil {
			opt.Done(r)
		}
	}
	slices.SortFunc(results, func(a, b Result) int { return a.ID - b.ID })
	return results, nil
}

// inRunningOrder puts last what looks at the messages of all others.
func inRunningOrder(checks []Check) []Check {
	slices.SortStableFunc(checks, func(a, b Check) int { return rank(a) - rank(b) })
	return checks
}

func rank(c Check) int {
	switch c.ID {
	case 1, 76, 82, 83, 84, 85:
		return 1
	}
	return 0
}

// T is one check under way.
type T struct {
	ctx     context.Context
	opt     *Options
	profile Profile
	suite   *suite
	dir     string
	dirs    int
	clients []*client
}

// verdict ends a check.
type verdict struct {
	status Status
	why    string
}

func (t *T) failf(format string, args ...any) { panic(verdict{Fail, fmt.Sprintf(format, args...)}) }

func (t *T) skipf(format string, args ...any) { panic(verdict{Skip, fmt.Sprintf(format, args...)}) }

func (t *T) brokenf(format string, args ...any) {
	panic(verdict{Broken, fmt.Sprintf(format, args...)})
}

func (t *T) timeout() time.Duration { return t.opt.Timeout }

// within is a limit of an item, for this machine.
func (t *T) within(d time.Duration) time.Duration {
	return time.Duration(float64(d) * t.opt.Patience)
}

// try runs one check in a folder of its own.
func (s *suite) try(ctx context.Context, check Check) (r Result) {
	r = Result{ID: check.ID, Section: check.Section, Title: check.Title, Status: Pass}
	begin := time.Now()
	defer func() { r.Took = time.Since(begin) }()
	dir, err := os.MkdirTemp("", "acp-conformance-")
	if err != nil {
		r.Status, r.Why = Broken, err.Error()
		return r
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	ctx, cancel := context.WithTimeout(ctx, s.opt.Limit)
	defer cancel()
	t := &T{ctx: ctx, opt: &s.opt, profile: s.profile, suite: s, dir: dir}
	defer func() {
		for _, c := range t.clients {
			c.end()
		}
		_ = os.RemoveAll(dir)
	}()
	defer func() {
		switch v := recover().(type) {
		case nil:
		case verdict:
			r.Status, r.Why = v.status, v.why
			if ctx.Err() != nil && v.status == Fail {
				r.Why += fmt.Sprintf(" (the check ran into its limit of %s)", s.opt.Limit)
			}
		default:
			panic(v)
		}
	}()
	check.run(t)
	return r
}

// tempDir makes a folder of the check.
func (t *T) tempDir(name string) string {
	t.dirs++
	dir := filepath.Join(t.dir, fmt.Sprintf("%s-%d", name, t.dirs))
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.brokenf("%v", err)
	}
	return dir
}

func (t *T) modelURL() string { return t.suite.model.url }

// trace writes one message.
func (t *T) trace(direction byte, line []byte) {
	if t.opt.Trace == nil {
		return
	}
	t.suite.traceMu.Lock()
	defer t.suite.traceMu.Unlock()
	fmt.Fprintf(t.opt.Trace, "%c %s\n", direction, strings.TrimRight(string(line), "\r\n"))
}

// maxFaults bounds what is kept of one kind.
const maxFaults = 100

func (s *suite) fault(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages++
	s.faults = keep(s.faults, why)
}

func keep(list []string, why string) []string {
	if len(list) < maxFaults && !slices.Contains(list, why) {
		list = append(list, why)
	}
	return list
}

// inspect holds a message against the schema; asked is the method that it
// answers.
func (s *suite) inspect(f frame, asked string) {
	def, body, name := s.schema.params[f.Method], f.Params, f.Method
	if f.Method == "" {
		def, body, name = s.schema.results[asked], f.Result, "the answer to "+asked
		if f.Error != nil {
			body, name = nil, "an error answer"
			def = nil
		}
	}
	var wrong, unknown []string
	if def != nil && body != nil {
		wrong, unknown = s.schema.validate(def, body)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages++
	for _, w := range wrong {
		s.invalid = keep(s.invalid, name+": "+w)
	}
	for _, u := range unknown {
		s.unknown = keep(s.unknown, name+": "+u)
	}
}
