package conformance

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/acp/conformance/testagent"
)

// The test binary is also the agent under test and its MCP server.
const (
	envAgent = "ACP_TESTAGENT"
	envMCP   = "ACP_TESTMCP"
)

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 3 && os.Args[1] == envMCP:
		if err := ServeMCP(os.Stdin, os.Stdout, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case os.Getenv(envAgent) != "":
		os.Exit(serveAgent())
	}
	os.Exit(m.Run())
}

func serveAgent() int {
	item, _ := strconv.Atoi(os.Getenv("ACP_BREAK"))
	steps, _ := strconv.Atoi(os.Getenv("ACP_STEPS"))
	if err := testagent.Serve(os.Stdin, os.Stdout, testagent.Options{
		Break: item, Home: os.Getenv("ACP_HOME"), NeedsKey: os.Getenv("ACP_NEEDS_KEY") != "", MaxSteps: steps,
	}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// testProfile is the profile of the test agent that breaks an item.
func testProfile(item int) Profile {
	return Profile{
		Name: "testagent",
		Prompts: map[Purpose]string{
			Echo: "!say {text}", Slow: "!slow 300", Command: "!command {command}", Read: `!read {"path":"{path:json}"}`,
			Write: `!write {"path":"{path:json}","content":"{content:json}"}`, Edit: `!edit {"path":"{path:json}","old":"{old:json}","new":"{new:json}"}`,
			Think: "!think {text}", Plan: "!plan", Remember: "The word is {text}.", Recall: "!recall", Large: "!say ok\n{text}",
			Failing: "!status {code}", Finish: "!finish {reason}", Loop: "!loop", MCP: `!mcp {"server":"{server}","tool":"{tool}"}`,
		},
		AuthMethod: "key",
		GiveKey:    func(home string) error { return os.WriteFile(filepath.Join(home, "key"), nil, 0o600) },
		Launch: func(r LaunchRequest) (Launch, error) {
			env := []string{envAgent + "=1", "ACP_BREAK=" + strconv.Itoa(item), "ACP_HOME=" + r.Home}
			switch r.Variant {
			case NoKey:
				env = append(env, "ACP_NEEDS_KEY=1")
			case FewSteps:
				env = append(env, "ACP_STEPS=3")
			}
			return Launch{Env: env}, nil
		},
	}
}

// try runs items on the test agent that breaks one.
func try(ctx context.Context, item int, timeout time.Duration, patience float64, only ...int) ([]Result, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return Run(ctx, Options{
		Agent: []string{self}, Profile: testProfile(item), Only: only, Timeout: timeout, Patience: patience, Limit: 10 * time.Minute,
		MCPServer: []string{self, envMCP}, Trace: io.Discard,
	})
}

// An agent that keeps the rules passes everything.
func TestAnAgentThatKeepsTheRules(t *testing.T) {
	results, err := try(t.Context(), 0, 2*time.Minute, 20) // nothing is waited for in vain
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 85 {
		t.Errorf("%d items were tried", len(results))
	}
	for _, r := range results {
		if r.Status != Pass {
			t.Errorf("%s", r.Line())
		}
	}
}

// Every check fails for an agent that breaks its rule, and for that reason: the
// text says what a person would look for. On a busy machine another reason may
// come first, that something took too long: then there is more time.
func TestEveryCheckCanFail(t *testing.T) {
	// Most of the time somebody waits in vain: so many at once, whatever the
	// number of processors.
	slots := make(chan struct{}, 6)
	var all sync.WaitGroup
	for item := 1; item <= 85; item++ {
		why, ok := complaints[item]
		if !ok {
			t.Errorf("item %d has no complaint in the table", item)
			continue
		}
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			var got []string
			for _, more := range []time.Duration{1, 3, 10} {
				results, err := try(t.Context(), item, more*3*time.Second, float64(more), item)
				if err == nil && len(results) == 1 && results[0].Status == Fail && strings.Contains(results[0].Why, why) {
					return
				}
				got = append(got, fmt.Sprintf("%+v %v", results, err))
			}
			t.Errorf("item %d: want a failure that says %q, got %q", item, why, got)
		})
	}
	all.Wait()
}

