// Package local is the model for somebody without one: the prompt is the
// program. A fenced ts block is run through run_code, `/tool NAME {json}` calls
// one tool, and a few more commands make the model speak, think, dawdle or
// fail. Everything goes through the same loop, pipeline and cards as with a
// remote model, so every tool can be tried without a key and without a network.
//
// The provider keeps no state: the answer is a function of the conversation,
// and the same conversation always gets the same answer.
package local

import (
	"context"
	_ "embed"
	"fmt"
	"iter"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

// ID is the provider's id and its only model's.
const ID = "local"

// codeTool is the tool that runs a program.
const codeTool = "run_code"

// contextWindow is nominal, in tokens: nothing here is limited by it, but an
// editor can show its meter.
const contextWindow = 128_000

//go:embed help.md
var helpText string

// Provider is the local model. The zero value is ready.
type Provider struct{}

// New returns the local model.
func New() *Provider { return &Provider{} }

// ProviderID is "local".
func (*Provider) ProviderID() string { return ID }

// Models lists the one model.
func (*Provider) Models(context.Context) ([]model.Info, error) {
	return []model.Info{{
		ID:            ID,
		Name:          "Local (the prompt is the program)",
		Description:   "Runs what the prompt says: a ts block, /tool NAME {json}. Needs no key and no network.",
		ContextWindow: contextWindow,
		Reasoning:     true,
		Literal:       true,
	}}, nil
}

// Commands lists what a prompt may start with.
func (*Provider) Commands() []model.Command {
	return []model.Command{
		{Name: "tool", Description: "Call one tool; several lines call several tools in one step", Hint: "NAME {json arguments}"},
		{Name: "say", Description: "Answer with this text", Hint: "TEXT"},
		{Name: "think", Description: "Think this text before the answer", Hint: "TEXT"},
		{Name: "slow", Description: "Stream an answer slowly, to try cancelling", Hint: "SECONDS"},
		{Name: "fail", Description: "Fail as a remote model might", Hint: "MESSAGE"},
		{Name: "help", Description: "Say what can be typed"},
	}
}

// Stream answers the last prompt of the conversation: with the step of its
// program that is due, or, when all have run, with a summary of the results.
func (*Provider) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Chunk, error] {
	return func(yield func(model.Chunk, error) bool) {
		w := &writer{ctx: ctx, yield: yield, input: estimate(req)}
		w.play(answer(req))
	}
}

// answer decides what to do for a request.
func answer(req model.Request) step {
	if req.Purpose == model.PurposeSummary {
		return sayStep(digest(req))
	}
	at := lastPrompt(req.Messages)
	if at < 0 {
		return sayStep(helpText)
	}
	program, faults := parse(req.Messages[at].Text())
	switch {
	case len(faults) > 0:
		return sayStep(faultText(faults))
	case len(program) == 0:
		return sayStep(helpText)
	}
	since := req.Messages[at+1:]
	done := 0
	for _, m := range since {
		if m.Role == model.RoleAssistant {
			done++
		}
	}
	if done >= len(program) {
		return sayStep(summary(since))
	}
	s := program[done]
	if s.calls(codeTool) {
		if _, ok := req.Tool(codeTool); !ok {
			return sayStep(codeModeOff)
		}
	}
	return s.withIDs(countAnswers(req.Messages) + 1)
}

// lastPrompt finds the message that holds the program; -1 when there is none.
// What tools and hooks add is no program.
func lastPrompt(messages []model.Message) int {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := messages[i]; m.Role == model.RoleUser && m.Origin != model.OriginContext {
			return i
		}
	}
	return -1
}

func countAnswers(messages []model.Message) int {
	n := 0
	for _, m := range messages {
		if m.Role == model.RoleAssistant {
			n++
		}
	}
	return n
}

// estimate counts the request's tokens as a quarter of its bytes.
func estimate(req model.Request) int64 {
	n := len(req.System)
	for _, m := range req.Messages {
		for _, p := range m.Content {
			n += len(p.Text) + len(p.Arguments)
		}
	}
	return int64(n+3) / 4
}

// sleep waits, or returns ctx's error.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// callID is unique within a session as long as its conversation is not cut.
func callID(answer, call int) string { return fmt.Sprintf("local-%d-%d", answer, call) }
