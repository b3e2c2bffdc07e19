import { type Page } from "@playwright/test";

import { expectAccessible, looks } from "../support/accessible.ts";
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

const rows = (page: Page) => page.locator(".calls tbody tr:not(.group)");
const calls = (page: Page) => page.locator("#activity-stats .value").first();

for (const look of looks) {
  test.describe(look.name, () => {
    test.use(look.use);
    test("calls are accessible and fit the window", async ({ page }) => {
      await page.goto(activity);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("Activity");
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
  // The stream of live parts never ends, so its size is unknown.
  await page.route("**/admin/live*", (route) => route.fulfill({ status: 200, contentType: "text/event-stream", body: "retry: 86400000\n\n" }));
  const cost = await loadAndMeasure(page, activity);
  expect(cost.html).toBeGreaterThan(5_000);
  expect(cost.html).toBeLessThanOrEqual(150_000);
  expect(cost.layoutShift).toBeLessThan(0.02);
});

test("new calls appear within a second unless paused", async ({ page, gateway }) => {
  await page.goto(`${activity}?query=clock__weekday`);
  await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  await expect(rows(page)).toHaveCount(0);
  await call(gateway, "clock__weekday_unknown", {});
  await expect(rows(page)).toHaveCount(1, { timeout: 2_500 });
  await expect(rows(page).first()).toContainText("clock__weekday_unknown");
  await expect(page.getByText("No calls in this period")).toBeHidden();
  await page.getByRole("button", { name: "Pause" }).click();
  const before = await countOf(gateway);
  await call(gateway, "clock__weekday_unknown", {});
  await expect.poll(() => countOf(gateway)).toBeGreaterThan(before);
  await page.waitForResponse(() => true, { timeout: 1_500 }).catch(() => {});
  await expect(rows(page)).toHaveCount(1);
  await page.getByRole("button", { name: "Resume" }).click();
  await expect(rows(page)).toHaveCount(2);
});

test("no call is missing or shown twice after a lost connection", async ({ page, gateway }) => {
  await page.goto(`${activity}?query=clock__lost`);
  await expect(page.getByRole("status").filter({ hasText: "Live" })).toBeVisible();
  await call(gateway, "clock__lost", {});
  await expect(rows(page)).toHaveCount(1);
  const link = page.locator("live-page");
  await link.evaluate((element) => element.dispatchEvent(new Event("gone"))); // closes the stream
  const before = await countOf(gateway);
  await call(gateway, "clock__lost", {});
  await expect.poll(() => countOf(gateway)).toBeGreaterThan(before);
  await expect(rows(page)).toHaveCount(1);
  await page.reload();
  await expect(rows(page)).toHaveCount(2);
  await call(gateway, "clock__lost", {});
  await expect(rows(page)).toHaveCount(3);
});

test("live numbers above the calls move nothing", async ({ page, gateway }) => {
  await page.goto(`${activity}?period=1h&query=clock__weekday_live`);
  await expect(page.getByText("No calls in this period")).toBeVisible();
  await page.evaluate(() => {
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) (window as any).shift = ((window as any).shift ?? 0) + (entry as any).value;
    }).observe({ type: "layout-shift" });
  });
  await call(gateway, "clock__weekday_live", {});
  await expect(calls(page)).toHaveText(/^1\s*$/, { timeout: 12_000 });
  await call(gateway, "clock__weekday_live", {});
  await expect(calls(page)).toHaveText(/^2\s*$/, { timeout: 12_000 });
  await expect(rows(page)).toHaveCount(2);
  expect(await page.evaluate(() => (window as any).shift ?? 0)).toBeLessThan(0.02);
});

test("search filters calls; chips and periods preserve it", async ({ page }) => {
  await page.goto(activity);
  await page.getByRole("searchbox", { name: "Search calls" }).fill("missing");
  await page.keyboard.press("Enter");
  await expect(rows(page).filter({ hasText: "clock__current_time" })).toHaveCount(0);
  await expect(rows(page).filter({ hasText: "text__missing" })).toHaveCount(20);
  await page.getByRole("link", { name: "7d" }).click();
  await expect(page).toHaveURL(/period=7d.*query=missing|query=missing.*period=7d/);
  await expect(rows(page)).toHaveCount(20);
  await page.getByRole("link", { name: "Slow 0" }).click();
  await expect(page.getByText("0 of 20 match (0%)")).toBeVisible();
  await page.getByRole("link", { name: "Show last 7 days" }).click();
  await expect(rows(page)).toHaveCount(40);
  await page.getByRole("link", { name: /^Failed \d/ }).click();
  await expect(page.locator("#activity-matches")).toHaveText(/^\s*(\d+) of (\d+) failed \(\d+%\)\s*$/);
});

/** Drags over a part of the chart of calls, from and to in parts of its width. */
async function drag(page: Page, from: number, to: number): Promise<void> {
  const box = (await page.locator("#calls-chart .marks").boundingBox())!;
  await page.mouse.move(box.x + from * box.width, box.y + 80);
  await page.mouse.down();
  await page.mouse.move(box.x + to * box.width, box.y + 90, { steps: 4 });
  await page.mouse.up();
}

