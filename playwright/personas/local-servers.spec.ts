import { rename, writeFile } from "node:fs/promises";
import path from "node:path";

import type { Page } from "@playwright/test";

import { expectAccessibleInEach } from "../support/accessible.ts";
import { localFile, ofOneWorker, startGateway, type Gateway } from "../support/gateway.ts";
import { connect as connectClient } from "../support/mcp-client.ts";
import { startRunner, runs } from "../support/runner.ts";
import { addProject, adminToken, expect, program, send, setUp, test as base } from "../support/signed-in.ts";

/** The local servers of the gateway at its start. */
const atStart = {
  notes: runs("serve"),
  pages: { ...runs("silent"), startTimeout: 600_000 },
  tickets: runs("end"),
  missing: { command: "no-such-program" },
  search: runs("serve", "the first command"),
  old: runs("serve"),
};

const connect = (gateway: Gateway) => `gateway runner --local ${localFile} --connect ${gateway.url} --token-file token`;

/** A gateway with local servers in every state, by the path of their pages. */
const test = base.extend<object, { servers: Record<string, string> }>({
  gateway: ofOneWorker(() => startGateway({ demo: false, local: atStart, env: { GATEWAY_ADMIN_TOKEN: adminToken } })),
  people: [async ({ gateway }, use) => {
    const admin = await setUp(gateway);
    await use({ admin, viewer: admin });
  }, { scope: "worker" }],
  servers: [async ({ gateway, people }, use) => {
    expect(people.admin.cookies.length).toBeGreaterThan(0);
    const token = await gateway.shell("gateway connectors create --project local --name laptop");
    const laptop = await startRunner(connect(gateway), JSON.stringify({ mcpServers: { laptop: runs("serve") } }), token);
    const client = await program(gateway);
    const known = async () => {
      const { items } = await (await client.get("/api/projects/local/servers?limit=100")).json();
      return items as { id: string; alias: string; runner: { state: string }; toolCount: number }[];
    };
    const states = async () => Object.fromEntries((await known()).map(({ alias, runner }) => [alias, runner.state]));
    // Both read their tools first.
    await expect.poll(states, { timeout: 30_000 }).toMatchObject({ laptop: "running", notes: "running", search: "running", old: "running" });
    await laptop.stop();
    const { old, ...rest } = atStart;
    expect(old).toBeDefined();
    const changed = path.join(gateway.folder, `${localFile}.new`);
    await writeFile(changed, JSON.stringify({ mcpServers: { ...rest, search: runs("serve", "another command") } }), { mode: 0o600 });
    await rename(changed, path.join(gateway.folder, localFile));
    await expect.poll(states, { timeout: 30_000 }).toMatchObject({ laptop: "offline", old: "undeclared", missing: "failed", pages: "starting" });
    await use(Object.fromEntries((await known()).map(({ alias, id }) => [alias, `/admin/projects/local/servers/${id}`])));
    await client.dispose();
  }, { scope: "worker" }],
});

/** The facts of the card Process. */
const facts = (page: Page) => page.locator("#server-process dl");
const log = (page: Page, alias: string) => page.getByRole("group", { name: `Log of ${alias}` });
const fact = (page: Page, name: string) => facts(page).locator("div").filter({ has: page.locator("dt", { hasText: new RegExp(`^${name}$`) }) }).locator("dd");

