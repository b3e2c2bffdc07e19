// The TypeScript SDK 2.x. The option "legacy" selects the handshake.
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { SkillsClient } from "@modelcontextprotocol/client/ext/skills";
import * as z from "zod/v4";
import { answer, onNotification, options, run, transportOptions } from "./repl.mjs";

const client = new Client(
  { name: "sdk2", version: "1.0.0" },
  { capabilities: options.capabilities ?? {}, versionNegotiation: { mode: options.legacy ? "legacy" : "auto" } },
);
const transport = new StreamableHTTPClientTransport(new URL(options.url), transportOptions());
for (const method of Object.keys(options.results ?? {})) client.setRequestHandler(method, async (request) => answer(request));
client.fallbackNotificationHandler = onNotification;

await run(
  async () => {
    await client.connect(transport);
    return {
      protocolVersion: client.getNegotiatedProtocolVersion(),
      serverInfo: client.getServerVersion(),
      capabilities: client.getServerCapabilities(),
      instructions: client.getInstructions(),
    };
  },
  {
    listTools: () => client.listTools(),
    callTool: ({ params }) => client.callTool(params),
    request: ({ method, params }) => client.request({ method, params }, z.looseObject({})),
    // Lists the skills and reads their files, each compared with its digest.
    skills: async () => {
      const host = new SkillsClient(client);
      const { skills } = await host.list();
      const read = [];
      for (const { uri } of skills) {
        const { skill } = await host.get(uri);
        const texts = [];
        for (const file of skill.resources) texts.push((await host.read(skill, file.uri)).text);
        const { resources } = await host.readDirectory(uri.slice(0, uri.lastIndexOf("/")));
        read.push({ uri, name: skill.frontmatter.name, texts, children: resources.map((child) => child.uri) });
      }
      return { skills: read };
    },
    end: () => client.close(),
  },
);
