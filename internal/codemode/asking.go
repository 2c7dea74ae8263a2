package codemode

import (
	"context"
	"strconv"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/pipeline"
)

// Approver is the approval service for a pipeline that also serves programs: it
// puts the line of the program into the reason of a question about one of its
// calls, and stops the program's wall clock while the person thinks (decision
// 24). Other questions pass through.
type Approver struct{ Next pipeline.Approver }

// RequestApproval asks Next.
func (a Approver) RequestApproval(ctx context.Context, req pipeline.ApprovalRequest) (pipeline.ApprovalOutcome, error) {
	// A call of a program may have started a turn of its own, whose questions
	// stop the clock too; but they are not asked by a line of the program.
	if c, ok := ctx.Value(callKey{}).(*subCall); ok {
		if c.PauseWall != nil {
			defer c.PauseWall()()
		}
		if c.id == req.Execution.CallID() {
			req.Reason = c.reason(req.Reason)
		}
	}
	return a.Next.RequestApproval(ctx, req)
}

// callKey finds, in the context of a call, the program's call that it is part of.
type callKey struct{}

// maxQuoted is how many characters of the program's line are quoted.
const maxQuoted = 160

// reason puts the line before the reason that there was.
func (c *subCall) reason(reason string) string {
	where := "Asked by the program"
	if c.Line > 0 {
		where = "Asked by line " + strconv.Itoa(c.Line) + " of the program"
		text := strings.TrimSpace(c.SourceLine)
		if r := []rune(text); len(r) > maxQuoted {
			text = string(r[:maxQuoted-1]) + "…"
		}
		if text != "" {
			where += ": " + text
		}
	}
	if reason == "" {
		return where
	}
	return where + "\n" + reason
}
