// A server of SDK 1.x whose tool logs after some time and soon returns: on the stream of
// the call, or, as servers do that don't tie a message to a call, on the session's own.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import * as z from "zod";
import { serveSessions } from "./serve.mjs";

serveSessions(() => {
  const server = new McpServer({ name: "logs", version: "1.0.0" }, { capabilities: { logging: {} } });
  const inputSchema = { text: z.string(), own: z.boolean().default(false), wait: z.number().default(0) };
  server.registerTool("log", { description: "Logs a text.", inputSchema }, async ({ text, own, wait }, extra) => {
    const pause = (duration) => new Promise((resolve) => setTimeout(resolve, duration));
    const params = { level: "info", data: text };
    await pause(wait);
    if (own) await extra.sendNotification({ method: "notifications/message", params });
    else await server.server.sendLoggingMessage(params, extra.sessionId);
    await pause(50);
    return { content: [{ type: "text", text: `logged ${text}` }] };
  });
  return server;
});
