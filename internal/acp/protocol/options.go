package protocol

import "errors"

// Mode is a way the agent can work in.
type Mode struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Meta        Meta   `json:"_meta,omitempty"`
}

// Validate says what keeps the mode from being sent.
func (m Mode) Validate() error { return errors.Join(needText("id", m.ID), needText("name", m.Name)) }

// Modes are the modes of a session and the one in force.
type Modes struct {
	CurrentModeID  string     `json:"currentModeId"`
	AvailableModes List[Mode] `json:"availableModes"`
	Meta           Meta       `json:"_meta,omitempty"`
}

// Validate says what keeps the modes from being sent.
func (m *Modes) Validate() error {
	if m == nil {
		return nil
	}
	for _, mode := range m.AvailableModes {
		if mode.ID == m.CurrentModeID {
			return each("availableModes", m.AvailableModes)
		}
	}
	return invalid("currentModeId", "is not among the modes: "+m.CurrentModeID)
}

// OptionCategory tells editors where an option belongs.
type OptionCategory string

// The categories of config options.
const (
	CategoryMode         OptionCategory = "mode"
	CategoryModel        OptionCategory = "model"
	CategoryModelConfig  OptionCategory = "model_config"
	CategoryThoughtLevel OptionCategory = "thought_level"
)

// ConfigOption is something the user can set for a session: a [SelectOption] or
// a [BooleanOption].
type ConfigOption interface {
	// Validate says what keeps the option from being sent.
	Validate() error
	configOption()
}

// SelectOption is a choice among values.
type SelectOption struct {
	Type         selectTag      `json:"type"`
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Description  string         `json:"description,omitempty"`
	Category     OptionCategory `json:"category,omitempty"`
	CurrentValue string         `json:"currentValue"`
	Options      Choices        `json:"options"`
	Meta         Meta           `json:"_meta,omitempty"`
}

// BooleanOption is a switch. It may be sent only to a client that knows it.
type BooleanOption struct {
	Type         booleanTag     `json:"type"`
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Description  string         `json:"description,omitempty"`
	Category     OptionCategory `json:"category,omitempty"`
	CurrentValue bool           `json:"currentValue"`
	Meta         Meta           `json:"_meta,omitempty"`
}

// Choice is one value of a select option.
type Choice struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Meta        Meta   `json:"_meta,omitempty"`
}

// Validate says what keeps the choice from being sent.
func (c Choice) Validate() error { return needText("name", c.Name) }

// ChoiceGroup is a group of values under a heading.
type ChoiceGroup struct {
	Group   string       `json:"group"`
	Name    string       `json:"name"`
	Options List[Choice] `json:"options"`
	Meta    Meta         `json:"_meta,omitempty"`
}

// Choices are the values of a select option: flat, or in groups.
type Choices struct {
	flat   List[Choice]
	groups []ChoiceGroup
}

// Flat makes a plain list of choices.
func Flat(list ...Choice) Choices { return Choices{flat: list} }

// Grouped makes choices in groups.
func Grouped(groups ...ChoiceGroup) Choices { return Choices{groups: groups} }

// All gives the choices without their groups.
func (c Choices) All() []Choice {
	all := append([]Choice(nil), c.flat...)
	for _, g := range c.groups {
		all = append(all, g.Options...)
	}
	return all
}

// Has reports whether a value can be chosen.
func (c Choices) Has(value string) bool {
	for _, choice := range c.All() {
		if choice.Value == value {
			return true
		}
	}
	return false
}

// MarshalJSON writes the choices or the groups.
func (c Choices) MarshalJSON() ([]byte, error) {
	if len(c.groups) > 0 {
		return encode(c.groups)
	}
	return encode(c.flat)
}

func (SelectOption) configOption()  {}
func (BooleanOption) configOption() {}

// Validate says what keeps the option from being sent: among other things the
// current value has to be one of the choices.
func (o SelectOption) Validate() error {
	err := errors.Join(needText("id", o.ID), needText("name", o.Name), each("options", o.Options.All()))
	if !o.Options.Has(o.CurrentValue) {
		err = errors.Join(err, invalid("currentValue", "is not among the options: "+o.CurrentValue))
	}
	seen := map[string]bool{}
	for _, c := range o.Options.All() {
		if seen[c.Value] {
			err = errors.Join(err, invalid("options", "have a value twice: "+c.Value))
		}
		seen[c.Value] = true
	}
	return err
}

// Validate says what keeps the option from being sent.
func (o BooleanOption) Validate() error {
	return errors.Join(needText("id", o.ID), needText("name", o.Name))
}
