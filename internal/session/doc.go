// Package session keeps what happened in a session: an append-only log of
// events, the folder of such logs, the fold from events to the conversation a
// model is sent, and the repair of a log whose writer died.
//
// # File
//
// A session is the folder <dir>/<id>/ (mode 0700) with events.jsonl (0600) in
// it, so that a lock or spilled output has a place beside the log. The first
// line is the header, each further line one event; "type" is the first key of
// every line and there are no blanks between tokens, so tools can search for
// `{"type":"turn/end",`.
//
// # What an append guarantees
//
// [Log.Append] gives an event its seq and makes one write(2) for its line
// before it returns and before any subscriber sees it, so what an event
// announces never happens without the event being in the file (as far as the
// kernel: a crash of the program loses nothing). [Log.AppendAll] does the same
// for several events with one write. The file is fsynced when it is created,
// after an append that holds a turn/end, and on close; never a chunk. A power
// cut can therefore lose the end of the running turn, and nothing before it.
// [Options.Sync] changes that.
//
// A write that fails (a full disk, a folder gone read-only) is undone by
// cutting the file back to the last whole event, and the log refuses every
// later append with the same reason: an event that could not be stored must
// not be followed by one that could.
//
// # What reading tolerates
//
// A torn last line, which a crash can leave, is dropped and reported; opening
// for append cuts it off. Anything else that is wrong is a [CorruptError] with
// its line. Unknown event types and unknown members are kept verbatim. Packed
// rows (runs of deltas on one line) are expanded, never written.
package session
