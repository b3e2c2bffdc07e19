// The TypeScript SDK 1.x, which most clients in use are built on.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { visit, withBearer } from "./visit.mjs";

await visit("sdk1", async (url, bearer) => {
  const client = new Client({ name: "sdk1", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(url, withBearer(bearer));
  await client.connect(transport);
  return { client, transport, protocolVersion: transport.protocolVersion };
});
