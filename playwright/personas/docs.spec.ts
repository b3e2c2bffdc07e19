import { expectAccessible, inEach, looks } from "../support/accessible.ts";
import { tab, tabThrough } from "../support/focus.ts";
import { loadAndMeasure } from "../support/measure.ts";
import { expect, test } from "../support/test.ts";

const pages = [
  { path: "/docs", heading: "Documentation" },
  { path: "/docs/quick-start", heading: "Quick start" },
  { path: "/docs/errors", heading: "Error codes" },
  { path: "/docs/performance", heading: "Performance" },
  { path: "/docs?q=rotate+key", heading: "Search the documentation" },
  { path: "/docs?q=zebra", heading: "Search the documentation" },
];

for (const { path, heading } of pages) {
  test(`${path} is accessible and keeps to the window`, async ({ page }) => {
    test.slow(); // checks the page in each look
    await inEach(looks, page, async () => {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
      await expectAccessible(page);
    });
  });
}

// The slow one of this file: axe reads all pages once.
test("every page is accessible, and the next links lead through all", async ({ page }) => {
  test.slow();
  await page.goto("/docs");
  await page.getByRole("main").getByRole("link", { name: "Quick start" }).first().click();
  const seen: string[] = [];
  for (;;) {
    seen.push(new URL(page.url()).pathname);
    await expectAccessible(page, { without: "color-contrast" }); // one stylesheet, checked above
    const next = page.locator('a[rel="next"]');
    if ((await next.count()) === 0) break;
    await next.click();
    await expect(page).not.toHaveURL(new RegExp(`${seen.at(-1)}$`));
    await page.waitForLoadState();
  }
  expect(seen.length).toBeGreaterThan(30);
  expect(new Set(seen).size).toBe(seen.length);
});

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled });
    for (const [query, first] of [
      ["rotate key", "/docs/rotate-keys"],
      ["CURSOR_STALE", "/docs/errors#CURSOR_STALE"],
      ["Entra", "/docs/single-sign-on#microsoft-entra-id"],
    ] as const) {
      test(`a search for ${query} leads to its part first`, async ({ page }) => {
        await page.goto("/docs");
        await page.getByRole("searchbox").fill(query);
        await page.getByRole("searchbox").press("Enter");
        const found = page.locator(".docs-found a").first();
        await expect(found).toHaveAttribute("href", first);
        await found.click();
        await expect(page).toHaveURL(new RegExp(`${first}$`));
      });
    }

    test("links between pages and headings work", async ({ page }) => {
      await page.goto("/docs/errors#CURSOR_STALE");
      await expect(page.getByRole("heading", { name: "CURSOR_STALE" })).toBeInViewport();
      await page.goto("/docs/quick-start");
      await page.getByRole("main").getByRole("link", { name: "TOOL_NOT_FOUND" }).click();
      await expect(page).toHaveURL(/\/docs\/errors#TOOL_NOT_FOUND$/);
      await expect(page.getByRole("heading", { name: "TOOL_NOT_FOUND" })).toBeInViewport();
    });
  });
}

test("commands are copied without prompts and output, and code as it is", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/docs/quick-start");
  const copy = async (block: string) => {
    await page.locator("copy-text", { hasText: block }).getByRole("button").click();
    return expect.poll(() => page.evaluate(() => navigator.clipboard.readText()));
  };
  await (await copy("make build")).toBe('make build\nexport PATH="$PWD/bin:$PATH"');
  await (await copy('"zone":"Europe/Berlin"')).toMatch(/^curl -s [^\n]+$/);
  await (await copy("FastMCP")).toContain("from mcp.server.fastmcp import FastMCP\nmcp =");
});

test("Markdown and the files for language models are served", async ({ page, request }) => {
  const raw = await request.get("/docs/quick-start.md");
  expect(raw.headers()["content-type"]).toContain("text/markdown");
  expect(await raw.text()).toContain("# Quick start");
  expect(await (await request.get("/llms.txt")).text()).toContain("/docs/errors.md");
  expect(await (await request.get("/llms-full.txt")).text()).toContain("### CURSOR_STALE");
  await page.goto("/docs/quick-start");
  expect(await tab(page)).toMatchObject({ what: 'a "Skip to content"', visible: true });
});

test("the quick start keeps to its budgets and shows every stop of the Tab key", async ({ page }) => {
  const cost = await loadAndMeasure(page, "/docs/quick-start");
  expect(cost.html).toBeGreaterThan(0);
  expect(cost.html).toBeLessThanOrEqual(60_000);
  expect(cost.css).toBeLessThanOrEqual(12_000);
  expect(cost.js).toBeLessThanOrEqual(26_000);
  expect(cost.requests).toBeLessThanOrEqual(8);
  expect(cost.layoutShift).toBeLessThan(0.02);
  const stops = await tabThrough(page);
  expect(stops.filter((stop) => !stop.visible)).toEqual([]);
});
