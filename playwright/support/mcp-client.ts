import { Client as StatelessClient, StreamableHTTPClientTransport as StatelessTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Page } from "@playwright/test";

import type { Clicks } from "./clicks.ts";

/** A server in the configuration of a client. */
export interface ClientServer {
  url: string;
  headers: Record<string, string>;
}

/** Copies the configuration of Cursor from a page with snippets, as a user does. The page needs the clipboard. */
export async function copyServer(page: Page, clicks: Clicks): Promise<ClientServer> {
  await clicks.on(page.getByRole("radio", { name: "Cursor" }));
  await clicks.on(page.getByRole("button", { name: "Copy: Cursor" }));
  const pasted = JSON.parse(await page.evaluate(() => navigator.clipboard.readText())) as { mcpServers: Record<string, ClientServer> };
  return Object.values(pasted.mcpServers)[0]!;
}

/** Connects a client of the TypeScript SDK, which most clients are built on. */
export async function connect({ url, headers }: ClientServer): Promise<Client> {
  const client = new Client({ name: "cursor", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

/** Returns the sorted names of the tools that a client gets with a configuration. */
export async function toolsOf(server: ClientServer): Promise<string[]> {
  const client = await connect(server);
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name).sort();
}

/** Does the same as toolsOf with a client of the protocol 2026-07-28. */
export async function toolsOfStateless({ url, headers }: ClientServer): Promise<string[]> {
  const client = new StatelessClient({ name: "agent", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  await client.connect(new StatelessTransport(new URL(url), { requestInit: { headers } }));
  if (client.getNegotiatedProtocolVersion() !== "2026-07-28") throw new Error(`the protocol is ${client.getNegotiatedProtocolVersion()}`);
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name).sort();
}

/** The names without those of the built-in tools. */
export const ofServers = (names: string[]) => names.filter((name) => !name.startsWith("gateway_"));
