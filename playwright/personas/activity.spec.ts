import AxeBuilder from "@axe-core/playwright";
import { type Page } from "@playwright/test";

import { type Gateway, ofOneWorker, startGateway } from "../support/gateway.ts";
import { loadAndMeasure } from "../support/measure.ts";
import { adminToken, expect, program, test as base } from "../support/signed-in.ts";

const activity = "/admin/projects/demo/activity";

/** A gateway with the demo, whose tools were called sixty times. */
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

/** Calls a tool of a project, as a client does. */
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

async function isAccessible(page: Page): Promise<void> {
  const width = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(width, "pixels that stand out of the window sideways").toBe(0);
  const { violations } = await new AxeBuilder({ page }).analyze();
  expect(violations.map(({ id, nodes }) => ({ id, where: nodes.map((node) => node.html) }))).toEqual([]);
}

const rows = (page: Page) => page.locator("#calls > li");

const looks = [
  { name: "in light", use: { colorScheme: "light" } },
  { name: "in dark", use: { colorScheme: "dark" } },
  { name: "on a phone", use: { colorScheme: "light", viewport: { width: 390, height: 844 } } },
  { name: "on a phone in dark", use: { colorScheme: "dark", viewport: { width: 390, height: 844 } } },
] as const;

for (const look of looks) {
  test.describe(look.name, () => {
    test.use(look.use);
    test("the calls are accessible and keep to the window", async ({ page }) => {
      await page.goto(activity);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("Demo");
      await expect(rows(page)).toHaveCount(40);
      for (const values of await page.locator("details.twin > summary").all()) await values.click();
      await isAccessible(page);
    });
    test("one call is accessible and keeps to the window", async ({ page }) => {
      await page.goto(`${activity}?query=tool:text__missing`);
      await rows(page).first().getByRole("link").click();
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("text__missing");
      await isAccessible(page);
    });
    test("a query that cannot be read is accessible", async ({ page }) => {
      await page.goto(`${activity}?query=outcome:fine`);
      await expect(page.getByRole("alert")).toContainText("tool_error");
      await isAccessible(page);
    });
  });
}

test("the calls keep to their budgets", async ({ page }) => {
  // The stream of new calls has no end, so there is nothing to weigh.
  await page.route("**/activity/live*", (route) => route.fulfill({ status: 200, contentType: "text/event-stream", body: "retry: 86400000\n\n" }));
  const cost = await loadAndMeasure(page, activity);
  expect(cost.html).toBeGreaterThan(10_000);
  expect(cost.html).toBeLessThanOrEqual(60_000);
  expect(cost.css).toBeLessThanOrEqual(10_000);
  expect(cost.js).toBeLessThanOrEqual(20_000);
  expect(cost.requests, "six, and the stream of new calls").toBeLessThanOrEqual(7);
  expect(cost.layoutShift).toBeLessThan(0.02);
});

test("a call shows up while the page is open, and not while it is paused", async ({ page, gateway }) => {
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

test("the numbers above the live calls are live", async ({ page, gateway }) => {
  await page.goto(`${activity}?query=clock__weekday_live`);
  await expect(page.getByText(/^No calls in/)).toBeVisible();
  await call(gateway, "clock__weekday_live", {});
  await expect(page.locator("#numbers .stat").first()).toContainText(/Calls\s*1/);
  await call(gateway, "clock__weekday_live", {});
  await expect(page.locator("#numbers .stat").first()).toContainText(/Calls\s*2/);
  await expect(rows(page)).toHaveCount(2);
});

test("search narrows the calls while it is typed, and chips and periods keep it", async ({ page }) => {
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

test("the tools lead to their calls, and these to the older ones", async ({ page }) => {
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

test("the calls are downloaded as a file", async ({ page }) => {
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

test.describe("of a project that nobody called", () => {
  test("the page says what to do, and shows the first call", async ({ page, gateway }) => {
    const client = await program(gateway);
    const { projects } = JSON.parse(await gateway.shell("gateway export --project demo"));
    const answer = await client.post("/api/projects", { data: { projectSlug: "quiet", authMode: "none", mcpServers: projects.demo.mcpServers } });
    expect([201, 409]).toContain(answer.status());
    await page.goto("/admin/projects/quiet/activity");
    await expect(page.getByText("No calls yet", { exact: true })).toBeVisible();
    await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
    await isAccessible(page);
    await client.dispose();
    await call(gateway, "first_ever", {}, "quiet");
    await expect(page.getByText("No calls yet", { exact: true })).toBeHidden();
    await expect(rows(page)).toHaveCount(1);
    await expect(page.locator("#numbers .stat").first()).toContainText(/Calls\s*1/);
  });
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });
  test("the calls are listed, searched and paged through", async ({ page }) => {
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

test.describe("for somebody who may only look", () => {
  test.use({ as: "viewer" });
  test("the calls are the same, with nothing to change", async ({ page }) => {
    await page.goto(activity);
    await expect(rows(page)).toHaveCount(40);
    await expect(page.locator("main form[method=post]")).toHaveCount(0);
  });
});
