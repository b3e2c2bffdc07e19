// A local server for tests, over standard input and output:
//
//   node program.mjs serve [TEXT]     has the tool echo and prints TEXT to standard error
//   node program.mjs silent           prints a line to standard error and never responds
//   node program.mjs end              ends with exit code 1
import { createInterface } from "node:readline";

const [mode, text = "listening on stdio"] = process.argv.slice(2);

if (mode === "end") {
  console.error("cannot open notes.db: no such file");
  process.exit(1);
}
console.error(mode === "silent" ? "downloading 214 packages" : text);

const results = {
  initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "notes", version: "1.0.0" } }),
  ping: () => ({}),
  "tools/list": () => ({ tools: [{ name: "echo", description: "Returns its text.", inputSchema: { type: "object", properties: { text: { type: "string" } } } }] }),
  "tools/call": ({ arguments: { text } }) => ({ content: [{ type: "text", text }] }),
};

createInterface(process.stdin).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (mode === "silent" || id === undefined) return;
  const answer = results[method] ? { result: results[method](params ?? {}) } : { error: { code: -32601, message: `no method ${method}` } };
  process.stdout.write(`${JSON.stringify({ jsonrpc: "2.0", id, ...answer })}\n`);
});
