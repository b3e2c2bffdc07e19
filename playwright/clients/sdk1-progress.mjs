// The TypeScript SDK 1.x with a call that requests progress, whose response is
// therefore a stream:
//
//   node sdk1-progress.mjs URL TOOL
//
// The result of the call goes to stdout.

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [, , url, tool] = process.argv;
const client = new Client({ name: "sdk1", version: "1.0.0" });
await client.connect(new StreamableHTTPClientTransport(new URL(url)));
const result = await client.callTool({ name: tool, arguments: {} }, undefined, { onprogress: () => {}, timeout: 60_000 });
process.stdout.write(JSON.stringify(result) + "\n", () => process.exit(0));
