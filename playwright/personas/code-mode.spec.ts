import { fileURLToPath } from "node:url";

import type { Page } from "@playwright/test";

import { expectAccessible, looks } from "../support/accessible.ts";
import { ofOneWorker } from "../support/gateway.ts";
import { loadAndMeasure } from "../support/measure.ts";
import { addProject, ada, expect, pageOf, program, startEmptyGateway, test as base } from "../support/signed-in.ts";
import { startUpstream } from "../support/upstream.ts";

const compiler = fileURLToPath(new URL(`../../node_modules/@typescript/typescript-${process.platform}-${process.arch}/lib/tsc`, import.meta.url));

const text = (description: string) => ({ type: "string", description });
const repository = { owner: text("Who owns the repository"), repo: text("Its name") };
const object = (properties: object, required: string[]) => ({ type: "object", properties, required, additionalProperties: false });

/** Tools of an issue tracker: more than one page of declarations. */
const tools = [
  { name: "list_issues", description: "Lists the open issues of a repository.", inputSchema: object(repository, ["owner", "repo"]), annotations: { readOnlyHint: true } },
  { name: "close_issue", description: "Closes an issue.", inputSchema: object({ ...repository, number: { type: "integer" } }, ["owner", "repo", "number"]), annotations: { readOnlyHint: false } },
  { name: "odd", description: "Its schema has identifiers of its own.", inputSchema: { type: "object", properties: { a: { $id: "a.json", type: "string" } } } },
  ...Array.from({ length: 100 }, (_, i) => ({
    name: `report_${i}`,
    description: `Makes report ${i} of a repository: who did what, where and when, in the period that is asked for, with totals for every week of it.`,
    inputSchema: object({ ...repository, since: { ...text("First day"), format: "date" }, limit: { type: "integer", minimum: 1, maximum: 100, default: 20, description: "How many rows" } }, ["owner", "repo"]),
  })),
];

interface Place {
  /** A project with Code Mode. */
  slug: string;
  /** Number of closed issues. */
  closed(): number;
}

/** The usual test function with a gateway that has a compiler and an issue tracker. */
const test = base.extend<object, { place: Place }>({
  gateway: ofOneWorker(() => startEmptyGateway({ GATEWAY_TSC: compiler })),
  place: [
    async ({ gateway, people }, use) => {
      expect(people.admin.cookies.length).toBeGreaterThan(0);
      let closed = 0;
      const call = (name: string, args: Record<string, unknown>) => {
        if (name === "close_issue") closed++;
        const issues = [{ number: 7, title: "It breaks <b>here</b>" }, { number: 9, title: "Slow" }];
        return { content: [{ type: "text", text: "done" }], structuredContent: name === "list_issues" ? { issues } : { name, args } };
      };
      const upstream = await startUpstream({ name: "tracker", tools, call });
      await addProject(gateway, "tracker", { "my-tracker": upstream.url }, { codeMode: { enabled: true, timeout: 20_000 } });
      await use({ slug: "tracker", closed: () => closed });
      await upstream.stop();
    },
    { scope: "worker" },
  ],
});

const good = `const begun = Date.now(), dice = Math.random();
const { issues } = await my$_tracker.list_issues({ owner: "a", repo: "b" });
console.log("there are", issues.length);
await my$_tracker.close_issue({ owner: "a", repo: "b", number: issues[0].number });
return { first: issues[0].title, mark: input.mark, begun, dice };`;

const broken = `const before = await my$_tracker.list_issues({ owner: "a", repo: "b" });
console.log(before.issues.length);

const nothing = null;
return nothing.issues;`;

/** Enters code in the form and runs it. */
async function run(page: Page, slug: string, code: string, { input = "", check = "off", dry = false } = {}): Promise<void> {
  await page.goto(`/admin/projects/${slug}/code-mode`);
  await page.getByRole("textbox", { name: "Code" }).fill(code);
  if (input) {
    await page.getByRole("radio", { name: "Input" }).check();
    await page.getByRole("textbox", { name: "Input" }).fill(input);
  }
  await page.getByRole("combobox", { name: "Type check" }).selectOption(check);
  if (dry) await page.getByRole("checkbox", { name: "Dry run" }).check();
  await page.getByRole("button", { name: "Run", exact: true }).click();
}

