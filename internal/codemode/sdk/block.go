package sdk

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
	out = append(out, blockJSONValue...)
	out = appendMap(out, "ToolArgsMap", tools, func(out []byte, t *Tool) []byte {
		out = appendDoc(out, t.Description, 1)
		out = appendIndent(out, 1)
		out = appendKey(out, t.Name)
		out = append(out, ": "...)
		return appendType(out, t.Parameters, 1)
	})
	out = append(out, "\n\n"...)
	out = appendMap(out, "ToolOutputMap", tools, func(out []byte, t *Tool) []byte {
		out = appendIndent(out, 1)
		out = appendKey(out, t.Name)
		out = append(out, ": "...)
		return appendType(out, t.Output, 1)
	})
	return append(out, blockTail...)
}

// appendMap writes one interface with a member a tool.
func appendMap(out []byte, name string, tools []Tool, member func([]byte, *Tool) []byte) []byte {
	out = append(out, "interface "...)
	out = append(out, name...)
	out = append(out, " {"...)
	if len(tools) == 0 {
		return append(out, '}')
	}
	out = append(out, '\n')
	for i := range tools {
		out = member(out, &tools[i])
		out = append(out, ";\n"...)
	}
	return append(out, '}')
}

// Declaration returns the typed declaration of one tool on its own: what
// tools.$describe answers.
func Declaration(t Tool) string {
	out := []byte("declare const tools: {\n")
	out = appendDoc(out, t.Description, 1)
	out = appendIndent(out, 1)
	out = appendKey(out, t.Name)
	out = append(out, "(args: "...)
	out = appendType(out, t.Parameters, 1)
	out = append(out, "): Promise<"...)
	out = appendType(out, t.Output, 1)
	out = append(out, ">;\n}"...)
	return string(out)
}
