package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
	"github.com/dsh-acp/dsh-acp/internal/registry"
	"github.com/dsh-acp/dsh-acp/internal/schema"
)

// TypeTools is the event that says which names of tools stand for which tools of
// a server, for those whose name does not say it itself: {server, tools: [{name,
// tool}]}. The projection shows the originals.
const TypeTools = "mcp/tools"

// maxInstructions bounds what a server may tell the model about itself, in bytes.
const maxInstructions = 4 << 10

// remoteTool is a tool that is offered.
type remoteTool struct {
	server  *server
	raw     rawTool
	name    string // for the model
	info    ToolInfo
	promise *schema.Validator // of structured content; nil for none
	dispose func()
}

// offer makes the scope hold these tools of the server: what is new joins, what
// is gone leaves, what has not changed stays where it is. A tool that cannot be
// offered is left out with its reason.
func (v *server) offer(list []rawTool) {
	v.mu.Lock()
	before := v.offered
	v.mu.Unlock()
	kept := map[string]*remoteTool{}
	for _, t := range before {
		kept[t.raw.name] = t
	}
	var refused []RefusedTool
	var now []*remoteTool
	var fresh []rawTool
	seen := map[string]bool{}
	for _, raw := range list {
		if raw.problem == "" && seen[raw.name] {
			raw.problem = "the server lists it twice"
		}
		if raw.problem != "" {
			refused = append(refused, RefusedTool{raw.name, raw.problem})
			continue
		}
		seen[raw.name] = true
		if old := kept[raw.name]; old != nil && old.raw.equal(raw) {
			delete(kept, raw.name)
			now = append(now, old)
			continue
		}
		fresh = append(fresh, raw)
	}
	for _, old := range kept {
		v.drop(old)
	}
	var hidden []*remoteTool
	for _, raw := range fresh {
		t := v.tool(raw)
		if err := v.register(t); err != nil {
			refused = append(refused, RefusedTool{raw.name, err.Error()})
			continue
		}
		now = append(now, t)
		if t.name != prefix+v.cfg.Name+"__"+raw.name {
			hidden = append(hidden, t)
		}
	}
	v.mu.Lock()
	news := newlyRefused(v.refused, refused)
	v.offered, v.refused = now, refused
	v.mu.Unlock()
	v.record(hidden)
	var reasons []string
	for i, r := range news {
		v.log.Warn("a tool of the MCP server is left out", "tool", r.Tool, "reason", r.Reason)
		if i < 3 {
			reasons = append(reasons, r.Tool+": "+r.Reason)
		}
	}
	if more := len(news) - len(reasons); more > 0 {
		reasons = append(reasons, fmt.Sprintf("and %d more", more))
	}
	if len(news) > 0 {
		v.s.notify(true, fmt.Sprintf("%s of the MCP server %s cannot be offered", count(len(news), "tool"), v.cfg.Name), strings.Join(reasons, "; "))
	}
}

func newlyRefused(before, now []RefusedTool) (news []RefusedTool) {
	known := map[RefusedTool]bool{}
	for _, r := range before {
		known[r] = true
	}
	for _, r := range now {
		if !known[r] {
			news = append(news, r)
		}
	}
	return news
}

// withdraw takes every tool away.
func (v *server) withdraw() {
	v.mu.Lock()
	gone, owner := v.offered, v.owner
	v.offered, v.owner = nil, nil
	v.mu.Unlock()
	for _, t := range gone {
		v.drop(t)
	}
	if owner != nil {
		owner.Dispose()
	}
}

func (v *server) drop(t *remoteTool) {
	t.dispose()
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	if v.s.tools[t.name] == t {
		delete(v.s.tools, t.name)
	}
}

func (v *server) tool(raw rawTool) *remoteTool {
	t := &remoteTool{
		server: v, raw: raw, name: ToolName(v.cfg.Name, raw.name),
		info: ToolInfo{Server: v.cfg.Name, Tool: raw.name, Vouched: v.cfg.Origin == FromUser, Identity: v.identity(raw)},
	}
	t.info.ReadOnly, _ = raw.annotations.Get("readOnlyHint").Bool()
	t.info.Destructive, _ = raw.annotations.Get("destructiveHint").Bool()
	return t
}

