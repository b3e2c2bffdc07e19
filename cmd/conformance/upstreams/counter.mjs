// A server of SDK 1.x with resources. Two of them have the same URIs; COUNT, the value
// of the counter, distinguishes them.
import { McpServer, ResourceTemplate } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { serveSessions } from "./serve.mjs";

const count = process.env.COUNT ?? "0";
const contents = (uri, text) => ({ contents: [{ uri, mimeType: "text/plain", text }] });

const subscribers = new Map(); // the servers of the sessions that subscribed, by URI

serveSessions(() => {
  const server = new McpServer({ name: "counter", version: "1.0.0" }, { capabilities: { resources: { subscribe: true } } });
  server.registerResource("counter", "v1://counter", { mimeType: "text/plain" }, (uri) => contents(uri.href, count));
  const template = new ResourceTemplate("v1://history/{day}", { list: undefined, complete: { day: (value) => [`${value}-of-${count}`] } });
  server.registerResource("history", template, { mimeType: "text/plain" }, (uri, { day }) => contents(uri.href, `${count} on ${day}`));
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
    subscribers.set(uri, (subscribers.get(uri) ?? new Set()).add(server.server));
    return {};
  });
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
    subscribers.get(uri)?.delete(server.server);
    return {};
  });
  server.registerTool("link", { description: "Links to the counter." }, () => ({
    content: [{ type: "resource_link", uri: "v1://counter", name: "counter" }],
  }));
  server.registerTool("open", { description: "Returns the URI that it received.", inputSchema: { uri: z.string() } }, ({ uri }) => ({
    content: [{ type: "text", text: `${count} got ${uri}` }],
  }));
  server.registerTool("touch", { description: "Reports a new value of the counter." }, async () => {
    const uri = "v1://counter";
    for (const subscriber of subscribers.get(uri) ?? []) await subscriber.sendResourceUpdated({ uri }).catch(console.error);
    return { content: [{ type: "text", text: "touched" }] };
  });
  return server;
});