/** The page after a run. */
const finished = /\/code-mode\?run=[0-9a-f-]{36}&typecheck=off#outcome$/;

const result = (page: Page) => page.getByRole("group", { name: "Result", exact: true });

for (const look of looks) {
  test.describe(look.name, () => {
    test.use(look.use);
    test("pages of Code Mode are accessible and fit the window", async ({ page, place }) => {
      test.slow(); // nine pages
      const check = async () => {
        await expect(page.getByRole("heading", { level: 1 })).toHaveCount(1);
        await expectAccessible(page);
      };
      await page.goto(`/admin/projects/${place.slug}/code-mode`);
      await check();
      await page.goto(`/admin/projects/${place.slug}/code-mode/settings`);
      await check();
      await page.goto(`/admin/projects/${place.slug}/code-mode/settings?filter=nothing%20like%20it`);
      await check();
      await run(page, place.slug, good, { input: '{"mark":1}' });
      await expect(result(page)).toBeVisible();
      await check();
      await page.getByRole("radio", { name: "Table" }).check();
      await check();
      await run(page, place.slug, broken);
      await expect(page.getByRole("group", { name: "Where it happened" })).toBeVisible();
      await check();
      await page.getByRole("link", { name: "Open this run" }).click();
      await check();
      await page.goto(`/admin/projects/${place.slug}/code-mode/runs`);
      await check();
      await page.goto(`/admin/projects/${place.slug}/code-mode/runs?state=ok`);
      await check();
    });
  });
}

test("budgets of the pages", async ({ page, place }) => {
  await run(page, place.slug, good, { input: '{"mark":1}' });
  await expect(page).toHaveURL(finished);
  await expect(result(page)).toBeVisible();
  const kept = new URL(page.url());
  for (const path of ["", "/settings", kept.search, "/runs", `/runs/${kept.searchParams.get("run")}`]) {
    const cost = await loadAndMeasure(page, `/admin/projects/${place.slug}/code-mode${path}`);
    expect(cost.html, path).toBeGreaterThan(0);
    expect(cost.html, path).toBeLessThanOrEqual(60_000);
    expect(cost.css, path).toBeLessThanOrEqual(12_000);
    expect(cost.js, path).toBeLessThanOrEqual(26_000);
    expect(cost.requests, path).toBeLessThanOrEqual(8);
    expect(cost.layoutShift, path).toBeLessThan(0.02);
  }
});

