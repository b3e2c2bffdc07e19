import { type Page } from "@playwright/test";

import { expectAccessible, looks, phoneInDark } from "../support/accessible.ts";
import { type Gateway, ofOneWorker, startGateway } from "../support/gateway.ts";
import { loadAndMeasure } from "../support/measure.ts";
import { adminToken, expect, program, test as base } from "../support/signed-in.ts";

const activity = "/admin/projects/demo/activity";

/** A gateway with the demo and 60 calls of its tools. */
const test = base.extend<object, { called: void }>({
  gateway: ofOneWorker(() => startGateway({ env: { GATEWAY_ADMIN_TOKEN: adminToken } })),
  called: [
    async ({ gateway }, use) => {
      for (let i = 0; i < 20; i++) {
        await call(gateway, "clock__current_time", { zone: "Europe/Berlin" });
        await call(gateway, "clock__current_time", { zone: "Nowhere/Atall" });
        await call(gateway, "text__missing", {});
      }
      await expect.poll(() => countOf(gateway)).toBeGreaterThanOrEqual(60);
      await use();
    },
    { scope: "worker", auto: true },
  ],
});

/** Calls a tool of a project as a client does. */
async function call(gateway: Gateway, name: string, args: object, project = "demo"): Promise<void> {
  const answer = await fetch(`${gateway.url}/v1/mcp/${project}/request`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }),
  });
  expect(answer.status).toBe(200);
}

async function countOf(gateway: Gateway): Promise<number> {
  const client = await program(gateway);
  const { count } = await (await client.get("/api/calls?limit=1000")).json();
  await client.dispose();
  return count;
}

const rows = (page: Page) => page.locator("#calls > li");

for (const look of [...looks, phoneInDark]) {
  test.describe(look.name, () => {
    test.use(look.use);
    test("calls are accessible and fit the window", async ({ page }) => {
      await page.goto(activity);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("Demo");
      await expect(rows(page)).toHaveCount(40);
      for (const values of await page.locator("details.twin > summary").all()) await values.click();
      await expectAccessible(page);
    });
    test("call page is accessible and fits the window", async ({ page }) => {
      await page.goto(`${activity}?query=tool:text__missing`);
      await rows(page).first().getByRole("link").click();
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("text__missing");
      await expectAccessible(page);
    });
    test("invalid query is accessible", async ({ page }) => {
      await page.goto(`${activity}?query=outcome:fine`);
      await expect(page.getByRole("alert")).toContainText("tool_error");
      await expectAccessible(page);
    });
  });
}

test("budgets of the calls page", async ({ page }) => {
  // The stream of new calls never ends, so its size is unknown.
  await page.route("**/activity/live*", (route) => route.fulfill({ status: 200, contentType: "text/event-stream", body: "retry: 86400000\n\n" }));
  const cost = await loadAndMeasure(page, activity);
  expect(cost.html).toBeGreaterThan(10_000);
  expect(cost.html).toBeLessThanOrEqual(60_000);
  expect(cost.css).toBeLessThanOrEqual(10_000);
  expect(cost.js).toBeLessThanOrEqual(20_000);
  expect(cost.requests, "six and the stream of new calls").toBeLessThanOrEqual(7);
  expect(cost.layoutShift).toBeLessThan(0.02);
});

test("new calls appear unless paused", async ({ page, gateway }) => {
  await page.goto(`${activity}?query=clock__weekday`);
  await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  await expect(rows(page)).toHaveCount(0);
  await call(gateway, "clock__weekday_unknown", {});
  await expect(rows(page)).toHaveCount(1);
  await expect(rows(page).first()).toContainText("clock__weekday_unknown");
  await page.getByRole("button", { name: "Pause" }).click();
  const before = await countOf(gateway);
  await call(gateway, "clock__weekday_unknown", {});
  await expect.poll(() => countOf(gateway)).toBeGreaterThan(before);
  await expect(rows(page)).toHaveCount(1);
  await expect(page.getByRole("status").filter({ hasText: "Paused" })).toBeVisible();
});

test("live numbers above the calls", async ({ page, gateway }) => {
  await page.goto(`${activity}?query=clock__weekday_live`);
  await expect(page.getByText(/^No calls in/)).toBeVisible();
  await call(gateway, "clock__weekday_live", {});
  await expect(page.locator("#numbers .stat").first()).toContainText(/Calls\s*1/);
  await call(gateway, "clock__weekday_live", {});
  await expect(page.locator("#numbers .stat").first()).toContainText(/Calls\s*2/);
  await expect(rows(page)).toHaveCount(2);
});

