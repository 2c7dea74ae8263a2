// Drives an agent with the official TypeScript SDK: one turn, one JSON line a
// message seen. Exit 0 when the turn ended as it should.
// usage: node sdk-drive.mjs CWD PROMPT allow|reject|cancel-after AGENT [ARG...]
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [cwd, prompt, mode, command, ...args] = process.argv.slice(2);
const print = (event, body) => console.log(JSON.stringify({ event, ...body }));
const agent = spawn(command, args, { cwd, stdio: ["pipe", "pipe", "inherit"] });
const left = new Promise((resolve) => agent.once("exit", (code) => resolve(code)));
const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));

const editor = acp
  .client({ name: "dsh-acp-tests" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    print("permission", params);
    const option = params.options.find((o) => o.kind === (mode === "reject" ? "reject_once" : "allow_once"));
    return { outcome: { outcome: "selected", optionId: option.optionId } };
  })
  .onNotification(acp.methods.client.session.update, ({ params }) => print("update", params));

let ok = false;
await editor.connectWith(stream, async (agentSide) => {
  const method = acp.methods.agent;
  print("initialized", await agentSide.request(method.initialize, {
    protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {}, clientInfo: { name: "dsh-acp-tests", version: "1" },
  }));
  const { sessionId } = await agentSide.request(method.session.new, { cwd, mcpServers: [] });
  const turn = agentSide.request(method.session.prompt, { sessionId, prompt: [{ type: "text", text: prompt }] });
  if (mode === "cancel-after") setTimeout(() => agentSide.notify(method.session.cancel, { sessionId }), 500);
  const end = await turn;
  print("end", end);
  ok = end.stopReason === (mode === "cancel-after" ? "cancelled" : "end_turn");
});
agent.stdin.end();
const timer = setTimeout(() => agent.kill("SIGKILL"), 60000);
const code = await left;
clearTimeout(timer);
print("exit", { code });
process.exit(ok && code === 0 ? 0 : 1);
