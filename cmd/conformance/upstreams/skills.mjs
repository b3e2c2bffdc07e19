// A server of SDK 2.x with skills. SKILLS_TEXT is part of every file, so that the
// contents of two of these servers differ at equal URIs.
import { McpServer } from "@modelcontextprotocol/server";
import { SkillsExtension, memorySkillFiles } from "@modelcontextprotocol/server/ext/skills";
import { serveStateless } from "./serve.mjs";

const text = process.env.SKILLS_TEXT ?? "the shop";
const skill = (name, description) => `---\nname: ${name}\ndescription: ${description} for ${text}.\n---\n\nSee [the guide](references/GUIDE.md) of ${text}.\n`;

const catalog = await SkillsExtension.load(
  memorySkillFiles({
    "refunds/SKILL.md": skill("refunds", "Handles refunds"),
    "refunds/references/GUIDE.md": `The guide of ${text}.\n`,
    "invoices/SKILL.md": skill("invoices", "Writes invoices"),
    "invoices/references/GUIDE.md": `Invoices of ${text}.\n`,
  }),
  { strict: true },
);

serveStateless(() => {
  const server = new McpServer({ name: "skills", version: "1.0.0" }, { capabilities: { tools: {}, resources: {} } });
  server.registerTool("whose", { description: "Returns whose skills these are." }, () => ({ content: [{ type: "text", text }] }));
  catalog.attach(server);
  return server;
});
