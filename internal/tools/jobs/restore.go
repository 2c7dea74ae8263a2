package jobs

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// LogEvent is what Restore reads of a session's log.
type LogEvent struct {
	Type string
	Time time.Time
	Data jsonvalue.Value
}

// Restore remembers the jobs of a session that is opened again, from its log.
// None of them runs any more. What the model was told of them it is not told
// again.
func (m *Manager) Restore(session string, events iter.Seq[LogEvent]) {
	byID := map[string]*Job{}
	m.mu.Lock()
	defer m.mu.Unlock()
	for ev := range events {
		d := ev.Data
		switch ev.Type {
		case TypeStart:
			o := m.owner(session)
			j := newJob(m, session, d.GetString("taskId"), Spec{Kind: d.GetString("kind"), Label: d.GetString("label")})
			j.to, j.began, j.finished, j.status = nowhere{}, ev.Time, ev.Time, Killed
			j.out.path = d.GetString("outputPath")
			close(j.announced)
			close(j.done)
			j.cancel(context.Canceled)
			byID[j.id] = j
			o.jobs = append(o.jobs, j)
			if n, err := strconv.Atoi(j.id[strings.LastIndexByte(j.id, '_')+1:]); err == nil {
				o.last = max(o.last, n)
			}
		case TypeEnd:
			if j := byID[d.GetString("taskId")]; j != nil {
				j.finished, j.status = ev.Time, Status(d.GetString("status"))
				j.end.Detail = d.GetString("detail")
				j.out.unread.write([]byte(d.GetString("output")), keptUnread)
				j.out.unread.lost, _ = d.Get("truncated").Bool()
				j.out.written, j.out.cut = d.Get("outputHeld").Int64()
			}
		case "context/message", "tool/result":
			j := byID[d.Get("meta").GetString("taskId")]
			if j == nil {
				continue
			}
			switch Status(d.Get("meta").GetString("status")) {
			case Running, Stopping:
			case "": // told of the end
				j.told = true
			default: // read to the end
				j.told = true
				j.out.unread = ring{}
			}
		}
	}
	if o := m.owners[session]; o != nil && len(o.jobs) > maxKept {
		o.jobs = o.jobs[len(o.jobs)-maxKept:]
	}
}
