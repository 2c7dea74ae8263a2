package protocol

// A tag is a discriminator with one possible value: its zero value is already
// right, and no other can be written.
type (
	toolCallTag        struct{}
	toolCallUpdateTag  struct{}
	planTag            struct{}
	commandsTag        struct{}
	currentModeTag     struct{}
	configOptionTag    struct{}
	sessionInfoTag     struct{}
	usageTag           struct{}
	noticeTag          struct{}
	compactionTag      struct{}
	compactionChunkTag struct{}
	contentTag         struct{}
	diffTag            struct{}
	terminalTag        struct{}
	selectTag          struct{}
	booleanTag         struct{}
	objectTag          struct{}
	formTag            struct{}
	urlTag             struct{}
)

// The values of the tags.

func (toolCallTag) MarshalText() ([]byte, error)       { return []byte("tool_call"), nil }
func (toolCallUpdateTag) MarshalText() ([]byte, error) { return []byte("tool_call_update"), nil }
func (planTag) MarshalText() ([]byte, error)           { return []byte("plan"), nil }
func (commandsTag) MarshalText() ([]byte, error)       { return []byte("available_commands_update"), nil }
func (currentModeTag) MarshalText() ([]byte, error)    { return []byte("current_mode_update"), nil }
func (configOptionTag) MarshalText() ([]byte, error)   { return []byte("config_option_update"), nil }
func (sessionInfoTag) MarshalText() ([]byte, error)    { return []byte("session_info_update"), nil }
func (usageTag) MarshalText() ([]byte, error)          { return []byte("usage_update"), nil }
func (noticeTag) MarshalText() ([]byte, error)         { return []byte("notice"), nil }
func (compactionTag) MarshalText() ([]byte, error)     { return []byte("compaction_update"), nil }
func (compactionChunkTag) MarshalText() ([]byte, error) {
	return []byte("compaction_summary_chunk"), nil
}
func (contentTag) MarshalText() ([]byte, error)  { return []byte("content"), nil }
func (diffTag) MarshalText() ([]byte, error)     { return []byte("diff"), nil }
func (terminalTag) MarshalText() ([]byte, error) { return []byte("terminal"), nil }
func (selectTag) MarshalText() ([]byte, error)   { return []byte("select"), nil }
func (booleanTag) MarshalText() ([]byte, error)  { return []byte("boolean"), nil }
func (objectTag) MarshalText() ([]byte, error)   { return []byte("object"), nil }
func (formTag) MarshalText() ([]byte, error)     { return []byte("form"), nil }
func (urlTag) MarshalText() ([]byte, error)      { return []byte("url"), nil }
