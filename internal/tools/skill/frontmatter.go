package skill

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
)

// front is what a SKILL.md says about itself before its instructions.
type front struct {
	Name        string `yaml:"name"`
	Description string `yaml:"description"`
	// UserOnly keeps a skill from the model.
	UserOnly bool `yaml:"disable-model-invocation"`
}

var (
	errNoFront       = errors.New("it does not begin with a block between two lines ---")
	errNoDescription = errors.New("its first block has no description")
	errFrontTooLong  = errors.New("its first block is too long")
)

// maxFront bounds the first block, in bytes.
const maxFront = 16 << 10

// parse splits a SKILL.md into what it says about itself and its instructions.
func parse(text string) (f front, body string, err error) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	block, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return f, "", errNoFront
	}
	// The closing line may come at once, or end the file.
	head, body, ok := strings.Cut("\n"+block+"\n", "\n---\n")
	if !ok {
		return f, "", errNoFront
	}
	if len(head) > maxFront {
		return f, "", errFrontTooLong
	}
	if err := decode(head, &f); err != nil {
		// Many hands write a colon into an unquoted description, which YAML
		// does not allow. The keys that matter are understood all the same.
		if f = lines(head); f.Description == "" {
			return f, "", err
		}
	}
	f.Name, f.Description = strings.TrimSpace(f.Name), strings.Join(strings.Fields(f.Description), " ")
	if f.Description == "" {
		return f, "", errNoDescription
	}
	return f, strings.Trim(body, "\n"), nil
}

// decode reads the block as YAML. The parser gets text from anywhere, so a panic
// of its is an error like others.
func decode(block string, f *front) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("its first block is no YAML: %v", v)
		}
	}()
	if err := yaml.Unmarshal([]byte(block), f); err != nil {
		first, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("its first block is no YAML: %s", first)
	}
	return nil
}

// lines reads "key: value" lines.
func lines(block string) (f front) {
	for line := range strings.SplitSeq(block, "\n") {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		value = strings.TrimSpace(value)
		switch key {
		case "name":
			f.Name = value
		case "description":
			f.Description = value
		case "disable-model-invocation":
			f.UserOnly = value == "true"
		}
	}
	return f
}
