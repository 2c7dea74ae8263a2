package tools

import (
	"errors"
	"fmt"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// EscalationParams are the parameters by which the model asks for one call to
// run under a wider mode than the session's. The policy reads them.
func EscalationParams() schema.Params {
	return schema.Params{
		schema.Optional("sandbox_permissions", schema.Enum(
			"Only to repeat a call that the session's permission mode has stopped: the narrowest wider mode that suffices, for this one call. The user is asked.",
			"workspace-write", "danger-full-access")),
		schema.Optional("justification", schema.String(
			"Goes with sandbox_permissions: one sentence that tells the user why the wider mode is needed.")),
	}
}

// RefuseEscalation is for a tool whose calls cannot be escalated: asking for it
// all the same must not pass as if it had been granted.
func RefuseEscalation(args jsonvalue.Value) error {
	if args.Get("sandbox_permissions").IsUndefined() {
		return nil
	}
	return errors.New("sandbox_permissions is not available in this composition (no sandboxing executor to escalate)")
}

// SandboxDenied is what the model reads when a mode kept it from a file.
func SandboxDenied(mode string) string {
	return fmt.Sprintf("[sandbox: file access denied under %s mode]", mode)
}

// EscalationHint follows it. subject is what would be repeated: command or
// operation.
func EscalationHint(subject string) string {
	return "[sandbox: escalation available — retry this exact " + subject + " once with sandbox_permissions (the narrowest wider mode that suffices) + justification; the approval prompt asks the user]"
}
