// Package known is a small table of what models can do, for servers whose list
// of models says nothing but names. Configuration and the server's own words
// take precedence.
package known

import (
	"strings"

	"github.com/dsh-acp/dsh-acp/internal/model"
)

type entry struct {
	prefix          string
	context, output int64
	images, reasons bool
}

// table is looked up by the longest prefix of a name without its vendor.
var table = [...]entry{
	{"deepseek-chat", 128_000, 8_192, false, false},
	{"deepseek-reasoner", 128_000, 65_536, false, true},
	{"deepseek-v3", 128_000, 8_192, false, false},
	{"deepseek-r1", 128_000, 65_536, false, true},
	{"deepseek-v4", 1_000_000, 384_000, false, true},

	{"gpt-5", 400_000, 128_000, true, true},
	{"gpt-4.1", 1_047_576, 32_768, true, false},
	{"gpt-4o", 128_000, 16_384, true, false},
	{"gpt-4-turbo", 128_000, 4_096, true, false},
	{"gpt-oss", 131_072, 131_072, false, true},
	{"o1", 200_000, 100_000, true, true},
	{"o3", 200_000, 100_000, true, true},
	{"o4-mini", 200_000, 100_000, true, true},

	{"claude-opus-4", 200_000, 32_000, true, true},
	{"claude-opus-4-5", 200_000, 64_000, true, true},
	{"claude-opus-4-6", 200_000, 128_000, true, true},
	{"claude-opus-4-7", 200_000, 128_000, true, true},
	{"claude-opus", 200_000, 32_000, true, true},
	{"claude-sonnet", 200_000, 64_000, true, true},
	{"claude-haiku", 200_000, 64_000, true, true},
	{"claude-3-7-sonnet", 200_000, 64_000, true, true},
	{"claude-3-5", 200_000, 8_192, true, false},
	{"claude-3", 200_000, 4_096, true, false},
}

// Info fills what the table knows about the model of that name; only the ID is
// set when it knows nothing.
func Info(id string) model.Info {
	info := model.Info{ID: id}
	name := strings.ToLower(id[strings.LastIndexByte(id, '/')+1:])
	longest := -1
	for _, e := range table {
		if len(e.prefix) > longest && match(name, e.prefix) {
			longest = len(e.prefix)
			info.ContextWindow, info.MaxOutput, info.Images, info.Reasoning = e.context, e.output, e.images, e.reasons
		}
	}
	return info
}

// match requires the prefix to end where a word does, so that o1 is no o10.
func match(name, prefix string) bool {
	rest, ok := strings.CutPrefix(name, prefix)
	return ok && (rest == "" || strings.IndexByte("-.:@", rest[0]) >= 0)
}

// Merge fills what info leaves open from the table.
func Merge(info model.Info) model.Info {
	k := Info(info.ID)
	if info.ContextWindow == 0 {
		info.ContextWindow = k.ContextWindow
	}
	if info.MaxOutput == 0 {
		info.MaxOutput = k.MaxOutput
	}
	info.Images = info.Images || k.Images
	info.Reasoning = info.Reasoning || k.Reasoning
	return info
}

// Find is what is known of a model: what the configuration says of it, else what
// the server listed, with what is open filled from the table.
func Find(id string, configured, listed []model.Info) model.Info {
	for _, list := range [][]model.Info{configured, listed} {
		for _, i := range list {
			if i.ID == id {
				return Merge(i)
			}
		}
	}
	return Info(id)
}

// Configured puts what the user has said of a model over what is known: its
// context and its longest answer, in tokens, where they are more than 0, and
// whether it takes images, where that was said.
func Configured(i model.Info, contextWindow, maxOutput int64, images *bool) model.Info {
	if contextWindow > 0 {
		i.ContextWindow = contextWindow
	}
	if maxOutput > 0 {
		i.MaxOutput = maxOutput
	}
	if images != nil {
		i.Images = *images
	}
	return i
}
