package session

import (
	"time"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// The event types this program writes or understands. Other types are kept as
// they are and mean nothing to it.
const (
	TypeTurnStart        = "turn/start"         // turn, trigger {kind, source}
	TypeTurnEnd          = "turn/end"           // turn, reason {kind, …}
	TypeStepStart        = "step/start"         // turn, step
	TypeStepEnd          = "step/end"           // turn, step
	TypeUserMessage      = "user/message"       // content, source; surface
	TypePromptBlocked    = "prompt/blocked"     // content, source, reason
	TypeContextMessage   = "context/message"    // content, source, meta?; surface
	TypeSteeringMessage  = "steering/message"   // turn, content, source; surface
	TypeRequestHeader    = "request/header"     // header, reason
	TypeAssistantChunk   = "assistant/chunk"    // turn, step, chunk
	TypeAssistantMessage = "assistant/message"  // turn, step, content, provenance, usage?; surface
	TypeToolCall         = "tool/call"          // turn, step, callId, name, arguments (raw text)
	TypeToolResult       = "tool/result"        // turn, step, callId, content, isError, error?, meta?; surface
	TypeCodeDispatch     = "tool/code-dispatch" // parentCallId, subCallId, name, arguments, isError, resultSummary
	TypeTodoWrite        = "todo/write"         // todos
	TypeTitle            = "session/title"      // title, messageSeqs, source
	TypeApprovalAsked    = "approval/asked"     // id, toolName, callId?, reason?
	TypeApprovalDecided  = "approval/decided"   // id, outcome
	TypeApprovalPolicy   = "approval/policy"    // policy
	TypeSandboxMode      = "sandbox/mode"       // mode
	TypePermissionPreset = "permission/preset"  // preset
	TypePlanMode         = "plan/mode"          // active
	TypeHookInvoked      = "hook/invoked"       // turn, point, dialect, handlerId, matcher?
	TypeHookResult       = "hook/result"        // turn, point, handlerId, decision, …
	TypeJobStart         = "job/start"          // taskId, callId, kind, label, …
	TypeJobEnd           = "job/end"            // taskId, status, output, …
	TypeConsentAsked     = "consent/asked"      // id, what, path, lines
	TypeConsentAnswered  = "consent/answered"   // id, answer
	TypeFSObserved       = "fs/observed"
	TypeRetry            = "llm/retry"
	TypeCompactStart     = "compact/start"   // id, trigger, start, end, …
	TypeCompactChunk     = "compact/chunk"   // id, attempt, chunk {type, text}: a piece of a summary that is being written
	TypeCompactSummary   = "compact/summary" // id, content
	TypeCompactEnd       = "compact/end"     // id, status, error?
)

// The kinds of a turn/end reason. "rejected" carries reason, "error" a step
// and a failure {message, code?}, or a message.
const (
	EndCompleted   = "completed"
	EndMaxTokens   = "max-tokens"
	EndAborted     = "aborted"     // the client cancelled
	EndDisposed    = "disposed"    // the program was shutting down
	EndRejected    = "rejected"    // a hook blocked the prompt
	EndError       = "error"       // the provider or the program failed
	EndInterrupted = "interrupted" // written by Repair after a crash
)

// How a compaction ended, in the status of compact/end.
const (
	CompactCompleted = "completed"
	CompactFailed    = "failed"
	CompactCancelled = "cancelled"
)

// SourceCompaction is the source's kind of the context/message that a compaction
// puts in the place of what it summarised; its id is the compaction's.
const SourceCompaction = "compaction"

// Event is one line of a log. It is immutable: never change the slice it holds.
type Event struct {
	Type string
	// Seq is the event's index in its log, from 0, without holes.
	Seq int64
	// Time has millisecond precision and is in UTC.
	Time time.Time
	// Data is usually an object, by Type.
	Data jsonvalue.Value
	// SurfaceOp says how the event changes the model's context: [Append] or a
	// replacement (see [Replace]). Undefined unless IsSurface(Type).
	SurfaceOp jsonvalue.Value
	// SourceEventSeqs are the events this one derives from: earlier and unique.
	SourceEventSeqs []int64
	// Extra holds the members of the line that this program does not know, as
	// an object; Undefined when there are none.
	Extra jsonvalue.Value
}

// Draft is an event to append; the log gives it its seq.
type Draft struct {
	Type string
	// Data must be lossless JSON; Undefined is written as an empty object.
	Data jsonvalue.Value
	// SurfaceOp may be left Undefined on surface events: it means Append.
	SurfaceOp jsonvalue.Value
	Sources   []int64
	// Time is the event's time, cut to milliseconds; zero means now.
	Time time.Time
}

// IsSurface reports whether events of that type shape the model's context:
// they alone carry a surfaceOp (rule R14.2).
func IsSurface(eventType string) bool {
	switch eventType {
	case TypeUserMessage, TypeContextMessage, TypeSteeringMessage, TypeAssistantMessage, TypeToolResult:
		return true
	}
	return false
}

// Append is the surfaceOp of an event that adds itself to the end of the
// model's context.
func Append() jsonvalue.Value { return surfaceAppend }

// Replace is the surfaceOp of an event that takes the place of part of the
// model's context: of the surface events from the one with seq start to the
// one with seq end, both included, in the context's present order.
func Replace(start, end int64) jsonvalue.Value {
	return jsonvalue.Object(
		jsonvalue.Member{Key: "op", Value: jsonvalue.String("replace")},
		jsonvalue.Member{Key: "start", Value: jsonvalue.Int(start)},
		jsonvalue.Member{Key: "end", Value: jsonvalue.Int(end)},
	)
}

var surfaceAppend = jsonvalue.String("append")

// Data builds an event's data from key, value pairs; the values may be
// anything jsonvalue.FromGo takes. It panics when a key is not a string or a
// value is not JSON: use it with values of known types.
func Data(pairs ...any) jsonvalue.Value {
	ms := make([]jsonvalue.Member, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		ms = append(ms, jsonvalue.Member{Key: pairs[i].(string), Value: jsonvalue.MustFromGo(pairs[i+1])})
	}
	return jsonvalue.Object(ms...)
}

// Turn reads the turn number in the event's data; 0 when absent.
func (e Event) Turn() int64 { return intOf(e.Data, "turn") }

// Step reads the step number in the event's data; 0 when absent.
func (e Event) Step() int64 { return intOf(e.Data, "step") }

func intOf(v jsonvalue.Value, key string) int64 {
	n, _ := v.Get(key).Int64()
	return n
}