/** Enables Code Mode in a new project, opens the preview, runs code and replays it. */
async function useCodeMode(page: Page, place: Place, slug: string) {
  test.slow(); // a dozen pages
  const workbench = `/admin/projects/${slug}/code-mode`;
  await page.goto(`${workbench}/run`);
  await expect(page).toHaveURL(workbench);
  await expect(page.getByText("Code Mode is off")).toBeVisible();
  await page.getByRole("button", { name: "Turn on Code Mode" }).click();
  await expect(page).toHaveURL(workbench);
  await expect(page.getByText("No run yet")).toBeVisible();
  await page.getByRole("main").getByRole("link", { name: "Settings" }).click();
  await page.getByRole("spinbutton", { name: "Timeout (seconds)" }).fill("22.5");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.locator(".toast")).toContainText("Settings saved.");
  await expect(page.getByRole("spinbutton", { name: "Timeout (seconds)" })).toHaveValue("22.5");
  await expect(page.getByRole("switch", { name: "Code Mode" })).toBeChecked();
  await expect(page.getByRole("switch", { name: "Allow fetch" })).not.toBeChecked();

  await page.goto(`${workbench}/settings?filter=CLOSE_`);
  const declarations = page.getByRole("group", { name: "Declarations", exact: true });
  await expect(declarations).toContainText("declare const my$_tracker");
  await expect(declarations).toContainText('"close_issue"(args:');
  await expect(declarations).not.toContainText("list_issues");

  const before = place.closed();
  await run(page, slug, good, { input: '{"mark":"m"}' });
  await expect(page).toHaveURL(finished);
  const first = JSON.parse((await result(page).textContent())!);
  expect(first).toMatchObject({ first: "It breaks <b>here</b>", mark: "m" });
  await expect(page.getByRole("group", { name: "Log", exact: true })).toContainText(/ms\s*there are 2/);
  const bars = page.getByRole("group", { name: /^2 calls over/ }).getByRole("listitem");
  await expect(bars).toContainText([/my-tracker__list_issues\s*\d+ ms/, /my-tracker__close_issue\s*\d+ ms/]);
  await page.getByRole("radio", { name: "Table" }).check();
  await expect(bars).toHaveCount(0);
  const calls = page.getByRole("table", { name: "Calls" }).getByRole("row");
  await expect(calls).toHaveCount(3);
  await expect(calls.nth(1)).toContainText(/my-tracker__list_issues\s*Read/);
  await expect(calls.nth(2)).toContainText(/my-tracker__close_issue\s*Write/);
  const receipt = page.getByRole("region", { name: "Receipt" }).getByRole("listitem");
  await expect(receipt).toContainText([/Read\s*1 call · /, /Changed\s*my-tracker__close_issue\s*1 call/, /Sent outside\s*Nothing/]);
  await expect(page.locator("#f-code")).toHaveValue(good);
  expect(place.closed() - before).toBe(1);

  await page.getByRole("link", { name: "Open this run" }).click();
  const ofARun = /\/code-mode\/runs\/[0-9a-f-]{36}$/;
  await expect(page).toHaveURL(ofARun);
  const here = page.url();
  await page.locator("summary", { hasText: "Replay" }).click();
  await expect(page.getByText("again; 1 may change data.")).toBeVisible();
  await page.getByRole("button", { name: "Replay" }).click();
  await expect(page.locator(".toast")).toContainText("Run replayed.");
  await expect(page).toHaveURL(ofARun);
  await expect(page).not.toHaveURL(here);
  // A replay starts with the clock and the random numbers of the first run.
  expect(JSON.parse((await result(page).textContent())!)).toEqual(first);
  expect(place.closed() - before).toBe(2);

  await page.getByRole("link", { name: "Runs", exact: true }).click();
  await expect(page).toHaveURL(`${workbench}/runs`);
  await expect(page.getByRole("row")).toHaveCount(3);
  await expect(page.getByRole("row").nth(1)).toContainText(ada.email);
}

let made = 0;

test("administrator enables Code Mode, runs code and replays it", async ({ page, gateway, place }) => {
  const slug = await copy(gateway, ++made);
  await useCodeMode(page, place, slug);
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });
  test("administrator enables Code Mode, runs code and replays it", async ({ page, gateway, place }) => {
    const slug = await copy(gateway, ++made);
    await useCodeMode(page, place, slug);
  });
});

/** Creates a project like the first one, without Code Mode. */
async function copy(gateway: Parameters<typeof program>[0], n: number): Promise<string> {
  const slug = `copy-${process.pid}-${n}`;
  const client = await program(gateway);
  const { items } = await (await client.get("/api/projects/tracker/servers")).json();
  await client.dispose();
  await addProject(gateway, slug, { "my-tracker": items[0].url });
  return slug;
}

test("error at its line, with the steps before it", async ({ page, place }) => {
  await run(page, place.slug, broken);
  const around = page.getByRole("group", { name: "Where it happened" });
  await expect(around.locator("mark")).toContainText("return nothing.issues;");
  await expect(page.getByText("Line 5", { exact: false }).first()).toBeVisible();
  await expect(page.getByRole("group", { name: "Error" })).toContainText("TypeError");
  await expect(page.getByRole("group", { name: /^1 call over/ })).toContainText("my-tracker__list_issues");
});

