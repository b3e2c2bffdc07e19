import type { Page } from "@playwright/test";

import { expectAccessible, looks } from "../support/accessible.ts";
import type { Gateway } from "../support/gateway.ts";
import { addProject, expect, test } from "../support/signed-in.ts";

let made = 0;

/** Creates an empty project and returns the path of its keys page. */
async function keysOf(gateway: Gateway): Promise<string> {
  const slug = `keys-${process.pid}-${++made}`;
  await addProject(gateway, slug, {});
  return `/admin/projects/${slug}/keys`;
}

/** Creates a key with the form and returns its text. */
async function create(page: Page, keys: string, name: string): Promise<string> {
  await page.goto(`${keys}/new`);
  await page.getByRole("textbox", { name: "Name" }).fill(name);
  await page.getByRole("button", { name: "Create key" }).click();
  await expect(page.getByRole("heading", { name: "1. Save your key" })).toBeVisible();
  return /gwk_\w{36}/.exec(await page.getByRole("main").innerText())![0];
}

/** Sends a message to the endpoint of the project with a key. */
async function send(gateway: Gateway, keys: string, key: string, message: object): Promise<void> {
  const answer = await fetch(`${gateway.url}/v1/mcp/${keys.split("/")[3]}/request`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", Accept: "application/json, text/event-stream" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }),
  });
  expect(answer.status).toBe(200);
  await answer.text();
}

const hello = { method: "initialize", params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "claude-code", title: "Claude Code", version: "2.1" } } };

// B02: a key is shown on its own page only, in a response that is not cached.
test("key is shown until Done, later pages show its prefix", async ({ page, gateway }) => {
  const keys = await keysOf(gateway);
  await page.goto(keys);
  await page.getByRole("link", { name: "New key" }).first().click();
  await page.getByRole("textbox", { name: "Name" }).fill("Laptop");
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.url().includes(`${keys}/`) && response.request().method() === "GET"),
    page.getByRole("button", { name: "Create key" }).click(),
  ]);
  expect(answer.headers()["cache-control"]).toBe("no-store");
  await expect(page.getByRole("button", { name: "Done" })).toBeVisible();
  const key = /gwk_\w{36}/.exec(await page.getByRole("main").innerText())![0];

  // Reloading the page shows the same key and doesn't create a second one.
  await page.reload();
  await expect(page.getByRole("main")).toContainText(key);
  const shown = new URL(page.url()).pathname;
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page).toHaveURL(keys);
  await expect(page.getByRole("row", { name: /Laptop/ })).toHaveCount(1);
  for (const path of [keys, shown, `${keys}?show=expired`, "/admin/audit", keys.replace(/keys$/, "connect")]) {
    const html = await (await page.request.get(path)).text();
    expect(html, path).not.toContain(key);
    expect(html, path).not.toContain(key.slice(0, 12));
  }
  await expect(page.getByRole("main")).toContainText(key.slice(0, 8));
  await page.goto(shown);
  await expect(page.getByText("This key was shown once")).toBeVisible();
});

