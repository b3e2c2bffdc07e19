import type { Page } from "@playwright/test";

import { expectAccessible, inEach, looks } from "../support/accessible.ts";
import { loadAndMeasure } from "../support/measure.ts";
import { expect, test } from "../support/test.ts";

const pages = [
  { name: "the registry", path: "/registry", heading: "Catalog" },
  { name: "a search", path: "/registry?query=tag%3Adevops%20verified%3Atrue%20-aws", heading: "Catalog" },
  { name: "a broken search", path: "/registry?query=github%20tags%3Asearch", heading: "Catalog" },
  { name: "a search with closest matches", path: "/registry?query=posgres&works=1", heading: "Catalog" },
  { name: "a remote server", path: "/registry/asana/asana", heading: "Asana" },
  { name: "a server with a key", path: "/registry/stripe/stripe", heading: "Stripe" },
  { name: "a local server", path: "/registry/stripe/stripe-local", heading: "Stripe" },
  { name: "a server with marked tools", path: "/registry/github/github", heading: "GitHub" },
  { name: "a program that needs a folder", path: "/registry/modelcontextprotocol/filesystem", heading: "Filesystem" },
  { name: "programs that run here", path: "/registry?runs=here", heading: "Catalog" },
  { name: "a missing server", path: "/registry/asana/asna", heading: "Not found" },
  { name: "the templates", path: "/templates", heading: "Catalog" },
  { name: "a template", path: "/templates/billing-support", heading: "Billing support" },
];

for (const { name, path, heading } of pages) {
  test(`${name} is accessible and fits the window`, async ({ page }) => {
    test.slow(); // checks the page in each look
    await inEach(looks, page, async () => {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
      await expectAccessible(page);
    });
  });
}

for (const { name, path } of pages) {
  test(`budgets of ${name}`, async ({ page }) => {
    const cost = await loadAndMeasure(page, path);
    expect(cost.html).toBeGreaterThan(0);
    expect(cost.html).toBeLessThanOrEqual(60_000);
    expect(cost.css).toBeLessThanOrEqual(12_000);
    expect(cost.js).toBeLessThanOrEqual(26_000);
    expect(cost.requests).toBeLessThanOrEqual(8);
    expect(cost.layoutShift).toBeLessThan(0.02);
  });
}

const results = (page: Page) => page.locator("#results");
const box = (page: Page) => page.getByRole("searchbox", { name: "Search the catalog" });
const shown = (page: Page) => results(page).getByRole("status");

/** Searches for a server, filters the list, opens the server and reads its installation. */
async function findAsana(page: Page) {
  await page.goto("/");
  await page.getByRole("link", { name: /^Browse \d+ servers$/ }).click();
  await box(page).fill("tasks projects");
  await box(page).press("Enter");
  await expect(page).toHaveURL("/registry?query=tasks+projects");
  await page.getByRole("link", { name: "Verified", exact: true }).click();
  await expect(box(page)).toHaveValue("tasks projects verified:true");
  await page.getByRole("group", { name: "Topic" }).getByRole("link", { name: /^Project management/ }).click();
  await expect(box(page)).toHaveValue("tasks projects verified:true tag:project-management");
  await page.getByRole("link", { name: "Verified (on)", exact: true }).click();
  await expect(box(page)).toHaveValue("tasks projects tag:project-management");
  await page.getByRole("group", { name: "Sign-in" }).getByRole("link", { name: /^OAuth sign-in/ }).click();
  await expect(page).toHaveURL(/signin=oauth/);
  await results(page).getByRole("link", { name: "Asana", exact: true }).click();
  await expect(page).toHaveURL("/registry/asana/asana");
  await expect(page.getByRole("main")).toContainText("Verified: asana.com");
  await expect(page.getByRole("group", { name: "Claude Code" })).toHaveText("claude mcp add --transport http asana https://mcp.asana.com/v2/mcp");
  await page.getByRole("radio", { name: "VS Code" }).check();
  const file = JSON.parse((await page.getByRole("group", { name: "VS Code" }).textContent())!);
  expect(file).toEqual({ servers: { asana: { type: "http", url: "https://mcp.asana.com/v2/mcp" } } });
  await expect(page.getByRole("group", { name: "Claude Code" })).toBeHidden();
}