const states = [
  { server: "notes", state: "Running", says: "" },
  { server: "pages", state: /^Starting, [\d,]+ s: downloading 214 packages$/, says: "" },
  { server: "missing", state: "no-such-program is not on the runner's PATH", says: "then restart it" },
  { server: "search", state: "Changed in the file: reload needed", says: "The earlier command serves on." },
  { server: "old", state: "Not in the file", says: "Its tools are hidden and its settings kept." },
  { server: "laptop", state: "Computer not connected", says: "Start gateway runner on that computer." },
];

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled });
    for (const { server, state, says } of states) {
      test(`card Process of ${server}`, async ({ page, servers }) => {
        test.slow(); // starts programs, and checks the page in each look
        await page.goto(servers[server]!);
        await expect(page.getByRole("heading", { name: "Process", exact: true })).toBeVisible();
        await expect(fact(page, "State")).toHaveText(state);
        if (says) await expect(page.getByRole("alert")).toContainText(says);
        else await expect(page.getByRole("alert")).toHaveCount(0);
        await expect(page.locator("summary", { hasText: "Delete…" }), "only what no file has can be deleted").toHaveCount(server === "old" ? 1 : 0);
        if (javaScriptEnabled) await expectAccessibleInEach(page);
      });
    }

    test("card Process of a program that ended", async ({ page, servers }) => {
      test.slow();
      await page.goto(servers.tickets!);
      await page.getByRole("button", { name: "Restart" }).click();
      await expect(async () => {
        await page.goto(servers.tickets!);
        await expect(fact(page, "State")).toHaveText(/^Ended \(exit code 1\), again in \d+ s$/, { timeout: 500 });
      }).toPass();
      await expect(log(page, "tickets")).toContainText("cannot open notes.db: no such file");
      await expect(fact(page, "Last exit")).toHaveText("exit code 1");
      if (javaScriptEnabled) await expectAccessibleInEach(page);
      await expect(async () => {
        await page.goto(servers.tickets!);
        await expect(fact(page, "State")).toHaveText("Ended 5 times in 10 minutes", { timeout: 500 });
      }).toPass({ timeout: 60_000 });
      await expect(page.getByRole("alert")).toContainText("Find the cause in the process log, then restart it.");
      if (javaScriptEnabled) await expectAccessibleInEach(page);
    });

    test("restart, output and stop", async ({ page, servers }) => {
      await page.goto(servers.notes!);
      await expect(fact(page, "Program")).toHaveText(process.execPath);
      await expect(log(page, "notes")).toContainText("listening on stdio");
      await page.getByRole("button", { name: "Restart" }).click();
      await expect(page.getByRole("status").filter({ hasText: "notes is restarting." })).toBeVisible();
      await expect(async () => {
        await page.goto(servers.notes!);
        await expect(fact(page, "State")).toHaveText(/^(Running|Stopped until called)$/, { timeout: 1_000 });
      }).toPass();
      await page.locator("summary", { hasText: "Stop" }).click();
      await page.getByRole("button", { name: "Stop", exact: true }).last().click();
      await expect(page.getByRole("status").filter({ hasText: "notes stopped. The next call starts it again." })).toBeVisible();
      await expect(async () => {
        await page.goto(servers.notes!);
        await expect(fact(page, "State")).toHaveText("Stopped until called", { timeout: 1_000 });
      }).toPass();
      await page.getByRole("button", { name: "Restart" }).click();
      await expect(async () => {
        await page.goto(servers.notes!);
        await expect(fact(page, "State")).toHaveText("Running", { timeout: 1_000 });
      }).toPass();
    });

    test("new program: the file, and three places to run it", async ({ page }) => {
      test.slow();
      await paste(page, "local");
      await expect(page.getByText("Commands are taken only from a file")).toBeVisible();
      const file = page.getByRole("group", { name: localFile });
      expect(JSON.parse((await file.textContent())!)).toEqual({ mcpServers: { notes: { ...runs("serve"), env: { NOTES_TOKEN: "${NOTES_TOKEN}" } } } });
      await expect(page.getByRole("main")).not.toContainText("a-secret-of-ada");
      for (const [place, command] of [
        ["This machine", "gateway serve --local servers.json"],
        ["Another computer", "gateway runner --local servers.json"],
        ["Docker", "docker run -d --init"],
      ] as const) {
        await page.getByRole("radio", { name: place }).check();
        await expect(page.locator(".switcher pre:visible").last()).toContainText(command);
        await expect(page.getByRole("button", { name: "Create a token" }).filter({ visible: true })).toHaveCount(place === "This machine" ? 0 : 1);
        if (javaScriptEnabled) await expectAccessibleInEach(page);
      }
    });

    test("pages of connectors", async ({ page, servers }) => {
      test.slow();
      expect(servers.laptop).toBeDefined();
      await page.goto("/admin/projects/local/keys");
      await page.getByRole("link", { name: "Connectors" }).click();
      await expect(page.getByRole("row", { name: /laptop/ })).toContainText("Offline");
      if (javaScriptEnabled) await expectAccessibleInEach(page);
      await page.getByRole("link", { name: "laptop", exact: true }).click();
      await expect(page.locator("#connector-status")).toContainText("Offline");
      await expect(page.locator("#connector-status").getByRole("listitem")).toContainText("laptop");
      if (javaScriptEnabled) await expectAccessibleInEach(page);
      const name = `Office ${javaScriptEnabled}`;
      await page.goto("/admin/projects/local/connectors");
      await page.getByRole("textbox", { name: "Name" }).fill(name);
      await page.getByLabel("Token expires").selectOption("30");
      await page.getByRole("button", { name: "Create connector" }).click();
      await expect(page.getByRole("heading", { level: 1 })).toHaveText(name);
      await expect(page.getByRole("group", { name: "Token" })).toHaveText(/^gwc_\w+$/);
      await expect(page.getByText("Waiting for the computer…")).toBeVisible();
      if (javaScriptEnabled) await expectAccessibleInEach(page);
      await page.locator("summary", { hasText: "Revoke" }).click();
      await page.getByRole("button", { name: "Revoke" }).last().click();
      await expect(page.getByRole("status").filter({ hasText: `Connector ${name} revoked.` })).toBeVisible();
      await expect(page.getByRole("row", { name })).toContainText("Revoked");
    });
  });
}