test("type check before the run", async ({ page, place }) => {
  const before = place.closed();
  await run(page, place.slug, 'await my$_tracker.close_issue({ owner: "a", repo: "b", number: "seven" });', { check: "error" });
  await expect(page.getByText("Type error", { exact: true })).toBeVisible();
  await expect(page.getByRole("list", { name: "Type errors" })).toContainText(/Line 1, column \d+\s+Type .*'number'/);
  await expect(page.getByText("TypeScript · 1 type error")).toBeVisible();
  expect(place.closed()).toBe(before);
});

test("dry run lists writes without executing them", async ({ page, place }) => {
  const before = place.closed();
  await run(page, place.slug, good, { input: '{"mark":1}', dry: true });
  await expect(page.getByText("1 call not sent")).toBeVisible();
  await expect(page.getByRole("group", { name: "Call 2: my-tracker__close_issue" })).toContainText('"number": 7');
  await expect(page.getByRole("checkbox", { name: "Dry run" })).toBeChecked();
  expect(place.closed()).toBe(before);
});

test("invalid form shows the error and keeps the input", async ({ page, place }) => {
  await run(page, place.slug, "return 1", { input: "{mark:1}" });
  await expect(page.getByText("Use valid JSON; put text in double quotes.").first()).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Input" })).toHaveValue("{mark:1}");
  await page.getByRole("radio", { name: "Code" }).check();
  await expect(page.getByRole("textbox", { name: "Code" })).toHaveValue("return 1");

  await page.goto(`/admin/projects/${place.slug}/code-mode/settings`);
  await page.getByRole("spinbutton", { name: "Timeout (seconds)" }).fill("301");
  await page.getByRole("switch", { name: "Allow fetch" }).check();
  await page.locator("main form[method=post]").evaluate((form: HTMLFormElement) => form.setAttribute("novalidate", ""));
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Enter a number of seconds from 1 to 300.").first()).toBeVisible();
  await expect(page.getByRole("spinbutton", { name: "Timeout (seconds)" })).toHaveValue("301");
  await expect(page.getByRole("switch", { name: "Allow fetch" })).toBeChecked();
});

test("preview: filter, sizes, unchecked parts and download", async ({ page, place }) => {
  await page.goto(`/admin/projects/${place.slug}/code-mode/settings`);
  const results = page.locator("#results");
  await expect(results).toContainText(/Tools\s*103/);
  await expect(results).toContainText(/[\d,]+ tokens/);
  await page.locator("summary", { hasText: "Show which" }).click();
  await expect(results).toContainText("Arguments of my-tracker__odd aren't checked");
  const part = (await page.getByRole("group", { name: "First part; download for all" }).textContent())!;
  const whole = await (await page.request.get((await page.getByRole("link", { name: "Download" }).getAttribute("href"))!)).text();
  expect(whole.length).toBeGreaterThan(part.length);
  expect(whole.startsWith(part)).toBe(true);
  expect(whole).toContain('"report_99"');

  await page.getByRole("searchbox", { name: "Filter the declarations" }).fill("report_42");
  await expect(results).toContainText(/Tools\s*1\s*of 103/);
  await expect(page).toHaveURL(/\?filter=report_42$/);
});

test("editor: numbers, indentation, the way out, and running by keyboard", async ({ page, place }) => {
  await page.goto(`/admin/projects/${place.slug}/code-mode`);
  const code = page.getByRole("textbox", { name: "Code" });
  await code.fill("if (true) {");
  await code.press("End");
  await code.press("Enter");
  await code.press("Tab");
  await page.keyboard.type("return 7;");
  await code.press("Enter");
  await code.press("Shift+Tab");
  await page.keyboard.type("}");
  await expect(code).toHaveValue("if (true) {\n  return 7;\n}");
  await expect(page.locator("code-editor .gutter").first()).toHaveText("1\n2\n3");
  await expect(page.locator("code-editor i")).toHaveText(["if", "true", "return"]);
  await code.press("Escape");
  await code.press("Tab");
  await expect(code).not.toBeFocused();
  await expect(code).toHaveValue("if (true) {\n  return 7;\n}");
  await code.press("Control+Enter");
  await expect(result(page)).toHaveText("7");
  await expect(page).toHaveURL(/\?run=/);
  await expect(code).toHaveValue("if (true) {\n  return 7;\n}"); // the page was not replaced
});

