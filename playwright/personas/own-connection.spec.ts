import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";

import { Client as StatelessClient, StreamableHTTPClientTransport as StatelessTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitationCompleteNotificationSchema, UrlElicitationRequiredError } from "@modelcontextprotocol/sdk/types.js";
import type { Browser, Page } from "@playwright/test";

import { expectAccessible } from "../support/accessible.ts";
import { Clicks } from "../support/clicks.ts";
import type { Gateway } from "../support/gateway.ts";
import { type ClientServer, copyServer } from "../support/mcp-client.ts";
import { agree, startOAuthUpstream, stayHere, type OAuthUpstream } from "../support/oauth-upstream.ts";
import { addPerson, addProject, expect, pageOf, send, signIn, test as base, type Account } from "../support/signed-in.ts";

const account = (name: string): Account => ({ email: `${name}-${process.pid}@example.com`, name, password: "some quiet words here" });

/** A project whose server notes everyone uses with their own account. */
const test = base.extend<object, { notes: OAuthUpstream }>({
  notes: [
    async ({ gateway, people }, use) => {
      expect(people.admin.cookies).not.toEqual([]);
      const notes = await startOAuthUpstream();
      await addProject(gateway, "own", {}, { authMode: "api_key", personalKeys: { enabled: true, maxDays: 30 } });
      await send(gateway, "POST", "/api/projects/own/servers", { alias: "notes", url: notes.url, authType: "oauth", connection: "personal" });
      await use(notes);
      await notes.stop();
    },
    { scope: "worker" },
  ],
});

// One world for the file.
test.describe.configure({ mode: "default" });

/** Adds a member and returns their page and the configuration of a client with their key. */
async function member(browser: Browser, gateway: Gateway, name: string): Promise<{ page: Page; server: ClientServer }> {
  const who = account(name);
  await send(gateway, "POST", "/api/projects/own/access", { personId: await addPerson(gateway, who, "member"), toolset: null, role: "use" });
  const page = await pageOf(browser, gateway, await signIn(gateway, who));
  await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await stayHere(page);
  await page.goto("/me");
  await page.getByRole("link", { name: "New key" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Laptop");
  await page.getByRole("button", { name: "Create key" }).click();
  return { page, server: await copyServer(page, new Clicks()) };
}

/** Opens the link of a client and connects the account there. */
async function connectAt(page: Page, link: string, gateway: Gateway, notes: OAuthUpstream): Promise<void> {
  await page.goto(link);
  await expect(page.getByRole("main")).toContainText(new URL(notes.url).host);
  await expectAccessible(page);
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.waitForURL((url) => url.origin === notes.issuer, { waitUntil: "domcontentloaded" });
  await agree(page, gateway.url);
  await expect(page.getByRole("main")).toContainText("Connected. If an app asked for it, go back to the app.");
  await expectAccessible(page);
}

test("a client that shows URL errors finishes after its user connected", async ({ browser, gateway, notes }) => {
  const { page, server } = await member(browser, gateway, "Mia");
  const client = new Client({ name: "sdk1", version: "1.0.0" }, { capabilities: { elicitation: { url: {} } } });
  const completed: string[] = [];
  client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => void completed.push(params.elicitationId));
  await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers: server.headers } }));
  const call = () => client.callTool({ name: "notes__echo", arguments: { text: "mine" } });
  const failure = await call().then(
    () => undefined,
    (error) => error,
  );
  expect(failure).toBeInstanceOf(UrlElicitationRequiredError);
  const [asked] = (failure as UrlElicitationRequiredError).elicitations;

  // Another user can't use the link.
  const other = await member(browser, gateway, "Eve");
  expect((await other.page.goto(asked!.url))!.status()).toBe(403);
  await expect(other.page.getByRole("main")).toContainText("This link was made for somebody else.");

  await connectAt(page, asked!.url, gateway, notes);
  await expect.poll(() => completed).toEqual([asked!.elicitationId]);
  await expect.poll(async () => (await client.listTools()).tools.map(({ name }) => name)).toContain("notes__echo");
  expect((await call()).content).toEqual([{ type: "text", text: "mine" }]);
  await client.close();
  for (const p of [page, other.page]) await p.context().close();
});

test("a stateless client continues its call after its user connected", async ({ browser, gateway, notes }) => {
  const { page, server } = await member(browser, gateway, "Noa");
  const client = new StatelessClient({ name: "client2", version: "1.0.0" }, { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: "auto" } });
  const opened: string[] = [];
  client.setRequestHandler("elicitation/create", async ({ params }) => {
    const { url } = params as { url: string };
    opened.push(url);
    await connectAt(page, url, gateway, notes);
    return { action: "accept" as const };
  });
  await client.connect(new StatelessTransport(new URL(server.url), { requestInit: { headers: server.headers } }));
  expect(client.getNegotiatedProtocolVersion()).toBe("2026-07-28");
  const result = await client.callTool({ name: "notes__echo", arguments: { text: "mine too" } });
  expect(result.content).toEqual([{ type: "text", text: "mine too" }]);
  expect(opened).toHaveLength(1);
  await client.close();
  await page.context().close();
});

test("a client behind mcp-remote shows the link and finishes after its user connected", async ({ browser, gateway, notes }) => {
  const { page, server } = await member(browser, gateway, "Rem");
  const folder = await mkdtemp(path.join(tmpdir(), "mcp-remote-"));
  const program = path.join(path.dirname(createRequire(import.meta.url).resolve("mcp-remote/package.json")), "dist", "proxy.js");
  const headers = Object.entries(server.headers).flatMap(([name, value]) => ["--header", `${name}: ${value}`]);
  const client = new Client({ name: "behind", version: "1.0.0" });
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [program, server.url, "--allow-http", ...headers],
      env: { PATH: process.env.PATH!, HOME: folder, MCP_REMOTE_CONFIG_DIR: folder, BROWSER: "/bin/true" },
      stderr: "ignore",
    }),
  );
  const call = async () => (await client.callTool({ name: "notes__echo", arguments: { text: "behind" } })) as { isError?: boolean; content: { text: string }[] };
  const first = await call();
  expect(first.isError).toBe(true);
  const [, link] = first.content[0]!.text.match(/^notes needs your account\. Open (\S+), connect and try again\.$/)!;
  await connectAt(page, link!, gateway, notes);
  expect((await call()).content).toEqual([{ type: "text", text: "behind" }]);
  await client.close();
  await page.context().close();
  await rm(folder, { recursive: true, force: true });
});
