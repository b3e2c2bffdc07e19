// The TypeScript client 2.x that asks first: it speaks 2026-07-28, without a
// session, to a server that offers it, and opens a session with any other.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { visit, withBearer } from "./visit.mjs";

await visit("client2-auto", async (url, bearer) => {
  const client = new Client({ name: "client2-auto", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  const transport = new StreamableHTTPClientTransport(url, withBearer(bearer));
  await client.connect(transport);
  return { client, transport, protocolVersion: client.getNegotiatedProtocolVersion() };
});
