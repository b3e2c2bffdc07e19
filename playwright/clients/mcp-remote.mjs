// mcp-remote connects clients that only support local servers to a remote
// one. The TypeScript SDK 1.x communicates with it over stdin and stdout.
import { createRequire } from "node:module";
import path from "node:path";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { visit } from "./visit.mjs";

const program = path.join(path.dirname(createRequire(import.meta.url).resolve("mcp-remote/package.json")), "dist", "proxy.js");

await visit("mcp-remote", async (url, bearer) => {
  const client = new Client({ name: "mcp-remote-test", version: "1.0.0" });
  const header = bearer ? ["--header", `Authorization: Bearer ${bearer}`] : [];
  const transport = new StdioClientTransport({ command: process.execPath, args: [program, url.href, "--allow-http", ...header], stderr: "inherit" });
  let protocolVersion;
  transport.setProtocolVersion = (version) => (protocolVersion = version);
  await client.connect(transport);
  return { client, transport, protocolVersion };
});