/** Pastes the file of a client with a command. */
async function paste(page: Page, slug: string): Promise<void> {
  await page.goto(`/admin/projects/${slug}/servers/new`);
  const entry = { ...runs("serve"), env: { NOTES_TOKEN: "a-secret-of-ada" } };
  await page.getByRole("textbox", { name: /URL, command or JSON/ }).fill(JSON.stringify({ mcpServers: { notes: entry } }));
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByText("1 server runs on a computer")).toBeVisible();
}

test("a program on another computer: from the file of a client to its first call, and back", async ({ page, gateway }) => {
  test.slow();
  await addProject(gateway, "team", {});
  await paste(page, "team");
  const file = (await page.getByRole("group", { name: localFile }).textContent())!;
  await page.getByRole("radio", { name: "Another computer" }).check();
  const [tab] = await Promise.all([page.waitForEvent("popup"), page.getByRole("button", { name: "Create a token" }).filter({ visible: true }).click()]);
  const token = (await tab.getByRole("group", { name: "Token" }).textContent())!;
  const command = (await tab.getByRole("group", { name: "Run in its terminal" }).textContent())!;
  const connector = tab.url();
  await expect(tab.getByText("Waiting for the computer…")).toBeVisible();
  const start = Date.now();
  const runner = await startRunner(command, file, token, { NOTES_TOKEN: "a-secret-of-ada" });
  try {
    // The page shows the computer and its server without a reload.
    await expect(tab.locator("#connector-status")).toContainText("Online");
    await tab.locator("#connector-status").getByRole("link", { name: "notes" }).click();
    console.log(`the server of another computer after ${Date.now() - start} ms`);
    await expect(tab.getByRole("heading", { level: 1 })).toHaveText("notes");
    await expect(fact(tab, "State")).toHaveText("Running");
    await expect(log(tab, "notes")).toContainText("listening on stdio");

    // Its tools wait for approval.
    const review = tab.getByRole("main").getByRole("link", { name: "Review" });
    await expect(async () => {
      await tab.reload();
      await expect(review).toBeVisible({ timeout: 1_000 });
    }).toPass();
    await review.click();
    await tab.getByRole("button", { name: /^Approve/ }).click();
    await expect(tab.getByRole("button", { name: /^Approve/ })).toHaveCount(0);
    const { key } = await send(gateway, "POST", "/api/projects/team/keys", { name: "test" });
    const client = await connectClient({ url: `${gateway.url}/v1/mcp/team/request`, headers: { Authorization: `Bearer ${key}` } });
    const echoed = await client.callTool({ name: "notes__echo", arguments: { text: "hello from the laptop" } });
    expect(JSON.stringify(echoed)).toContain("hello from the laptop");
    await client.close();

    await page.goto(connector);
    await page.locator("#connector-status").getByRole("link", { name: "notes" }).click();
    const starts = async () => ((await log(page, "notes").textContent())!.match(/listening on stdio/g) ?? []).length;
    const before = await starts();
    await page.getByRole("button", { name: "Restart" }).click();
    await expect(page.getByRole("status").filter({ hasText: "notes is restarting." })).toBeVisible();
    await expect.poll(starts, { message: "the log has the new start" }).toBeGreaterThan(before);
    await expect(fact(page, "State")).toHaveText("Running");

    await page.goto(connector);
    await page.locator("summary", { hasText: "Revoke" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
    await expect(page.getByRole("row", { name: /Computer of notes/ })).toContainText("Revoked");
    await page.goto("/admin/projects/team/servers");
    await expect(page.getByRole("row", { name: /notes/ })).toContainText(/Computer not connected|Not in the file/);
  } finally {
    await runner.stop();
  }
});