test("two clicks from New key to a copied snippet with the key", async ({ page, gateway, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const keys = await keysOf(gateway);
  await page.goto(`${keys}/new`);
  await page.keyboard.type("Laptop"); // the field has the focus
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("button", { name: "Copy: Claude Code" }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  const key = /gwk_\w{36}/.exec(await page.getByRole("main").innerText())![0];
  expect(copied).toBe(`claude mcp add --transport http ${keys.split("/")[3]} \\\n  ${gateway.url}/v1/mcp/${keys.split("/")[3]}/request \\\n  --header 'Authorization: Bearer ${key}'`);

  // Every snippet has the key, and the client chosen last is shown next time.
  for (const client of ["Claude Desktop", "VS Code", "Windsurf", "Gemini CLI", "Cline", "Codex", "curl", "Cursor"]) {
    await page.getByRole("radio", { name: client }).check();
    await expect(page.getByRole("group", { name: client, exact: true })).toContainText(key);
  }
  await page.reload();
  await expect(page.getByRole("radio", { name: "Cursor" })).toBeChecked();
  await expect(page.getByRole("group", { name: "Cursor", exact: true })).toBeVisible();
  await page.goto(keys);
  await expect(page.getByRole("row", { name: /Laptop/ })).toHaveCount(1);
});

test("page of a new key turns green within a second of each request", async ({ page, gateway }) => {
  const keys = await keysOf(gateway);
  const key = await create(page, keys, "Laptop");
  const card = page.locator("#first-use");
  await expect(card).toContainText("Waiting for the first call…");
  await expect(page.getByText("Live", { exact: true })).toBeVisible();
  const soon = { timeout: 1_500 }; // the second, and the delivery
  await send(gateway, keys, key, hello);
  await expect(card).toContainText("Claude Code 2.1 is using this key.", soon);
  await send(gateway, keys, key, { method: "tools/list" });
  await expect(card.getByText("not yet")).toHaveCount(1, soon);
  await send(gateway, keys, key, { method: "tools/call", params: { name: "gateway_searchMcpForTask", arguments: { task: "time" } } });
  await expect(card.getByRole("heading", { name: "Connected" })).toBeVisible(soon);
  await expect(card).toContainText("gateway_searchMcpForTask");
  await card.getByRole("link", { name: "See the call" }).click();
  await expect(page.getByRole("main")).toContainText("searchMcpForTask");
});

test("rotating and revoking a key", async ({ page, gateway }) => {
  const keys = await keysOf(gateway);
  const key = await create(page, keys, "Laptop");
  await page.getByRole("button", { name: "Done" }).click();

  await page.getByLabel("Actions: Laptop").click();
  await page.getByRole("link", { name: "Rotate" }).click();
  await expect(page.getByLabel("Old key")).toHaveValue("0s");
  await page.getByLabel("Old key").selectOption("1h");
  await page.getByRole("button", { name: "Rotate" }).click();
  await expect(page.getByText(/The old key works until/)).toBeVisible();
  await page.getByRole("button", { name: "Done" }).click();
  await expect(page.getByRole("row", { name: /Laptop/ })).toHaveCount(2);
  const old = page.getByRole("row", { name: /Replaced by gwk_/ });
  await expect(old).toContainText("Replaced · works 1 h more");
  await expect(page.getByRole("row", { name: new RegExp(`Replaces ${key.slice(0, 8)}`) })).toContainText("Active");

  await old.getByLabel("Actions: Laptop").click();
  await old.getByRole("link", { name: "Revoke" }).click();
  await expect(page.getByText("Clients using this key are rejected right away.")).toBeVisible();
  await page.getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByRole("status").filter({ hasText: "Key revoked." })).toBeVisible();
  await expect(page.getByRole("row", { name: /Laptop/ })).toHaveCount(1);
  await page.getByRole("link", { name: "Show 1 expired key" }).click();
  await expect(page.getByRole("row", { name: /Replaced by/ })).toHaveCount(1);
  await page.getByRole("group", { name: "Show" }).getByRole("link", { name: "Unused 1" }).click();
  await expect(page.getByRole("row", { name: /Laptop/ })).toHaveCount(1);
});

test("key without a name is rejected and the choices are kept", async ({ page, gateway }) => {
  await page.goto(`${await keysOf(gateway)}/new`);
  await page.getByRole("textbox", { name: "Name" }).fill("   ");
  await page.getByLabel("Expires").selectOption("never");
  await page.getByRole("button", { name: "Create key" }).click();
  await expect(page.getByText("Enter a name.").first()).toBeVisible();
  await expect(page.getByLabel("Expires")).toHaveValue("never");
});

test("one click on Connect creates the first key", async ({ page, gateway }) => {
  const keys = await keysOf(gateway);
  await page.goto(keys.replace(/keys$/, "connect"));
  await page.getByRole("button", { name: "Create key and show snippet" }).click();
  await expect(page.getByRole("heading", { name: "2. Connect a client" })).toBeVisible();
  await page.goto(keys.replace(/keys$/, "connect"));
  await expect(page.getByRole("main")).toContainText("1 active key. New key");
});

test.describe("without scripts", () => {
  test.use({ javaScriptEnabled: false });
  test("a key is created, shown and hidden", async ({ page, gateway }) => {
    const keys = await keysOf(gateway);
    const key = await create(page, keys, "Laptop");
    await page.getByRole("radio", { name: "Codex" }).check();
    await expect(page.getByRole("group", { name: "Codex", exact: true })).toContainText(key);
    await send(gateway, keys, key, hello);
    await page.reload();
    await expect(page.getByText("Claude Code 2.1 is using this key.")).toBeVisible();
    await page.getByRole("button", { name: "Done" }).click();
    await page.getByRole("link", { name: "Laptop" }).click();
    await expect(page.getByText("This key was shown once")).toBeVisible();
  });
});

for (const look of looks) {
  test.describe(look.name, () => {
    test.use(look.use);
    test("pages of keys are accessible and keep to the window", async ({ page, gateway }) => {
      test.slow(); // checks several whole pages
      const keys = await keysOf(gateway);
      await page.goto(keys);
      await expectAccessible(page);
      const key = await create(page, keys, "Laptop of Ada Lovelace");
      await expectAccessible(page);
      await send(gateway, keys, key, { method: "tools/call", params: { name: "gateway_searchMcpForTask", arguments: { task: "time" } } });
      await page.reload();
      await expect(page.getByRole("heading", { name: "Connected" })).toBeVisible();
      await expectAccessible(page);
      await page.getByRole("button", { name: "Done" }).click();
      await page.getByRole("link", { name: "Laptop of Ada Lovelace" }).click();
      await expectAccessible(page);
      for (const path of ["/new", "", "/../connect?check=1", "/../settings", "/../access"]) {
        await page.goto(keys + path);
        await expectAccessible(page);
      }
    });
  });
}
