import type { Page } from "@playwright/test";

import { expectAccessibleInEach } from "../support/accessible.ts";
import { ofOneWorker, type Gateway } from "../support/gateway.ts";
import { addProject, expect, program, startEmptyGateway, test as base } from "../support/signed-in.ts";
import { startUpstream } from "../support/upstream.ts";

const text = (description: string) => ({ type: "string", description });

const tools = [
  { name: "list_issues", description: "Lists the open issues of a repository.", inputSchema: { type: "object", properties: { owner: text("Owner"), repo: text("Name") }, required: ["owner", "repo"], additionalProperties: false }, annotations: { readOnlyHint: true } },
];

interface Place {
  /** Projects with Code Mode, one for each test. */
  slugs: string[];
}

const test = base.extend<object, { place: Place }>({
  gateway: ofOneWorker(() => startEmptyGateway()),
  place: [
    async ({ gateway, people }, use) => {
      expect(people.admin.cookies.length).toBeGreaterThan(0);
      const upstream = await startUpstream({
        name: "tracker",
        tools,
        call: () => ({ content: [{ type: "text", text: "done" }], structuredContent: { issues: [{ number: 7, title: "It breaks" }, { number: 9, title: "Slow" }] } }),
      });
      const slugs = ["scripted", "plain"];
      for (const slug of slugs) await addProject(gateway, slug, { tracker: upstream.url }, { codeMode: { enabled: true, timeout: 20_000 } });
      await use({ slugs });
      await upstream.stop();
    },
    { scope: "worker" },
  ],
});

const code = `const { issues } = await tracker.list_issues({ owner: input.owner, repo: input.repo });
return { titles: issues.map((issue) => issue.title) };`;

const recipes = (slug: string) => `/admin/projects/${slug}/code-mode/recipes`;

/** Calls a tool with a new key and returns the result. */
async function call(gateway: Gateway, slug: string, name: string, args: object): Promise<{ isError?: boolean; content: { text: string }[]; structuredContent: unknown }> {
  const client = await program(gateway);
  const { key } = await (await client.post(`/api/projects/${slug}/keys`, { data: { name: "laptop" } })).json();
  const response = await client.post(`/v1/mcp/${slug}/request`, {
    headers: { Authorization: `Bearer ${key}`, "MCP-Protocol-Version": "2025-11-25" },
    data: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } },
  });
  const { result } = await response.json();
  await client.dispose();
  return result;
}

/** Runs code, saves it as a recipe, runs the recipe and approves a proposed one. */
async function useRecipes(page: Page, gateway: Gateway, slug: string, check: () => Promise<void>): Promise<void> {
  await page.goto(`/admin/projects/${slug}/code-mode`);
  await page.getByRole("link", { name: "Recipes" }).click();
  await expect(page.getByText("No recipes yet")).toBeVisible();
  await check();

  await page.goto(`/admin/projects/${slug}/code-mode`);
  await page.getByRole("textbox", { name: "Code" }).fill(code);
  await page.getByRole("radio", { name: "Input" }).check();
  await page.getByRole("textbox", { name: "Input" }).fill('{"owner": "acme", "repo": "app"}');
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByRole("group", { name: "Result", exact: true })).toContainText("It breaks");
  await page.getByRole("link", { name: "Save as recipe" }).click();
  await expect(page.getByRole("textbox", { name: "Input schema" })).toHaveValue(/"repo": \{\s*"type": "string"/);
  await expect(page.getByRole("radio", { name: "Reads" })).toBeChecked();
  await check();
  await page.getByRole("textbox", { name: "Name" }).fill("open_titles");
  await page.getByRole("textbox", { name: "Description" }).fill("Lists the titles of open issues.");
  await page.getByRole("textbox", { name: "Code" }).fill(`${code} }`);
  await page.getByRole("button", { name: "Save recipe" }).click();
  await expect(page.getByRole("alert")).toContainText("Correct the syntax");
  await page.getByRole("textbox", { name: "Code" }).fill(code);
  await page.getByRole("button", { name: "Save recipe" }).click();
  await expect(page.locator(".toast")).toContainText("Recipe saved.");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("gateway__open_titles");
  await expect(page.getByRole("link", { name: "tracker__list_issues" })).toBeVisible();
  await check();
  expect((await call(gateway, slug, "gateway__open_titles", { owner: "acme", repo: "app" })).structuredContent).toEqual({ titles: ["It breaks", "Slow"] });

  const here = page.url();
  await page.getByRole("link", { name: "Run", exact: true }).click();
  await page.getByLabel("owner").fill("acme");
  await page.getByLabel("repo").fill("app");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByText("It breaks").first()).toBeVisible();

  await page.goto(`${here}/edit`);
  await page.getByRole("textbox", { name: "Code" }).fill(code.replace("issue.title", "issue.number"));
  await page.getByRole("button", { name: "Save new version" }).click();
  await expect(page.getByRole("listitem").filter({ hasText: "Version 2" })).toContainText("Current");
  await page.getByRole("button", { name: "Restore" }).click();
  await expect(page.locator(".toast")).toContainText("Version 1 restored as version 3.");
  await page.getByRole("button", { name: "Turn off" }).click();
  await expect(page.locator(".toast")).toContainText("Recipe turned off.");
  await page.getByRole("button", { name: "Turn on" }).click();

  const proposed = await call(gateway, slug, "gateway_executeTool", { code: "return { one: 1 };", save: { name: "one", description: "Returns one." } });
  expect(proposed.content[0].text).toContain("Proposed as the recipe one.");
  await page.goto(recipes(slug));
  await check();
  await page.getByRole("link", { name: "Review one" }).click();
  await expect(page.getByText("Nothing uses this code yet")).toBeVisible();
  await check();
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(page.locator(".toast")).toContainText("Recipe approved.");
  expect((await call(gateway, slug, "gateway__one", {})).structuredContent).toEqual({ one: 1 });

  await page.locator("summary", { hasText: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete recipe" }).click();
  await expect(page).toHaveURL(recipes(slug));
  await expect(page.getByRole("row")).toHaveCount(2);
}

test("administrator saves a run as a recipe and approves a proposed one", async ({ page, gateway, place }) => {
  test.slow(); // every page in each look
  await useRecipes(page, gateway, place.slugs[0], () => expectAccessibleInEach(page));
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });
  test("administrator saves a run as a recipe and approves a proposed one", async ({ page, gateway, place }) => {
    await useRecipes(page, gateway, place.slugs[1], async () => {});
  });
});