// identity is a hash of where a tool comes from and of what it takes.
func (v *server) identity(t rawTool) string {
	sum := sha256.New()
	for _, part := range []string{string(v.cfg.Origin), string(v.cfg.Transport), v.cfg.Target(), t.name, t.input.String(), t.annotations.String()} {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

func (v *server) register(t *remoteTool) error {
	v.s.mu.Lock()
	if other := v.s.tools[t.name]; other != nil {
		v.s.mu.Unlock()
		return fmt.Errorf("its name cannot be told from that of %s of %s", other.raw.name, other.info.Server)
	}
	v.s.tools[t.name] = t
	v.s.mu.Unlock()
	dispose, err := v.s.opt.Scope.Register(t.definition())
	if err != nil {
		v.s.mu.Lock()
		delete(v.s.tools, t.name)
		v.s.mu.Unlock()
		return err
	}
	t.dispose = dispose
	return nil
}

// definition is the tool as the registry knows it.
func (t *remoteTool) definition() registry.Definition {
	structured, validator := promise(t.raw.output)
	t.promise = validator
	description := t.raw.description
	if description == "" {
		description = fmt.Sprintf("The tool %s of the MCP server %s.", t.raw.name, t.info.Server)
	}
	return registry.Definition{
		Name: t.name, Description: description, RawParameters: t.raw.input,
		Output: registry.Output{Schema: valueSchema(structured), Render: render},
		Execute: func(ctx context.Context, args jsonvalue.Value, run registry.Run) (jsonvalue.Value, error) {
			return t.server.call(ctx, t, args, run)
		},
		ConcurrencySafe: func(jsonvalue.Value) bool { return t.info.ReadOnly },
		FinalizeContent: t.server.finalize,
	}
}

// record logs which tools hide behind names that do not say so.
func (v *server) record(tools []*remoteTool) {
	if len(tools) == 0 || v.s.opt.Record == nil {
		return
	}
	var list []jsonvalue.Value
	for _, t := range tools {
		list = append(list, jsonvalue.Object(
			jsonvalue.Member{Key: "name", Value: jsonvalue.String(t.name)},
			jsonvalue.Member{Key: "tool", Value: jsonvalue.String(t.raw.name)},
		))
	}
	err := v.s.opt.Record(TypeTools, jsonvalue.Object(
		jsonvalue.Member{Key: "server", Value: jsonvalue.String(v.cfg.Name)},
		jsonvalue.Member{Key: "tools", Value: jsonvalue.Array(list...)},
	))
	if err != nil {
		v.log.Warn("the names of MCP tools could not be logged", "err", err)
	}
}

// instruct adds what the server says about itself to the prompt.
func (v *server) instruct(init *mcp.InitializeResult) {
	text := strings.TrimSpace(init.Instructions)
	v.mu.Lock()
	old := v.owner
	v.owner = nil
	v.mu.Unlock()
	if old != nil {
		old.Dispose()
	}
	if text == "" {
		return
	}
	if len(text) > maxInstructions {
		text = strings.ToValidUTF8(text[:maxInstructions], "") + "…"
	}
	owner := registry.NewOwner("the MCP server " + v.cfg.Name)
	_, err := v.s.opt.Scope.OwnedBy(owner).AddSection(registry.Section{
		Name: "mcp:" + v.cfg.Name, Order: registry.OrderGuidance + 50, Verbatim: true,
		Text: registry.StaticText("# MCP server " + oneLine(v.cfg.Name, 100) + "\n\n" + text),
	})
	if err != nil {
		v.log.Warn("the server's instructions are left out of the prompt", "err", err)
		return
	}
	v.mu.Lock()
	v.owner = owner
	v.mu.Unlock()
}
