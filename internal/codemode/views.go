package codemode

import (
	"slices"
	"strings"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/codemode/sdk"
	"github.com/dsh-acp/dsh-acp/internal/registry"
)

// views keeps the SDKs of the tool sets used last. A set is the same as long as
// it holds the same registrations: each is an immutable snapshot. The sets are
// kept alive with their SDKs, so that an address means one tool.
type views struct {
	sdks *sdk.Cache[*toolSet]

	mu   sync.Mutex
	sets []*toolSet // used last first
}

type toolSet struct {
	tools  []*registry.Tool // in the order of whoever asked
	sorted *toolSet         // the same tools by name; itself when they are
}

func newViews() *views { return &views{sdks: sdk.NewCache[*toolSet](0)} }

// get returns the SDK of a tool set, whatever order it comes in.
func (v *views) get(tools []*registry.Tool, o sdk.Options) *sdk.SDK {
	return v.sdks.Get(v.set(tools).sorted, func() ([]sdk.Tool, sdk.Options) {
		list := make([]sdk.Tool, len(tools))
		for i, t := range tools {
			list[i] = sdk.Tool{Name: t.Name(), Description: t.Description(), Parameters: t.Parameters(), Output: t.OutputSchema()}
		}
		return list, o
	})
}

func (v *views) set(tools []*registry.Tool) *toolSet {
	v.mu.Lock()
	defer v.mu.Unlock()
	if s := v.find(tools); s != nil {
		return s
	}
	byName := slices.SortedFunc(slices.Values(tools), func(a, b *registry.Tool) int { return strings.Compare(a.Name(), b.Name()) })
	sorted := v.find(byName)
	if sorted == nil {
		sorted = v.add(byName)
		sorted.sorted = sorted
	}
	if slices.Equal(tools, byName) {
		return sorted
	}
	s := v.add(slices.Clone(tools))
	s.sorted = sorted
	return s
}

func (v *views) find(tools []*registry.Tool) *toolSet {
	for i, s := range v.sets {
		if slices.Equal(s.tools, tools) {
			copy(v.sets[1:i+1], v.sets[:i])
			v.sets[0] = s
			return s
		}
	}
	return nil
}

func (v *views) add(tools []*registry.Tool) *toolSet {
	s := &toolSet{tools: tools}
	v.sets = slices.Insert(v.sets, 0, s)
	if len(v.sets) > 2*sdk.DefaultCacheSize {
		v.sets = slices.Delete(v.sets, len(v.sets)-1, len(v.sets))
	}
	return s
}
