// Package skill has the tool skill and the list of skills in the prompt. Skills
// are loaded in three steps: the prompt has a line for each, the tool gives the
// instructions of one, and the files it names are read when they are needed.
package skill

import (
	"context"
	_ "embed" // the tool's description
	"fmt"
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/cards"
	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
	"github.com/dsh-acp/dsh-acp/internal/tools"
)

// Name is the tool's name.
const Name = "skill"

//go:embed skill.md
var description string

// Register adds the tool to a scope.
func Register(scope *registry.Scope, c *Catalogue) error {
	_, err := scope.Register(Definition(c))
	return err
}

// Definition is the skill tool over a catalogue.
func Definition(c *Catalogue) registry.Definition {
	return registry.Definition{
		Name:        Name,
		Description: strings.TrimSpace(description),
		Parameters: schema.Params{
			schema.Required("name", schema.String("The skill's name, exactly as it is listed.")),
		},
		Output: registry.Output{
			Schema: mustSchema(schema.ClosedObject("",
				schema.Required("name", schema.String("The skill's name.")),
				schema.Required("provider", schema.Enum("Where it comes from.", "project", "user")),
				schema.Optional("resourceBase", schema.ClosedObject("Where its files are.",
					schema.Required("kind", schema.Enum("What kind of place that is.", "directory")),
					schema.Required("path", schema.String("Its absolute path.")),
				)),
				schema.Required("content", schema.String("Its instructions.")),
			)),
			Render: render,
		},
		Execute:     c.execute,
		PresentCall: presentCall,
	}
}

func (c *Catalogue) execute(_ context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
	name := args.GetString("name")
	if !validName.MatchString(name) {
		return jsonvalue.Value{}, fmt.Errorf("invalid skill name %s", jsonvalue.String(name))
	}
	skills, _ := c.List(tools.Cwd(run.Execution()))
	for _, s := range skills {
		if s.Name != name {
			continue
		}
		if s.UserOnly {
			return jsonvalue.Value{}, fmt.Errorf("skill %q is not available for model invocation", name)
		}
		value, err := c.value(s)
		if err != nil {
			break // it went away, or bad, since it was listed
		}
		return value, nil
	}
	return jsonvalue.Value{}, fmt.Errorf("skill %q is unknown or no longer available", name)
}

// value reads a skill; it is the tool's value.
func (c *Catalogue) value(s Skill) (jsonvalue.Value, error) {
	body, err := c.load(s)
	if err != nil {
		return jsonvalue.Value{}, err
	}
	return jsonvalue.Object(
		jsonvalue.Member{Key: "name", Value: jsonvalue.String(s.Name)},
		jsonvalue.Member{Key: "provider", Value: jsonvalue.String(s.Provider)},
		jsonvalue.Member{Key: "resourceBase", Value: jsonvalue.Object(
			jsonvalue.Member{Key: "kind", Value: jsonvalue.String("directory")},
			jsonvalue.Member{Key: "path", Value: jsonvalue.String(strings.ToValidUTF8(s.Dir, "\uFFFD"))},
		)},
		jsonvalue.Member{Key: "content", Value: jsonvalue.String(body)},
	), nil
}

// attribute escapes a text for a place where markup counts.
var attribute = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

func render(_, value jsonvalue.Value) ([]content.Block, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "<skill_content name=\"%s\">\n", attribute.Replace(value.GetString("name")))
	if base := value.Get("resourceBase"); base.IsObject() {
		b.WriteString("<skill_resources>\nBase directory for this skill: " + attribute.Replace(base.GetString("path")) +
			"\nResolve relative paths mentioned by this skill against the base directory before using them. Load referenced resources only as needed.\n</skill_resources>\n\n")
	}
	// The instructions are for reading, code and all, so they stay as they are,
	// except that they cannot end the element.
	body := strings.ReplaceAll(value.GetString("content"), "</skill_", "<\\/skill_")
	b.WriteString("<skill_instructions>\n" + body + "\n</skill_instructions>\n</skill_content>")
	return []content.Block{content.Text(b.String())}, nil
}

func presentCall(args jsonvalue.Value) *cards.Call {
	name := args.GetString("name")
	return &cards.Call{Card: cards.Generic, Kind: cards.KindRead, Title: "Load skill " + name, RawInput: jsonvalue.String(name)}
}

// mustSchema converts the literal of the output schema.
func mustSchema(s schema.Spec) jsonvalue.Value {
	v, err := s.JSONSchema()
	if err != nil {
		panic("skill: the output schema is wrong: " + err.Error()) // a literal; tests build it
	}
	return v
}
