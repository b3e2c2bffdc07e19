import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";

import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

import { addOAuthProject, endpoint } from "../support/oauth-client.ts";
import { ada, addProject, expect, setUp, startEmptyGateway, test } from "../support/signed-in.ts";

const program = path.join(path.dirname(createRequire(import.meta.url).resolve("mcp-remote/package.json")), "dist", "proxy.js");

/** Starts mcp-remote; address resolves to the URL for the browser. */
function start(url: string, folder: string): { client: Client; transport: StdioClientTransport; address: Promise<string> } {
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, url, "--allow-http", "--auth-timeout", "60"],
    // It must not open a browser.
    env: { PATH: process.env.PATH!, HOME: folder, MCP_REMOTE_CONFIG_DIR: folder, BROWSER: "/bin/true" },
    stderr: "pipe",
  });
  const address = new Promise<string>((resolve) => {
    createInterface(transport.stderr as Readable).on("line", (line) => {
      const found = line.match(/https?:\/\/\S+\/oauth\/authorize\?\S+/);
      if (found) resolve(found[0]);
    });
  });
  return { client: new Client({ name: "mcp-remote-test", version: "1.0.0" }), transport, address };
}

test("mcp-remote signs in with a browser once and calls tools", async ({ browser }) => {
  test.slow();
  const gateway = await startEmptyGateway();
  const folder = await mkdtemp(path.join(tmpdir(), "mcp-remote-"));
  try {
    await setUp(gateway);
    await addOAuthProject(gateway, "notes");

    const first = start(endpoint(gateway, "notes"), folder);
    const connected = first.client.connect(first.transport);
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(await first.address);
    await page.getByRole("textbox", { name: "Email" }).fill(ada.email);
    await page.getByLabel("Password").fill(ada.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(/^Allow .* to use Project notes\?$/);
    await expect(page.getByRole("main")).toContainText("Project notes");
    await page.getByRole("button", { name: "Allow" }).click();
    await page.waitForURL((url) => url.origin !== gateway.url);
    await connected;
    const { tools } = await first.client.listTools();
    expect(tools.map((tool) => tool.name)).toEqual(["gateway_searchMcpForTask", "gateway_executeTool"]);
    const found = await first.client.callTool({ name: "gateway_searchMcpForTask", arguments: { task: "write a note" } });
    expect(found.structuredContent).toMatchObject({ total: 0 });
    await first.client.close();
    await context.close();

    const second = start(endpoint(gateway, "notes"), folder);
    await Promise.race([second.client.connect(second.transport), second.address.then((at) => Promise.reject(new Error(`it wants a browser again: ${at}`)))]);
    expect((await second.client.listTools()).tools).toHaveLength(2);
    await second.client.close();
  } finally {
    await gateway.stop();
    await rm(folder, { recursive: true, force: true });
  }
});

test("the snippet for Claude Desktop on the page of a new key works unedited", async ({ page, gateway }) => {
  const slug = `desktop-${process.pid}`;
  await addProject(gateway, slug, {});
  await page.goto(`/admin/projects/${slug}/keys/new`);
  await page.getByRole("textbox", { name: "Name" }).fill("Desktop");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("radio", { name: "Claude Desktop" }).check();
  const file = JSON.parse(await page.getByRole("group", { name: "Claude Desktop" }).innerText());
  const { command, args, env } = file.mcpServers[slug];
  expect([command, ...args.slice(0, 2)]).toEqual(["npx", "-y", "mcp-remote"]);

  const folder = await mkdtemp(path.join(tmpdir(), "mcp-remote-"));
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [program, ...args.slice(2)],
    env: { PATH: process.env.PATH!, HOME: folder, MCP_REMOTE_CONFIG_DIR: folder, BROWSER: "/bin/true", ...env },
    stderr: "ignore",
  });
  const client = new Client({ name: "desktop-test", version: "1.0.0" });
  try {
    await client.connect(transport);
    expect((await client.listTools()).tools.map((tool) => tool.name)).toContain("gateway_searchMcpForTask");
    await client.callTool({ name: "gateway_searchMcpForTask", arguments: { task: "write a note" } });
    await expect(page.getByRole("heading", { name: "Connected" })).toBeVisible();
    await expect(page.locator("#first-use")).toContainText(/desktop-test .*is using this key\./);
  } finally {
    await client.close();
    await rm(folder, { recursive: true, force: true });
  }
});