test("functions: search and insert", async ({ page, place }) => {
  await page.goto(`/admin/projects/${place.slug}/code-mode`);
  const code = page.getByRole("textbox", { name: "Code" });
  await code.fill("");
  const functions = page.getByRole("list", { name: "Functions" }).getByRole("listitem");
  await expect(functions).toHaveCount(40);
  await expect(page.getByText(/^First 40 of 103 functions · [\d,]+ tokens in all$/)).toBeVisible();
  await page.getByRole("searchbox", { name: "Find a function" }).fill("close_");
  await expect(functions).toHaveCount(1);
  await expect(functions).toContainText(/my\$_tracker\.close_issue\s*\(args: \{ owner: string; repo: string; number: number \}\)\s*Write/);
  await page.getByRole("searchbox", { name: "Find a function" }).press("Enter");
  await page.getByRole("button", { name: "Insert my$_tracker.close_issue" }).click();
  await expect(code).toHaveValue("await my$_tracker.close_issue({})");
  await expect(code).toBeFocused();
  await page.getByRole("searchbox", { name: "Find a function" }).fill("no such thing");
  await expect(page.getByText('No function matches "no such thing".')).toBeVisible();
  await expect(code).toHaveValue("await my$_tracker.close_issue({})");
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });
  test("searching functions keeps the code", async ({ page, place }) => {
    await page.goto(`/admin/projects/${place.slug}/code-mode`);
    await page.getByRole("textbox", { name: "Code" }).fill("return 'mine'");
    await page.getByRole("searchbox", { name: "Find a function" }).fill("close_");
    await page.getByRole("button", { name: "Find" }).click();
    await expect(page.getByRole("list", { name: "Functions" }).getByRole("listitem")).toHaveCount(1);
    await expect(page.getByRole("textbox", { name: "Code" })).toHaveValue("return 'mine'");
  });
});

test("error links to its line", async ({ page, place }) => {
  await run(page, place.slug, broken);
  await page.getByRole("link", { name: /^Line 5, column/ }).click();
  const code = page.getByRole("textbox", { name: "Code" });
  await expect(code).toBeFocused();
  expect(await code.evaluate((area: HTMLTextAreaElement) => area.value.slice(area.selectionStart, area.selectionEnd))).toBe("return nothing.issues;");
  await expect(page.locator("code-editor .gutter b").first()).toHaveText("5");
});

test("viewer sees everything and can't run code", async ({ browser, gateway, people, place, page }) => {
  await run(page, place.slug, "return 1");
  await expect(page).toHaveURL(finished);
  await expect(result(page)).toBeVisible();
  const kept = new URL(page.url()).searchParams.get("run")!;
  const viewer = await pageOf(browser, gateway, people.viewer);
  for (const path of ["", "/settings", `?run=${kept}`, "/runs", `/runs/${kept}`]) {
    const answer = await viewer.goto(`/admin/projects/${place.slug}/code-mode${path}`);
    expect(answer!.status(), path).toBe(200);
    await expect(viewer.locator("main form[method=post]"), path).toHaveCount(0);
  }
  await expect(viewer.getByRole("group", { name: "Result", exact: true })).toHaveText("1");
  for (const path of ["/settings", "/run", `/runs/${kept}/replay`]) {
    const answer = await viewer.request.post(`/admin/projects/${place.slug}/code-mode${path}`, { form: { code: "return 2" }, headers: { "Sec-Fetch-Site": "same-origin" } });
    expect(answer.status(), path).toBe(403);
  }
  await viewer.context().close();
});
