// The TypeScript SDK 1.x.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, ResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { answer, onNotification, options, run, transportOptions } from "./repl.mjs";

const client = new Client({ name: "sdk1", version: "1.0.0" }, { capabilities: options.capabilities ?? {} });
const transport = new StreamableHTTPClientTransport(new URL(options.url), transportOptions());
client.fallbackRequestHandler = async (request) => answer(request);
client.fallbackNotificationHandler = onNotification;

await run(
  async () => {
    await client.connect(transport);
    return {
      protocolVersion: transport.protocolVersion,
      serverInfo: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    };
  },
  {
    listTools: () => client.listTools(),
    callTool: ({ params }) => client.callTool(params),
    request: ({ method, params }) => client.request({ method, params }, ResultSchema),
    // Calls as a task and returns all messages, up to the given type.
    callTask: async ({ params, until }) => {
      const messages = [];
      for await (const message of client.experimental.tasks.callToolStream(params, CallToolResultSchema, { task: { ttl: 60_000 } })) {
        messages.push(message);
        if (message.type === until) break;
      }
      return { messages };
    },
    end: async () => {
      await transport.terminateSession();
      await client.close();
    },
  },
);