// The checklist has every number once.
func TestTheChecklistIsWhole(t *testing.T) {
	var ids []int
	for _, c := range Checks() {
		ids = append(ids, c.ID)
		if c.Title == "" || c.Section == "" {
			t.Errorf("item %d has no title or section", c.ID)
		}
	}
	for item := 1; item <= 85; item++ {
		if n := len(slices.DeleteFunc(slices.Clone(ids), func(id int) bool { return id != item })); n != 1 {
			t.Errorf("item %d is there %d times", item, n)
		}
	}
}

// complaints are what the failure of each item says for the agent that breaks it.
var complaints = map[int]string{
	1:  "is no JSON object",
	2:  "waited in vain for the answer to a line that is no JSON",
	3:  "the agent ended",
	4:  "a stray answer is answered",
	5:  "waited in vain for an answer with the id",
	6:  "was accepted",
	7:  "a notification is answered",
	8:  "waited in vain for the answer to initialize",
	9:  "still runs 3 s after its input ended",
	10: "waited in vain for the answer to session/prompt",
	11: "the first session shows",
	12: "waited in vain for the answer to session/new",
	13: "protocolVersion is 2",
	14: "initialize with version 99: error -32602",
	15: "initialize with version 2: error -32602",
	16: "was accepted",
	17: "initialize: error -32602",
	18: "session/new with unknown members: error -32602",
	19: "agentInfo needs a name",
	20: "session/delete is advertised and answers -32601",
	21: "session/new before initialize was accepted",
	22: "the agent ended",
	23: "offered without auth.terminal",
	24: "answers error -32603",
	25: "an unknown methodId was accepted",
	26: "session/new: error -32000",
	27: "session/new after logout was accepted",
	28: "came before the answer that names its session",
	29: "a relative cwd was accepted",
	30: "a cwd that does not exist was accepted",
	31: "the command ran in",
	32: "session/new with MCP servers that cannot start: error",
	33: "the server's tool does not show its answer",
	34: "was not reached with its header",
	35: "a relative additional directory was accepted",
	36: `the current mode "nowhere"`,
	37: "came after the answer",
	38: "answers error -32603",
	39: "was shown 2 times",
	40: "was shown again",
	41: "a bad cursor was accepted",
	42: "session/delete, again: error",
	43: "waited in vain for the answer to session/prompt",
	44: "is not listed by a new process",
	45: "answers error -32603",
	46: "answers error -32603",
	47: "nothing was said",
	48: "a prompt with a link to a%20b.txt: error -32602",
	49: "a prompt with an embedded text: error -32602",
	50: "an unknown block was accepted",
	51: "in the middle of the first",
	52: "session/prompt: error -32603",
	53: "came after the answer",
	54: "fails with 500 was accepted",
	55: `not max_tokens`,
	56: "one message has the ids",
	57: "no agent_thought_chunk",
	58: "used ≤ size",
	59: "is not answered 1s after its cancellation",
	60: "is not answered 3s after its cancellation",
	61: "messages came",
	62: `ended with "cancelled"`,
	63: "the other session's prompt ended too",
	64: "still runs",
	65: "executed after the cancelled question",
	66: "after $/cancel_request",
	67: "updated before it was announced",
	68: "is left in_progress",
	69: "did not end failed",
	70: "is not absolute",
	71: "has the line 0",
	72: "share the id",
	73: "executed after the outcome an unknown option",
	74: "was asked about again",
	75: "executed after an error",
	76: "fs/read_text_file was called",
	77: "is not absolute",
	78: "was not released",
	79: "has no priority",
	80: "announced with a slash",
	81: "an unknown mode was accepted",
	82: `the option "fast" is boolean`,
	83: "notice was sent",
	84: "session/update",
	85: "update.conformance",
}