/** Opens all pages of the list and returns the number of servers. */
async function readToTheEnd(page: Page): Promise<number> {
  await page.goto("/registry?query=tag%3Adevops");
  const total = Number((await shown(page).textContent())!.match(/^([\d,]+) servers/)![1].replace(",", ""));
  const pager = page.getByRole("navigation", { name: "Pages of the list" });
  const names = new Set<string>();
  for (let number = 1; ; number++) {
    await expect(pager.locator("[aria-current]")).toHaveText(String(number));
    for (const link of await results(page).locator("a.card-link").all()) names.add((await link.getAttribute("href"))!);
    const next = pager.locator('a[rel="next"]');
    if ((await next.count()) === 0) break;
    await next.click();
  }
  expect(names.size).toBe(total);
  await pager.getByRole("link", { name: "Page 1", exact: true }).click();
  await expect(page).toHaveURL("/registry?query=tag%3Adevops");
  return total;
}

/** Opens the servers closest to a misspelled word. */
async function findTheClosest(page: Page) {
  await page.goto("/registry?works=1");
  await expect(shown(page)).toHaveText(/^\d+ servers that work here, featured first$/);
  await box(page).fill("posgres");
  await box(page).press("Enter");
  await expect(results(page).getByRole("status")).toHaveText("No server has all of these words. Closest:");
  await expect(results(page).getByRole("link", { name: "Neon", exact: true })).toBeVisible();
  await results(page).getByRole("link", { name: "Show them" }).click();
  await expect(results(page).getByRole("link", { name: "Postgres MCP Pro", exact: true })).toBeVisible();
}

/** Lists the servers by name. */
async function sortByName(page: Page, script: boolean) {
  await page.goto("/registry?query=tag%3Apayments&works=1");
  await page.getByLabel("Sort").selectOption("Name");
  if (!script) await page.getByRole("button", { name: "Sort" }).click();
  await expect(page).toHaveURL(/sort=name/);
  await expect(shown(page)).toContainText("by name");
  const titles = await results(page).locator("a.card-link").allTextContents();
  expect(titles.length).toBeGreaterThan(3);
  expect(titles).toEqual(titles.toSorted((a, b) => (a.toLowerCase() < b.toLowerCase() ? -1 : 1)));
}

/** Checks the error of a query and follows the link that fixes it. */
async function mendAQuery(page: Page) {
  await page.goto("/registry");
  await box(page).fill("github tags:devops");
  await box(page).press("Enter");
  const hint = page.locator("#query-error");
  await expect(hint).toContainText(/unknown (filter|qualifier) "?tags/i);
  await expect(hint.locator("mark")).toHaveText("tags:devops");
  await hint.getByRole("link").click();
  await expect(box(page)).toHaveValue("github tag:devops");
  await expect(results(page).getByRole("link", { name: "GitHub", exact: true })).toBeVisible();
}

/** Filters for the servers that a computer can run, opens one, and reads the file and the commands for each package. */
async function runHere(page: Page) {
  await page.goto("/registry?query=stripe");
  await page.getByRole("group", { name: "Where it runs" }).getByRole("link", { name: /^Runs here/ }).click();
  await expect(page).toHaveURL("/registry?query=stripe&runs=here");
  await expect(shown(page)).toContainText(/run(s)? here/);
  await results(page).getByRole("link", { name: "Stripe", exact: true }).click();
  await expect(page).toHaveURL("/registry/stripe/stripe-local");
  const card = page.getByRole("region", { name: "Run it here" });
  await expect(card).toContainText("Set STRIPE_SECRET_KEY in the environment of the runner.");
  for (const [tab, command, args] of [
    ["npx", "npx", ["-y", "@stripe/mcp", "--tools=all"]],
    ["Docker", "docker", ["run", "--rm", "-i", "-e", "STRIPE_SECRET_KEY", "mcp/stripe"]],
  ] as const) {
    await card.getByRole("radio", { name: tab }).check();
    const file = JSON.parse((await card.locator("pre:visible").first().textContent())!);
    const { "stripe-local": entry } = file.mcpServers;
    expect(entry).toMatchObject({ command, env: { STRIPE_SECRET_KEY: "${STRIPE_SECRET_KEY}" } });
    expect(entry.args.slice(0, args.length)).toEqual(args);
    await expect(card.locator("pre:visible").nth(1)).toHaveText("gateway serve --local servers.json");
  }
}

test("visitor finds a server by search and filters", async ({ page }) => findAsana(page));

test("visitor finds a program and how to run it", async ({ page }) => runHere(page));

test("visitor opens all pages of the list", async ({ page }) => {
  expect(await readToTheEnd(page)).toBeGreaterThan(48);
});

test("invalid query shows the error and a correction", async ({ page }) => mendAQuery(page));

test("misspelled word finds the closest servers", async ({ page }) => findTheClosest(page));

test("visitor lists servers by name", async ({ page }) => sortByName(page, true));

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });
  test("visitor finds a server by search and filters", async ({ page }) => findAsana(page));
  test("visitor finds a program and how to run it", async ({ page }) => runHere(page));
  test("visitor opens all pages of the list", async ({ page }) => {
    expect(await readToTheEnd(page)).toBeGreaterThan(48);
  });
  test("invalid query shows the error and a correction", async ({ page }) => mendAQuery(page));
  test("misspelled word finds the closest servers", async ({ page }) => findTheClosest(page));
  test("visitor lists servers by name", async ({ page }) => sortByName(page, false));
});

