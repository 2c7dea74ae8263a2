package prepare

import (
	"strconv"
	"strings"
	"sync"

	"github.com/dsh-acp/dsh-acp/internal/lazyregexp"
	"github.com/dsh-acp/dsh-acp/internal/model"
)

// Learned remembers what a server turned out to refuse or to want, so that each
// is found out once. The zero value is ready; it is safe for concurrent use.
type Learned struct {
	mu    sync.Mutex
	facts map[string]bool
	tools map[string]string // why a tool was refused, by name and schema
}

// Has reports whether a fact about a model was learned.
func (l *Learned) Has(modelID, fact string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.facts[modelID+" "+fact]
}

// Learn remembers a fact, and reports whether it is new.
func (l *Learned) Learn(modelID, fact string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.facts[modelID+" "+fact] {
		return false
	}
	if l.facts == nil {
		l.facts = map[string]bool{}
	}
	l.facts[modelID+" "+fact] = true
	return true
}

func toolKey(t model.ToolSchema) string { return t.Name + "\x00" + t.Parameters.String() }

// Refused says why the server refused a tool; "" when it did not. A tool whose
// schema has changed is another one.
func (l *Learned) Refused(t model.ToolSchema) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.tools) == 0 {
		return ""
	}
	return l.tools[toolKey(t)]
}

var (
	namedTool  = lazyregexp.New("(?i)(?:function|tool)s?(?:\\s+named)?\\s*[:=]?\\s*['\"`]([A-Za-z0-9_-]{1,64})['\"`]")
	toolNumber = lazyregexp.New(`tools(?:\[(\d+)\]|\.(\d+)\b)`)
)

// Blame looks for the tool that a refusal names, by its name or its number, and
// remembers it. It reports whether there is one; tools are those that were sent.
func (l *Learned) Blame(said, provider string, req *model.Request, tools *ToolSet) bool {
	at := -1
	for _, m := range namedTool.FindAllStringSubmatch(said, -1) {
		if i, ok := tools.byWire[m[1]]; ok {
			at = i
			break
		}
	}
	if m := toolNumber.FindStringSubmatch(said); at < 0 && m != nil {
		if n, err := strconv.Atoi(m[1] + m[2]); err == nil && n < len(tools.Tools) {
			at = n
		}
	}
	if at < 0 {
		return false
	}
	t, ok := req.Tool(tools.Tools[at].Name)
	if !ok {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tools == nil {
		l.tools = map[string]string{}
	}
	l.tools[toolKey(t)] = provider + " refuses it: " + strings.TrimSpace(said)
	return true
}
