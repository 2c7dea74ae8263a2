package acp

import (
	"slices"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/acp/protocol"
	"github.com/dsh-acp/dsh-acp/internal/agent"
)

// A prompt that comes while another one runs waits for its turn. A client may ask
// for another treatment: with this key set to true under the _meta of the prompt,
// or once for all under that of its capabilities, the prompt goes into the
// running turn, where the model reads it before its next request. It is answered
// when that turn ends, with the turn's own stop reason. When the turn ends before
// it has taken the prompt, that runs after it like any other.
const metaSteer = "dsh/steer"

// promptingMeta advertises it.
func promptingMeta() protocol.Meta {
	return protocol.NewMeta("dsh/prompting", struct {
		WhileRunning string `json:"whileRunning"`
		Steer        string `json:"steer"`
	}{"queue", metaSteer})
}

// steers says whether a prompt is to go into the running turn. Commands wait.
func (l *liveSession) steers(meta protocol.Meta, p promptParts) bool {
	wanted := l.steersAll
	if _, said := meta[metaSteer]; said {
		wanted = meta.Bool(metaSteer)
	}
	return wanted && !strings.HasPrefix(p.text, "/")
}

// takeSteering hands the waiting messages to the running turn.
func (l *liveSession) takeSteering() []agent.Steering {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []agent.Steering
	for _, job := range l.steering {
		if job.ctx.Err() != nil {
			continue // it is answered by whoever cancelled it, or in its place
		}
		job.merged = true
		out = append(out, agent.Steering{Content: job.prompt, Shown: job.shown, Taken: func(taken bool) { l.taken(job, taken) }})
	}
	l.steering = slices.DeleteFunc(l.steering, func(job *promptJob) bool { return job.merged })
	return out
}

// taken notes what became of a message: it is answered with the turn, or at once
// when it was refused, as a refused prompt is.
func (l *liveSession) taken(job *promptJob, taken bool) {
	if !taken {
		l.answer(job, protocol.NewPromptResponse(protocol.StopCancelled), nil)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.merged = append(l.merged, job)
}

// drop answers a prompt that was cancelled by itself while it waited. Its place in
// the queue is passed over.
func (l *liveSession) drop(job *promptJob) {
	l.mu.Lock()
	waits := !job.begun && !job.merged && !job.dropped
	if waits {
		job.dropped = true
		l.steering = slices.DeleteFunc(l.steering, func(s *promptJob) bool { return s == job })
	}
	l.mu.Unlock()
	if waits {
		l.answer(job, protocol.NewPromptResponse(protocol.StopCancelled), nil)
	}
}

// begin takes a job from the queue. It is false for one that has become part of
// an earlier turn, or was cancelled and answered.
func (l *liveSession) begin(job *promptJob) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.steering = slices.DeleteFunc(l.steering, func(s *promptJob) bool { return s == job })
	job.begun = !job.merged && !job.dropped
	return job.begun
}

// answerTurn answers a prompt, and those that became part of its turn.
func (l *liveSession) answerTurn(job *promptJob, result any, failure *protocol.Error) {
	l.mu.Lock()
	merged := l.merged
	l.merged = nil
	l.mu.Unlock()
	for _, j := range append([]*promptJob{job}, merged...) {
		l.answer(j, result, failure)
	}
}

// answer answers one prompt and forgets it.
func (l *liveSession) answer(job *promptJob, result any, failure *protocol.Error) {
	if failure != nil {
		l.server.fail(job.req, failure)
	} else {
		l.server.reply(job.req, result)
	}
	l.mu.Lock()
	delete(l.jobs, job)
	l.mu.Unlock()
	job.cancel(nil)
}
