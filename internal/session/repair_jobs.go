package session

import "slices"

// textJobLost is how a background job ended whose program was killed.
const textJobLost = "the program stopped while it was running"

// repairJobs ends the jobs that a log has started and not ended.
func (why repairTexts) repairJobs(events []Event) []Draft {
	var open []string
	for _, e := range events {
		switch id := e.Data.GetString("taskId"); e.Type {
		case TypeJobStart:
			open = append(open, id)
		case TypeJobEnd:
			open = slices.DeleteFunc(open, func(o string) bool { return o == id })
		}
	}
	var drafts []Draft
	for _, id := range open {
		drafts = append(drafts, Draft{
			Type: TypeJobEnd, Data: Data("taskId", id, "status", "killed", "detail", why.job, "output", ""),
		})
	}
	return drafts
}
