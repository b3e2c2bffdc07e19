// A server of SDK 1.x whose tool needs the user to open a URL first: the first call of
// each errand fails with UrlElicitationRequiredError, later ones succeed.
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { UrlElicitationRequiredError } from "@modelcontextprotocol/sdk/types.js";
import * as z from "zod";
import { serveSessions } from "./serve.mjs";

const begun = new Set();

serveSessions(() => {
  const server = new McpServer({ name: "urls", version: "1.0.0" });
  server.registerTool("agree", { description: "Needs an agreement.", inputSchema: { errand: z.string() } }, ({ errand }) => {
    if (begun.has(errand)) return { content: [{ type: "text", text: `agreed on ${errand}` }] };
    begun.add(errand);
    if (server.server.getClientCapabilities()?.elicitation?.url) {
      const complete = server.server.createElicitationCompletionNotifier(errand);
      setTimeout(() => complete().catch(console.error), 300);
    }
    const url = `https://example.com/agree/${errand}`;
    throw new UrlElicitationRequiredError([{ mode: "url", elicitationId: errand, url, message: `Please agree on ${errand}.` }]);
  });
  return server;
});