test("live search filters calls; chips and periods preserve it", async ({ page }) => {
  await page.goto(activity);
  await page.getByRole("searchbox", { name: "Search calls" }).fill("missing");
  await expect(rows(page).filter({ hasText: "clock__current_time" })).toHaveCount(0);
  await expect(rows(page).filter({ hasText: "text__missing" })).toHaveCount(20);
  await page.getByRole("link", { name: "7 days" }).click();
  await expect(page).toHaveURL(/period=7d.*query=missing|query=missing.*period=7d/);
  await expect(rows(page)).toHaveCount(20);
  await page.getByRole("link", { name: "OK", exact: true }).click();
  await expect(page.getByText("No calls in this period")).toBeVisible();
  await page.getByRole("link", { name: "Show last 7 days" }).click();
  await expect(rows(page)).toHaveCount(40);
});

test("links from tools to their calls and to older calls", async ({ page }) => {
  await page.goto(activity);
  await page.getByRole("region", { name: "Calls by tool" }).getByRole("link", { name: "clock__current_time" }).click();
  await expect(page).toHaveURL(/query=tool/);
  await expect(rows(page)).toHaveCount(40);
  await page.getByRole("link", { name: "Show all" }).or(page.locator(".chip.on")).first().click();
  await page.getByRole("link", { name: "Next" }).click();
  await expect(page.getByRole("link", { name: "First page" })).toBeVisible();
  await expect.poll(() => rows(page).count()).toBeGreaterThanOrEqual(20);
  await expect(page.locator("live-tail")).toHaveCount(0);
});

test("download of calls", async ({ page }) => {
  await page.goto(`${activity}?query=tool:text__missing`);
  for (const [name, begins] of [["CSV", "at,projectSlug,"], ["JSON", "[\n{"]]) {
    const downloaded = page.waitForEvent("download");
    await page.getByRole("link", { name: `Download these calls as ${name}` }).click();
    const file = await downloaded;
    const text = await (await file.createReadStream()).setEncoding("utf8").toArray();
    expect(file.suggestedFilename()).toContain(name.toLowerCase());
    expect(text.join("").startsWith(begins)).toBe(true);
    expect(text.join("").split("text__missing").length - 1).toBe(20);
  }
});

test.describe("project without calls", () => {
  test("empty state, then the first call", async ({ page, gateway }) => {
    const client = await program(gateway);
    const { projects } = JSON.parse(await gateway.shell("gateway export --project demo"));
    const answer = await client.post("/api/projects", { data: { projectSlug: "quiet", authMode: "none", mcpServers: projects.demo.mcpServers } });
    expect([201, 409]).toContain(answer.status());
    await page.goto("/admin/projects/quiet/activity");
    await expect(page.getByText("No calls yet", { exact: true })).toBeVisible();
    await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
    await expectAccessible(page);
    await client.dispose();
    await call(gateway, "first_ever", {}, "quiet");
    await expect(page.getByText("No calls yet", { exact: true })).toBeHidden();
    await expect(rows(page)).toHaveCount(1);
    await expect(page.locator("#numbers .stat").first()).toContainText(/Calls\s*1/);
  });
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });
  test("list, search and pages of calls", async ({ page }) => {
    await page.goto(activity);
    await expect(rows(page)).toHaveCount(40);
    await expect(page.getByRole("button", { name: "Pause" })).toBeHidden();
    await page.getByRole("searchbox", { name: "Search calls" }).fill("outcome:failed -clock");
    await page.getByRole("button", { name: "Search" }).click();
    await expect(rows(page).filter({ hasText: "text__missing" }).first()).toBeVisible();
    await expect(rows(page).filter({ hasText: "clock" })).toHaveCount(0);
    await page.getByText("Show as table").first().click();
    await expect(page.getByRole("columnheader", { name: "Failed" }).first()).toBeVisible();
  });
});

test.describe("as a viewer", () => {
  test.use({ as: "viewer" });
  test("same calls without controls", async ({ page }) => {
    await page.goto(activity);
    await expect(rows(page)).toHaveCount(40);
    await expect(page.locator("main form[method=post]")).toHaveCount(0);
  });
});
