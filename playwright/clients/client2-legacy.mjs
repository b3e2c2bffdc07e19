// The TypeScript client 2.x with its defaults. It opens a session by initialize.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { visit, withBearer } from "./visit.mjs";

await visit("client2-legacy", async (url, bearer) => {
  const client = new Client({ name: "client2-legacy", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(url, withBearer(bearer));
  await client.connect(transport);
  return { client, transport, protocolVersion: client.getNegotiatedProtocolVersion() };
});
