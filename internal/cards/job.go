package cards

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// JobCardID is the id of the card of a background job. The call that started it
// has a card of its own, which ends when the call returns; the job's goes on
// until the job ends, in whichever turn or between turns.
func JobCardID(taskID string) string { return "job:" + taskID }

// jobStart projects job/start: a card that is in progress at once.
func (p *Projector) jobStart(d jsonvalue.Value) []Update {
	id := JobCardID(d.GetString("taskId"))
	if _, open := p.calls[id]; open {
		return nil
	}
	name := d.GetString("kind")
	u := p.announcement(p.shownID(id), name, &Call{
		Card: Terminal, Title: d.GetString("label"), Description: d.GetString("description"), Cwd: d.GetString("cwd"),
	})
	u.Status = InProgress
	p.calls[id] = &openCall{name: name, card: Terminal, announce: u}
	return []Update{u}
}

// jobEnd projects job/end: the end of the card, with the last of the output.
func (p *Projector) jobEnd(d jsonvalue.Value) []Update {
	id := JobCardID(d.GetString("taskId"))
	open, known := p.calls[id]
	if !known {
		return nil
	}
	delete(p.calls, id)
	view := &Result{Output: d.GetString("output"), Signal: d.GetString("signal")}
	if code, ok := d.Get("exitCode").Int64(); ok {
		exit := int(code)
		view.ExitCode = &exit
	}
	u := ToolUpdate{ID: open.announce.ID, ParentID: open.announce.ParentID, Status: Failed}
	if d.GetString("status") == "completed" {
		u.Status = Completed
	} else {
		view.Notes = "[status: " + d.GetString("status") + "]"
		if detail := d.GetString("detail"); detail != "" {
			view.Notes = "[status: " + d.GetString("status") + ", " + detail + "]"
		}
	}
	if cut, _ := d.Get("truncated").Bool(); cut {
		held, name := "all of it", "full output"
		if n, partly := d.Get("outputHeld").Int64(); partly {
			held, name = fmt.Sprintf("its first %d bytes", n), "beginning of the output"
		}
		view.Output = "[... the end of the output; " + held + ": " + orUnavailable(d.GetString("outputPath")) + " ...]\n" + view.Output
		if path := d.GetString("outputPath"); path != "" {
			view.Files = []File{{Path: path, Name: name}}
		}
	}
	if view.Notes != "" {
		if view.Output != "" && !strings.HasSuffix(view.Output, "\n") {
			view.Output += "\n"
		}
		view.Output += view.Notes
	}
	u.RawOutput = jsonvalue.String(view.Output)
	p.terminalResult(&u, view)
	u.link(open, view.Files)
	return []Update{u}
}

func orUnavailable(path string) string {
	if path == "" {
		return "(unavailable)"
	}
	return path
}
