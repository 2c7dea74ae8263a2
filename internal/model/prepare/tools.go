package prepare

import (
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// Tool is a tool as it goes over the wire.
type Tool struct {
	// Wire is the name on the wire, Name the one everywhere else.
	Wire, Name  string
	Description string
	// Parameters is the adapted schema.
	Parameters jsonvalue.Value
}

// Quarantine is a tool that is left out of requests, and why.
type Quarantine struct {
	// Name is the tool's own name.
	Name string
	// Reason says what is wrong with it, for a person.
	Reason string
}

// Note is the quarantine as a note.
func (q Quarantine) Note() Note {
	return Note{Code: "TOOL_QUARANTINED", Message: fmt.Sprintf("the tool %q is not offered to the model: %s", q.Name, q.Reason)}
}

// ToolSet is the tools of one request.
type ToolSet struct {
	// Tools are in the order of the catalogue.
	Tools []Tool
	// Quarantined are those left out.
	Quarantined []Quarantine

	byWire map[string]int
	byName map[string]int
}

// Tools adapts the tools of a request. most bounds their number; 0 is no bound.
// refused gives a reason to leave a tool out, "" for none; may be nil.
func Tools(tools []model.ToolSchema, most int, refused func(model.ToolSchema) string) *ToolSet {
	s := &ToolSet{byWire: make(map[string]int, len(tools)), byName: make(map[string]int, len(tools))}
	out := func(t model.ToolSchema, format string, args ...any) {
		s.Quarantined = append(s.Quarantined, Quarantine{Name: t.Name, Reason: fmt.Sprintf(format, args...)})
	}
	for _, t := range tools {
		wire := WireName(t.Name)
		switch i, taken := s.byWire[wire]; {
		case t.Name == "":
			out(t, "it has no name")
			continue
		case taken && s.Tools[i].Name == t.Name:
			out(t, "there is another tool of that name")
			continue
		case taken:
			out(t, "its name and that of %q are the same to the provider; rename one", s.Tools[i].Name)
			continue
		case most > 0 && len(s.Tools) == most:
			out(t, "the provider accepts no more than %d tools; disable some", most)
			continue
		}
		if refused != nil {
			if why := refused(t); why != "" {
				out(t, "%s", why)
				continue
			}
		}
		schema, err := Schema(t.Parameters)
		if err != nil {
			out(t, "its schema cannot be used: %s", err)
			continue
		}
		s.byWire[wire], s.byName[t.Name] = len(s.Tools), len(s.Tools)
		s.Tools = append(s.Tools, Tool{Wire: wire, Name: t.Name, Description: t.Description, Parameters: schema})
	}
	return s
}

// Original is the tool's own name for one that the model used. A name that is
// not on the wire is given back as it is.
func (s *ToolSet) Original(wire string) string {
	if i, ok := s.byWire[wire]; ok {
		return s.Tools[i].Name
	}
	return wire
}

// Has reports whether a name, of either kind, is offered.
func (s *ToolSet) Has(name string) bool {
	_, wire := s.byWire[name]
	_, own := s.byName[name]
	return wire || own
}

// Begins reports whether the name of a tool that is offered begins so, on the
// wire.
func (s *ToolSet) Begins(wire string) bool {
	for _, t := range s.Tools {
		if strings.HasPrefix(t.Wire, wire) {
			return true
		}
	}
	return false
}

// ParameterType is the type that a tool's schema gives a parameter; "" when it
// gives none, or several.
func (s *ToolSet) ParameterType(tool, parameter string) string {
	i, ok := s.byWire[tool]
	if !ok {
		if i, ok = s.byName[tool]; !ok {
			return ""
		}
	}
	return s.Tools[i].Parameters.Get("properties").Get(parameter).GetString("type")
}
