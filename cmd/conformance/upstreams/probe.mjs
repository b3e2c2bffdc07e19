// A server of SDK 1.x, with sessions, whose tool depends on the client's capabilities,
// and which declares extensions.
import { getUiCapability } from "@modelcontextprotocol/ext-apps/server";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { serveSessions } from "./serve.mjs";

serveSessions(() => {
  const server = new McpServer(
    { name: "probe", version: "1.0.0" },
    {
      capabilities: {
        extensions: {
          "io.modelcontextprotocol/ui": {},
          "com.example/vendor": { level: 3 },
          "io.modelcontextprotocol/oauth-client-credentials": {},
        },
      },
    },
  );
  server.registerTool("show", { description: "Says whether it would show an app." }, () => ({
    content: [{ type: "text", text: getUiCapability(server.server.getClientCapabilities()) ? "APP" : "TEXT" }],
  }));
  return server;
});