test("dragging two hours of the chart selects them", async ({ page }) => {
  await page.goto(activity);
  await drag(page, 44.3 / 48, 47.6 / 48); // four bars of half an hour
  await expect(page).toHaveURL(/from=.*to=/);
  const url = new URL(page.url());
  expect(Date.parse(url.searchParams.get("to")!) - Date.parse(url.searchParams.get("from")!)).toBe(2 * 3600_000);
  await expect(page.locator("#calls-chart rect.sel[rx]").first()).toBeVisible();
  const list = await page.locator("#list .calls").innerText();
  const badge = (await page.locator(".badge.info").textContent())!;
  await page.reload();
  await expect(page.locator(".badge.info")).toHaveText(badge);
  expect(await page.locator("#list .calls").innerText()).toBe(list);
  await page.getByRole("link", { name: "Zoom in" }).click();
  await expect(page.getByText("per 5 min", { exact: true })).toBeVisible();
  await page.locator("#calls-chart").dblclick();
  await expect(page.locator(".badge.info")).toHaveText(badge);
  await page.locator("#calls-chart").focus();
  await page.keyboard.press("Escape");
  await expect(page).not.toHaveURL(/from=/);
});

test("charts are read with the keyboard", async ({ page }) => {
  await page.goto(`${activity}?period=1h`);
  await page.locator("#calls-chart").focus();
  await page.keyboard.press("ArrowLeft");
  await expect(page.locator("#calls-chart .tip")).toContainText("OK");
  await expect(page.locator("#said")).toContainText("Failed");
  const last = await page.locator("#calls-chart .tip strong").innerText();
  await page.keyboard.press("ArrowLeft");
  await expect(page.locator("#calls-chart .tip strong")).not.toHaveText(last);
  await page.keyboard.press("Escape");
  await expect(page.locator("#calls-chart .tip")).toBeHidden();
  await page.keyboard.press("[");
  await expect(page).toHaveURL(/from=/);
  await page.keyboard.press("]");
  await expect(page).toHaveURL(/from=/);
});

test("links from tools to their calls and to older calls", async ({ page }) => {
  await page.goto(activity);
  await page.getByRole("table", { name: "Calls by tool" }).getByRole("link", { name: "clock__current_time" }).click();
  await expect(page).toHaveURL(/query=tool/);
  await expect(rows(page)).toHaveCount(40);
  await page.locator(".chip.on", { hasText: "tool" }).click();
  await page.getByRole("link", { name: "Next", exact: true }).click();
  await expect(page.getByRole("link", { name: "First page" })).toBeVisible();
  await expect.poll(() => rows(page).count()).toBeGreaterThanOrEqual(20);
  await expect(page.getByRole("button", { name: "Pause" })).toHaveCount(0);
});

test("download of calls", async ({ page }) => {
  await page.goto(`${activity}?query=tool:text__missing`);
  for (const [name, begins] of [["CSV", "at,projectSlug,"], ["JSON", "{"]]) {
    const downloaded = page.waitForEvent("download");
    await page.getByText("Export", { exact: true }).click();
    await page.getByRole("link", { name: `Download these calls as ${name}` }).click();
    const file = await downloaded;
    const text = await (await file.createReadStream()).setEncoding("utf8").toArray();
    expect(file.suggestedFilename()).toContain(name.toLowerCase());
    expect(text.join("").startsWith(begins)).toBe(true);
    expect(text.join("").split("text__missing").length - 1).toBe(20);
    await page.keyboard.press("Escape");
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
    await expect(calls(page)).toHaveText(/^1\s*$/);
    await call(gateway, "second_ever", {}, "quiet");
    await expect(rows(page)).toHaveCount(2);
  });
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });
  test("list, search and pages of calls", async ({ page }) => {
    await page.goto(activity);
    await expect(rows(page)).toHaveCount(40);
    await expect(page.getByRole("button", { name: "Pause" })).toBeHidden();
    await page.getByText("Custom", { exact: true }).click();
    await page.getByLabel("From, UTC").fill("2026-01-01T00:00");
    await page.getByRole("button", { name: "Show", exact: true }).click();
    await expect(page).toHaveURL(/from=2026-01-01T00%3A00&to=/);
    await page.goto(activity);
    await page.getByRole("searchbox", { name: "Search calls" }).fill("outcome:failed -clock");
    await page.getByRole("button", { name: "Search" }).click();
    await expect(rows(page).filter({ hasText: "text__missing" }).first()).toBeVisible();
    await expect(rows(page).filter({ hasText: "clock" })).toHaveCount(0);
    await page.locator("summary[aria-label='Show as table']").first().click();
    await expect(page.getByRole("columnheader", { name: "Failed" }).first()).toBeVisible();
  });
});

test.describe("as a viewer", () => {
  test.use({ as: "viewer" });
  test("the same calls", async ({ page }) => {
    await page.goto(activity);
    await expect(rows(page)).toHaveCount(40);
    await expect(page.locator("main form[method=post]")).toHaveCount(0);
  });
});
