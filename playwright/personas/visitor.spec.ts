import type { Page } from "@playwright/test";

import { expectAccessible, looks } from "../support/accessible.ts";
import { tab, tabThrough } from "../support/focus.ts";
import { loadAndMeasure } from "../support/measure.ts";
import { expect, test } from "../support/test.ts";

const pages = [
  { name: "the start page", path: "/", status: 200, heading: "One endpoint for all your MCP servers" },
  { name: "the page for an unknown address", path: "/nothing-here", status: 404, heading: "Page not found" },
];

async function background(page: Page): Promise<string> {
  return page.evaluate(() => getComputedStyle(document.body).backgroundColor);
}

for (const look of looks) {
  test.describe(look.name, () => {
    test.use(look.use);
    for (const { name, path, status, heading } of pages) {
      test(`${name} is accessible and fits the window`, async ({ page }) => {
        const answer = await page.goto(path);
        expect(answer!.status()).toBe(status);
        await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
        expect(await background(page)).toBe(look.use.colorScheme === "dark" ? "rgb(17, 19, 18)" : "rgb(251, 251, 250)");
        await expectAccessible(page);
      });
    }
  });
}

for (const { name, path } of pages) {
  test(`budgets of ${name}`, async ({ page }) => {
    const cost = await loadAndMeasure(page, path);
    // A stylesheet and a document were counted, so the measurement works.
    expect(cost.html).toBeGreaterThan(0);
    expect(cost.css).toBeGreaterThan(0);
    expect(cost.html).toBeLessThanOrEqual(60_000);
    expect(cost.css).toBeLessThanOrEqual(12_000);
    expect(cost.js).toBeLessThanOrEqual(26_000);
    expect(cost.requests).toBeLessThanOrEqual(8);
    expect(cost.layoutShift).toBeLessThan(0.02);
  });

  test(`${name} has visible focus at every tab stop`, async ({ page }) => {
    await page.goto(path);
    const stops = await tabThrough(page);
    expect(stops.length).toBeGreaterThanOrEqual(3);
    expect(stops.filter((stop) => !stop.visible)).toEqual([]);
    expect(stops.at(-1)!.insideMain, "the last stop is in the content").toBe(true);
  });

  test(`${name} has a skip link`, async ({ page }) => {
    await page.goto(path);
    expect(await tab(page)).toMatchObject({ what: 'a "Skip to content"', visible: true });
    await page.keyboard.press("Enter");
    await expect(page.locator("main")).toBeFocused();
    expect(await tab(page)).toMatchObject({ insideMain: true, visible: true });
  });
}

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });
  for (const { name, path, heading } of pages) {
    test(`${name} has the same text`, async ({ page, browser, baseURL }) => {
      const withScripts = await browser.newContext({ baseURL, javaScriptEnabled: true });
      try {
        const other = await withScripts.newPage();
        await Promise.all([page.goto(path), other.goto(path)]);
        const said = async (p: Page) => {
          // Hints about shortcuts are hidden without scripts.
          await p.locator("kbd.js").evaluateAll((hints) => hints.forEach((hint) => hint.remove()));
          return (await p.locator("body").innerText()).replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "ID");
        };
        expect(await said(page)).toContain(heading);
        expect(await said(page)).toBe(await said(other));
      } finally {
        await withScripts.close();
      }
    });
  }

  test("error page links to the home page", async ({ page }) => {
    await page.goto("/nothing-here");
    await page.getByRole("link", { name: "Go to start page" }).click();
    await expect(page).toHaveURL("/");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(pages[0].heading);
  });
});

test("error page shows the request id", async ({ page }) => {
  const answer = await page.goto("/nothing-here");
  const id = answer!.headers()["x-request-id"];
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  await expect(page.getByRole("main")).toContainText("Check the URL.");
  await expect(page.getByRole("main")).toContainText(id);
});

test("static files are cached permanently under their hash only", async ({ page, request }) => {
  await page.goto("/");
  const css = await page.locator("link[rel=stylesheet]").getAttribute("href");
  const found = await request.get(css!);
  expect(found.status()).toBe(200);
  expect(found.headers()["cache-control"]).toBe("public, max-age=31536000, immutable");
  const other = css!.replace(/^\/static\/[0-9a-f]{12}\//, "/static/000000000000/");
  expect(other).not.toBe(css);
  const missing = await request.get(other);
  expect(missing.status()).toBe(404);
  expect(missing.headers()["cache-control"]).toBe("no-store");
});

test.describe("narrow window", () => {
  test.use({ viewport: { width: 390, height: 844 } });
  test("long lines of a snippet scroll, also with the keyboard", async ({ page }) => {
    await page.goto("/registry/asana/asana");
    const code = page.getByRole("group", { name: "Claude Code", exact: true });
    const scrolled = () => code.evaluate((pre) => pre.scrollLeft);
    expect(await code.evaluate((pre) => pre.scrollWidth - pre.clientWidth)).toBeGreaterThan(0);
    expect(await scrolled()).toBe(0);
    await code.focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(scrolled).toBeGreaterThan(0);
  });
});

test("home page links to servers and templates", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByRole("link", { name: /^All \d+ that work here$/ })).toHaveAttribute("href", "/registry?works=1");
  await expect(page.getByRole("link", { name: "All templates" })).toHaveAttribute("href", "/templates");
  await expect(page.getByRole("link", { name: "Sign in" }).first()).toHaveAttribute("href", "/login");
  await page.getByRole("link", { name: /^Browse \d+ servers$/ }).click();
  await expect(page).toHaveURL("/registry");
});

test("icons of the site and the picture for other sites are served", async ({ page, request }) => {
  await page.goto("/");
  for (const [path, type] of [["/favicon.ico", "image/x-icon"], ["/apple-touch-icon.png", "image/png"]] as const) {
    const answer = await request.get(path);
    expect(answer.status()).toBe(200);
    expect(answer.headers()["content-type"]).toBe(type);
    expect(answer.headers()["cache-control"]).toContain("public");
  }
  const image = await page.locator('meta[property="og:image"]').getAttribute("content");
  const answer = await request.get(new URL(image!).pathname);
  expect(answer.headers()["content-type"]).toBe("image/png");
});
