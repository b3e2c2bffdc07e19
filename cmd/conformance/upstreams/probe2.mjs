// A server of SDK 2.x, without sessions, whose tool depends on the client's
// capabilities. It declares no extension. Another tool returns an array.
import { getUiCapability } from "@modelcontextprotocol/ext-apps/server";
import { McpServer, fromJsonSchema } from "@modelcontextprotocol/server";
import { serveStateless } from "./serve.mjs";

serveStateless(() => {
  const server = new McpServer({ name: "probe2", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.registerTool("show", { description: "Says whether it would show an app." }, () => ({
    content: [{ type: "text", text: getUiCapability(server.server.getClientCapabilities()) ? "APP" : "TEXT" }],
  }));
  const outputSchema = fromJsonSchema({ type: "array", items: { $ref: "#/$defs/entry" }, $defs: { entry: { type: "integer" } } });
  server.registerTool("numbers", { description: "Returns some numbers.", outputSchema }, () => ({ content: [], structuredContent: [1, 2, 3] }));
  return server;
});
