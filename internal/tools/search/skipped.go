package search

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// skippedProperties are the parts of a value that say what was not searched.
func skippedProperties() []schema.Property {
	return []schema.Property{
		schema.Optional("skipped", schema.Array("What could not be searched, the first few.", schema.ClosedObject("",
			schema.Required("path", schema.String("")),
			schema.Required("reason", schema.String("")),
		))),
		schema.Optional("skippedTotal", schema.Integer("How many could not be searched.")),
	}
}

// value adds what was skipped to a value.
func (s *skips) value(v jsonvalue.Value, p place) jsonvalue.Value {
	if s.total == 0 {
		return v
	}
	list := make([]jsonvalue.Value, len(s.list))
	for i, e := range s.list {
		list[i] = jsonvalue.Object(member("path", jsonvalue.String(p.name(e.path))), member("reason", jsonvalue.String(e.reason)))
	}
	return v.With("skipped", jsonvalue.Array(list...)).With("skippedTotal", integer(s.total))
}

// renderSkipped is the last line of a text that would otherwise look complete.
func renderSkipped(value jsonvalue.Value) string {
	total, ok := value.Get("skippedTotal").Int64()
	if !ok {
		return ""
	}
	var named []string
	for _, e := range value.Get("skipped").Elements() {
		named = append(named, fmt.Sprintf("%s (%s)", e.GetString("path"), e.GetString("reason")))
	}
	more := ""
	if n := total - int64(len(named)); n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return "\n\n(Not or not wholly searched: " + strings.Join(named, ", ") + more + ")"
}
