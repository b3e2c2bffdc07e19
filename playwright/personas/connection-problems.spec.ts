import { type Page } from "@playwright/test";

import { expectAccessible, looks } from "../support/accessible.ts";
import { ofOneWorker, startGateway } from "../support/gateway.ts";
import { addProject, adminToken, expect, program, test as base } from "../support/signed-in.ts";

const connect = "/admin/projects/keyed/connect";
const usage = "/admin/projects/demo/usage";
const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "editor", version: "1.2" } },
};

/** A gateway with calls of the demo, and a project whose clients are refused. */
const test = base.extend<object, { prepared: void }>({
  gateway: ofOneWorker(() => startGateway({ env: { GATEWAY_ADMIN_TOKEN: adminToken } })),
  prepared: [
    async ({ gateway }, use) => {
      await addProject(gateway, "keyed", {}, { authMode: "api_key" });
      const post = (project: string, body: object, headers: Record<string, string> = {}) =>
        fetch(`${gateway.url}/v1/mcp/${project}/request`, { method: "POST", headers: { "Content-Type": "application/json", ...headers }, body: JSON.stringify(body) });
      for (let i = 0; i < 3; i++) expect((await post("keyed", initialize)).status).toBe(401);
      expect((await post("keyed", initialize, { Authorization: "Bearer something-else" })).status).toBe(401);
      for (const tool of ["clock__current_time", "text__missing"]) {
        const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: tool, arguments: { zone: "Europe/Berlin" } } };
        for (let i = 0; i < 5; i++) expect((await post("demo", call)).status).toBe(200);
      }
      const client = await program(gateway);
      await expect.poll(async () => (await (await client.get("/api/projects/demo/usage?days=1")).json()).totals.calls).toBeGreaterThanOrEqual(10);
      await client.dispose();
      await use();
    },
    { scope: "worker", auto: true },
  ],
});

/** The card with the heading of an id. */
const card = (page: Page, id: string) => page.locator(`section[aria-labelledby="${id}"]`);
const refused = (page: Page) => card(page, "refused").locator("tbody tr");
const outcome = (page: Page) => page.locator("#doctor-outcome");

for (const look of looks) {
  test.describe(look.name, () => {
    test.use(look.use);
    test("Connect with the doctor and refused requests is accessible", async ({ page }) => {
      await page.goto(connect);
      await expect(refused(page)).toHaveCount(2);
      await page.getByRole("button", { name: "Run the doctor" }).click();
      await expect(outcome(page)).toContainText("No problem found");
      await page.locator("#doctor summary").first().click();
      await expectAccessible(page);
    });
    test("usage is accessible and fits the window", async ({ page }) => {
      await page.goto(usage);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("Usage");
      for (const values of await page.locator("main section details > summary").all()) if (await values.isVisible()) await values.click();
      await expectAccessible(page);
    });
  });
}

test("refused requests have reason, client and number", async ({ page }) => {
  await page.goto(connect);
  await expect(refused(page).first()).toContainText("The token isn't an API key of this gateway.");
  await expect(refused(page).last()).toContainText("editor 1.2");
  await expect(refused(page).last()).toContainText("3 times");
  await expect(card(page, "refused")).not.toContainText("something-else");
});

test("the doctor shows each step and leaves nothing behind", async ({ page, gateway }) => {
  await page.goto(connect);
  await page.getByRole("button", { name: "Run the doctor" }).click();
  await expect(outcome(page).locator("tbody tr")).toHaveCount(15);
  await expect(outcome(page)).toContainText("The temporary key was deleted.");
  const client = await program(gateway);
  expect((await (await client.get("/api/projects/keyed/keys")).json()).count).toBe(0);
  expect((await (await client.get("/api/audit?action=doctor.finished")).json()).count).toBeGreaterThan(0);
  await client.dispose();
});

test("the doctor names the setting of a client in a browser", async ({ page }) => {
  await page.goto(connect);
  await page.locator("#doctor summary").first().click();
  await page.getByLabel("Origin of a client in a browser").fill("https://app.example.com");
  await page.getByRole("button", { name: "Run the doctor" }).click();
  await expect(outcome(page)).toContainText("Add https://app.example.com to GATEWAY_ALLOWED_ORIGINS.");
  await page.getByLabel("Origin of a client in a browser").fill("app");
  await page.getByRole("button", { name: "Run the doctor" }).click();
  await expect(page.getByRole("alert")).toContainText("without a path");
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });
  test("the doctor runs and tables sort", async ({ page }) => {
    await page.goto(connect);
    await page.getByRole("button", { name: "Run the doctor" }).click();
    await expect(outcome(page)).toContainText("No problem found");
    await page.goto(usage);
    await card(page, "tools").getByRole("link", { name: "Failed" }).click();
    await expect(card(page, "tools").locator("th[aria-sort=descending]")).toHaveText("Failed");
    await expect(card(page, "tools").locator("tbody tr").first()).toContainText("Unknown or unreached tools");
    await page.getByRole("link", { name: "7 days" }).click();
    await expect(page).toHaveURL(/days=7/);
  });
});

test("usage downloads as CSV", async ({ page }) => {
  await page.goto(usage);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: "Download as CSV" }).click()]);
  expect(file.suggestedFilename()).toBe("usage-demo.csv");
});

test("all projects are listed with their usage", async ({ page }) => {
  await page.goto("/admin/usage");
  await card(page, "projects").getByRole("link", { name: "keyed" }).click();
  await expect(page).toHaveURL(/projects\/keyed\/usage/);
});
