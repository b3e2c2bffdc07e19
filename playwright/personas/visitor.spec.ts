import { writeFile } from "node:fs/promises";
import path from "node:path";

import type { Page } from "@playwright/test";

import { expectAccessible, looks, phoneInDark } from "../support/accessible.ts";
import { sendCurl } from "../support/curl.ts";
import { tab, tabThrough } from "../support/focus.ts";
import { loadAndMeasure } from "../support/measure.ts";
import { expect, test } from "../support/test.ts";

const pages = [
  { name: "the start page", path: "/", status: 200, heading: "One endpoint for all your MCP servers" },
  { name: "the page for an unknown address", path: "/nothing-here", status: 404, heading: "Page not found" },
];

/** Returns the text of the snippet under the label, as a visitor would copy it. */
async function snippet(page: Page, label: string): Promise<string> {
  return (await page.getByRole("group", { name: label, exact: true }).textContent())!;
}

async function background(page: Page): Promise<string> {
  return page.evaluate(() => getComputedStyle(document.body).backgroundColor);
}

for (const look of [...looks, phoneInDark]) {
  test.describe(look.name, () => {
    test.use(look.use);
    for (const { name, path, status, heading } of pages) {
      test(`${name} is accessible and fits the window`, async ({ page }) => {
        const answer = await page.goto(path);
        expect(answer!.status()).toBe(status);
        await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
        expect(await background(page)).toBe(look.use.colorScheme === "dark" ? "rgb(18, 20, 19)" : "rgb(251, 251, 250)");
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
    expect(cost.css).toBeLessThanOrEqual(10_000);
    expect(cost.js).toBeLessThanOrEqual(20_000);
    expect(cost.requests).toBeLessThanOrEqual(6);
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

test("error page shows the URL and the request id", async ({ page }) => {
  const answer = await page.goto("/nothing-here");
  const id = answer!.headers()["x-request-id"];
  expect(id).toMatch(/^[0-9a-f-]{36}$/);
  await expect(page.getByRole("main")).toContainText("GET /nothing-here");
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
    await page.goto("/");
    const code = page.getByRole("group", { name: "List its tools", exact: true });
    const scrolled = () => code.evaluate((pre) => pre.scrollLeft);
    expect(await code.evaluate((pre) => pre.scrollWidth - pre.clientWidth)).toBeGreaterThan(0);
    expect(await scrolled()).toBe(0);
    await code.focus();
    await page.keyboard.press("ArrowRight");
    await expect.poll(scrolled).toBeGreaterThan(0);
  });
});

test("home page links to servers, templates and the search", async ({ page }) => {
  await page.goto("/");
  await expect(page.getByRole("link", { name: /^All \d+ servers$/ })).toHaveAttribute("href", "/registry");
  await expect(page.getByRole("link", { name: "All templates" })).toHaveAttribute("href", "/templates");
  await expect(page.getByRole("link", { name: "Open the admin" })).toHaveCount(0);
  await page.getByRole("searchbox").fill("notion");
  await page.getByRole("button", { name: "Search" }).click();
  await expect(page).toHaveURL("/registry?query=notion");
  await expect(page.getByRole("link", { name: "Notion", exact: true }).first()).toBeVisible();
});

test("curl command of the home page lists the demo's tools", async ({ page, gateway }) => {
  await page.goto("/");
  const answer = await sendCurl(gateway, await snippet(page, "List its tools"));
  expect(answer.status).toBe(200);
  const { result } = (await answer.json()) as { result: { tools: { name: string }[] } };
  const names = result.tools.map((tool) => tool.name);
  expect(names).toContain("clock__current_time");
  expect(names.some((name) => name.startsWith("text__"))).toBe(true);
});

test("steps of the home page create a project for the shown client configuration", async ({ page, gateway }) => {
  await page.goto("/");
  // The example's servers are fictitious; the demo's two servers replace them.
  const { demo } = JSON.parse(await gateway.shell("gateway export --project demo")).projects;
  const declaration = (await snippet(page, "projects.json"))
    .replace("https://docs.example.com/mcp", demo.mcpServers.text.url)
    .replace("https://chat.example.com/mcp", demo.mcpServers.clock.url);
  await writeFile(path.join(gateway.folder, "projects.json"), declaration);
  expect(await gateway.shell(await snippet(page, "Apply"))).toContain("+ project team");
  const key = (await gateway.shell(await snippet(page, "Create a key"))).trim();
  const configuration = await snippet(page, "Client configuration");
  const { type, url, headers } = JSON.parse(configuration.replace("API_KEY", key)).mcpServers.team;
  expect(type).toBe("http");

  const list = async (headers: Record<string, string>) =>
    fetch(url, {
      method: "POST",
      headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
    });
  // The running gateway receives the changes of the commands and syncs the servers.
  const servers = async () => {
    const answer = await list(headers);
    if (answer.status !== 200) return [];
    const { result } = (await answer.json()) as { result: { tools: { name: string }[] } };
    return [...new Set(result.tools.map((tool) => tool.name.split("__")[0]))];
  };
  await expect.poll(servers).toEqual(expect.arrayContaining(["docs", "chat"]));
  expect((await list({})).status, "without the key").toBe(401);
});
