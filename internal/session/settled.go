package session

import (
	"cmp"
	"iter"
	"slices"
)

// A chunk has done its work when the message it belongs to is complete, or its
// turn has ended: nobody but a replay looks at it again, and chunks are nearly all
// of a log. So they are then kept in the file alone, if there is one.

// settleAfter is how many settled chunks are kept in memory before they are all
// dropped at once, and settleShare what part of a long log they must be: dropping
// them copies the events that stay.
const (
	settleAfter = 16
	settleShare = 64
)

// Events returns the events so far, all of them. It may read the file, which
// takes about two seconds a million events, and their memory; [Log.All] takes
// none, and a session that runs looks at [Log.Kept]. The snapshot may share
// memory with the log, so never change it.
func (l *Log) Events() []Event {
	kept, dropped := l.snapshot()
	if !dropped {
		return kept
	}
	all := make([]Event, 0, l.Len())
	for e := range l.All() {
		all = append(all, e)
	}
	return all
}

// All goes through the events so far, all of them, in order. What is in the file
// alone is read from there one by one, so that a log of any length takes little
// memory. Events that are appended meanwhile are not among them.
func (l *Log) All() iter.Seq[Event] {
	return func(yield func(Event) bool) {
		l.mu.RLock()
		kept, path, upTo := l.events[:len(l.events):len(l.events)], l.path, l.next
		if !l.dropped {
			path = ""
		}
		l.mu.RUnlock()
		next, stopped := int64(0), false
		if path != "" {
			_, err := readFile(path, &Recording{each: func(e Event) bool {
				if next < upTo {
					next++
					stopped = !yield(e)
				}
				return next < upTo && !stopped
			}})
			if !stopped && next < upTo {
				// Somebody has taken the file away from under us.
				l.opts.logger().Error("the session log cannot be read again; pieces of its messages are left out",
					"session", l.header.ID, "path", path, "err", err)
			}
		}
		for _, e := range kept {
			if e.Seq >= next && !stopped {
				stopped = !yield(e)
			}
		}
	}
}

// Kept returns the events that are in memory: all but the chunks of complete
// messages. It is cheap. The events are in order, but an event's index is not its
// seq. Never change them.
func (l *Log) Kept() []Event {
	kept, _ := l.snapshot()
	return kept
}

func (l *Log) snapshot() (kept []Event, dropped bool) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.events[:len(l.events):len(l.events)], l.dropped
}

// Settle drops from memory every chunk that has done its work. It is for the end
// of a replay, which is the last to look at those of a session that was loaded.
func (l *Log) Settle() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(1)
}

// settle drops chunks when there are enough, after events of the kind that settles
// them were appended. The caller holds mu.
func (l *Log) settle(appended []Event) {
	if slices.ContainsFunc(appended, settles) {
		l.drop(max(settleAfter, len(l.events)/settleShare))
	}
}

func settles(e Event) bool { return e.Type == TypeAssistantMessage || e.Type == TypeTurnEnd }

func isChunk(e Event) bool { return e.Type == TypeAssistantChunk || e.Type == TypeCompactChunk }

// drop drops the settled chunks if there are at least so many. Older snapshots
// share the events' memory, so the rest is copied.
func (l *Log) drop(atLeast int) {
	if l.path == "" {
		return // there is no other place for them
	}
	end := len(l.events) // what comes before may be dropped
	for end > 0 && !settles(l.events[end-1]) {
		end--
	}
	count := 0
	for _, e := range l.events[:end] {
		if isChunk(e) {
			count++
		}
	}
	if count < atLeast {
		return
	}
	kept := make([]Event, 0, len(l.events)-count+settleAfter)
	for i, e := range l.events {
		if i >= end || !isChunk(e) {
			kept = append(kept, e)
		}
	}
	l.events, l.dropped = kept, true
}

// eventAt finds an event by its seq, which must be there.
func eventAt(events []Event, seq int64) Event {
	if seq < int64(len(events)) && events[seq].Seq == seq {
		return events[seq]
	}
	i, _ := slices.BinarySearchFunc(events, seq, func(e Event, seq int64) int { return cmp.Compare(e.Seq, seq) })
	return events[i]
}
