package cards

import (
	"strconv"

	"github.com/dsh-acp/dsh-acp/internal/content"
	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// command shows a slash command that ran without the model: on load what was
// typed, and always what it said.
func (p *Projector) command(d jsonvalue.Value) []Update {
	n, _ := d.Get("n").Int64()
	id := "command-" + strconv.FormatInt(n, 10)
	var out []Update
	if input := d.GetString("input"); input != "" && p.opt.UserMessages {
		out = append(out, Message{Role: RoleUser, Block: content.Text(input), ID: id + "-user"})
	}
	for _, v := range d.Get("content").Elements() {
		if b, err := content.FromValue(v); err == nil {
			out = append(out, Message{Role: RoleAgent, Block: b, ID: id})
		}
	}
	return out
}
