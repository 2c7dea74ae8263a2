package sdk

import (
	"math"
	"unicode/utf8"

	"github.com/dsh-acp/dsh-acp/internal/jsonvalue"
)

// The parts of a block that are the same for every tool set (C3.2), all ASCII.
const (
	blockJSONValue = "type JsonValue = null | boolean | number | string | JsonValue[] | { [key: string]: JsonValue }\n\n"

	blockTail = `

type ToolName = keyof ToolOutputMap

declare class ToolCallError extends Error {
  readonly name: "ToolCallError";
  readonly toolName: ToolName;
}

declare const tools: {
  [K in ToolName]: (args: ToolArgsMap[K]) => Promise<ToolOutputMap[K]>;
}`
)

// Block returns the TypeScript declarations of a tool set (C3.2), without the
// fence around them. The order of the tools does not matter.
func Block(tools []Tool) string {
	out, _ := appendBlock(nil, sorted(tools), -1)
	return string(out)
}

// appendBlock is Block for tools already sorted. It gives up, and returns
// false, once the block has more characters than the limit; negative, none.
func appendBlock(out []byte, tools []Tool, limit int) ([]byte, bool) {
	if limit < 0 {
		limit = math.MaxInt
	}
	e := emitter{out: append(out, blockJSONValue...)}
	fits := e.budget(len(out), limit-len(blockTail))
	ok := e.toolMap("ToolArgsMap", tools, fits, func(t *Tool) {
		e.out = appendDoc(e.out, t.Description, 1)
		e.toolType(t.Name, t.Parameters)
	})
	e.out = append(e.out, "\n\n"...)
	ok = ok && e.toolMap("ToolOutputMap", tools, fits, func(t *Tool) {
		e.toolType(t.Name, t.Output)
	})
	ok = ok && fits()
	return append(e.out, blockTail...), ok
}

// budget returns a function that tells whether the text from start on has at
// most limit characters. Each call counts only what is new.
func (e *emitter) budget(start, limit int) (fits func() bool) {
	counted, chars := start, 0
	return func() bool {
		chars += utf8.RuneCount(e.out[counted:])
		counted = len(e.out)
		return chars <= limit
	}
}

// toolMap prints one interface with a member a tool, as far as it fits.
func (e *emitter) toolMap(name string, tools []Tool, fits func() bool, member func(*Tool)) bool {
	e.out = append(e.out, "interface "...)
	e.out = append(e.out, name...)
	e.out = append(e.out, " {"...)
	if len(tools) > 0 {
		e.out = append(e.out, '\n')
	}
	for i := range tools {
		member(&tools[i])
		if !fits() {
			return false
		}
	}
	e.out = append(e.out, '}')
	return true
}

// toolType prints one line of a toolMap.
func (e *emitter) toolType(name string, schema jsonvalue.Value) {
	e.out = appendIndent(e.out, 1)
	e.out = appendKey(e.out, name)
	e.out = append(e.out, ": "...)
	e.schema(schema, 1)
	e.out = append(e.out, ";\n"...)
}

// Declaration returns the typed declaration of one tool on its own: what
// tools.$describe answers.
func Declaration(t Tool) string {
	e := emitter{out: []byte("declare const tools: {\n")}
	e.out = appendDoc(e.out, t.Description, 1)
	e.out = appendIndent(e.out, 1)
	e.out = appendKey(e.out, t.Name)
	e.out = append(e.out, "(args: "...)
	e.schema(t.Parameters, 1)
	e.out = append(e.out, "): Promise<"...)
	e.schema(t.Output, 1)
	return string(append(e.out, ">;\n}"...))
}
