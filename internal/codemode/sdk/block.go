package sdk

import "github.com/dsh-acp/dsh-acp/internal/jsonvalue"

// The parts of a block that are the same for every tool set (C3.2).
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
	return string(appendBlock(nil, sorted(tools)))
}

// appendBlock is Block for tools already sorted.
func appendBlock(out []byte, tools []Tool) []byte {
	e := emitter{out: append(out, blockJSONValue...)}
	e.toolMap("ToolArgsMap", tools, func(t *Tool) {
		e.out = appendDoc(e.out, t.Description, 1)
		e.toolType(t.Name, t.Parameters)
	})
	e.out = append(e.out, "\n\n"...)
	e.toolMap("ToolOutputMap", tools, func(t *Tool) {
		e.toolType(t.Name, t.Output)
	})
	return append(e.out, blockTail...)
}

// toolMap prints one interface with a member a tool.
func (e *emitter) toolMap(name string, tools []Tool, member func(*Tool)) {
	e.out = append(e.out, "interface "...)
	e.out = append(e.out, name...)
	e.out = append(e.out, " {"...)
	if len(tools) > 0 {
		e.out = append(e.out, '\n')
	}
	for i := range tools {
		member(&tools[i])
	}
	e.out = append(e.out, '}')
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
