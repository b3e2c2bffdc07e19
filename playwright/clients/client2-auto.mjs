// The TypeScript client 2.x with version detection. It uses 2026-07-28 without a
// session if the server supports it, and otherwise opens a session.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { visit, withBearer } from "./visit.mjs";

await visit("client2-auto", async (url, bearer) => {
  const client = new Client({ name: "client2-auto", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  const transport = new StreamableHTTPClientTransport(url, withBearer(bearer));
  await client.connect(transport);
  return { client, transport, protocolVersion: client.getNegotiatedProtocolVersion() };
});