test("live search with a URL that can be shared", async ({ page, browser, baseURL }) => {
  await page.goto("/registry");
  await page.keyboard.press("/");
  await page.keyboard.insertText("billing invoices");
  await expect(shown(page)).not.toHaveText(/\d+ servers, featured/);
  await expect(page).toHaveURL("/registry?query=billing+invoices");
  const here = await results(page).innerText();
  const other = await (await browser.newContext({ baseURL })).newPage();
  await other.goto(page.url());
  expect(await results(other).innerText()).toBe(here);
  await other.context().close();
  // An incomplete clause is not an error.
  await box(page).fill("billing tag:");
  await expect(page.locator("#query-error")).toContainText("has no value");
  await box(page).fill("billing tag:finance");
  await expect(page.locator("#query-error")).toHaveCount(0);
});

test("copied snippet equals the shown one", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/registry/asana/asana");
  await page.getByRole("button", { name: "Copy: Claude Code" }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe("claude mcp add --transport http asana https://mcp.asana.com/v2/mcp");
});

test("editor links contain the server and no key", async ({ page }) => {
  await page.goto("/registry/stripe/stripe");
  await page.getByRole("radio", { name: "Cursor" }).check();
  const cursor = new URL((await page.getByRole("link", { name: "Add to Cursor" }).getAttribute("href"))!);
  expect(cursor.searchParams.get("name")).toBe("stripe");
  const inner = JSON.parse(Buffer.from(cursor.searchParams.get("config")!, "base64").toString());
  expect(Object.keys(inner)).toEqual(["url"]);
  await page.getByRole("radio", { name: "VS Code" }).check();
  const code = (await page.getByRole("link", { name: "Add to VS Code" }).getAttribute("href"))!;
  expect(JSON.parse(decodeURIComponent(code.slice(code.indexOf("?") + 1)))).toEqual({ name: "stripe", type: "http", url: inner.url });
});

test("local server shows its start command and can't be added to a project", async ({ page }) => {
  await page.goto("/registry/stripe/stripe-local");
  await expect(page.getByRole("main")).toContainText("Runs as a program. Run it here, or connect it directly.");
  await expect(page.getByRole("group", { name: "Command line" }).first()).toHaveText("npx -y @stripe/mcp --tools=all");
});

test("template links to its servers and to the sign-in", async ({ page }) => {
  await page.goto("/templates");
  await page.getByRole("link", { name: /^Finance \d/ }).click();
  await page.getByRole("link", { name: "Billing support" }).click();
  await expect(page.getByRole("link", { name: "Sign in to use it" })).toHaveAttribute("href", "/login?next=%2Ftemplates%2Fbilling-support");
  await page.getByRole("link", { name: "Stripe", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Stripe");
});

test.describe("on a phone", () => {
  test.use({ viewport: { width: 390, height: 844 } });
  test("collapsed filters can be opened", async ({ page }) => {
    await page.goto("/registry");
    const tag = page.getByRole("link", { name: /^Devops/ });
    await expect(tag).toBeHidden();
    await page.getByText("Filters", { exact: true }).click();
    await tag.click();
    await expect(box(page)).toHaveValue("tag:devops");
  });
});
