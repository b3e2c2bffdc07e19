import type { Page } from "@playwright/test";

import { expectAccessible, looks } from "../support/accessible.ts";
import { addProject, expect, test as base } from "../support/signed-in.ts";
import { startUpstream, type During } from "../support/upstream.ts";

const input = { type: "object", properties: { key: { type: "string" } }, required: ["key"] };
const tools = [
  { name: "read", description: "Answers at once.", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
  { name: "wait", description: "Answers when the test says so.", inputSchema: input, annotations: { readOnlyHint: true } },
];

/** A call of the tool wait. */
interface Waiting {
  /** Makes it respond. */
  answer(): void;
  /** Whether the client has abandoned the call. */
  left: boolean;
}

/** A project with a tool that responds when the test triggers it. */
const test = base.extend<object, { waiting: Map<unknown, Waiting> }>({
  waiting: [
    async ({ gateway, people }, use) => {
      expect(people.admin.cookies.length).toBeGreaterThan(0);
      const waiting = new Map<unknown, Waiting>();
      const wait = (key: unknown, { progress, signal }: During) =>
        new Promise((done) => {
          const call: Waiting = { answer: () => done({ content: [{ type: "text", text: `waited for ${key}` }] }), left: false };
          signal.addEventListener("abort", () => (call.left = true));
          progress({ progress: 1, total: 2, message: "half <b>way</b>" });
          waiting.set(key, call);
        });
      const upstream = await startUpstream({
        tools,
        call: (name, args, during) => (name === "wait" ? wait(args.key, during) : { content: [{ type: "text", text: "read" }] }),
      });
      await addProject(gateway, "slow", { slow: upstream.url }, { codeMode: { enabled: true, timeout: 60_000 } });
      await use(waiting);
      for (const call of waiting.values()) call.answer();
      await upstream.stop();
    },
    { scope: "worker" },
  ],
});

const steps = (page: Page, name: string) => page.getByRole("list", { name }).getByRole("listitem");

let made = 0;
const newKey = () => `call ${process.pid} ${++made}`;

async function runCode(page: Page, key: string) {
  await page.goto("/admin/projects/slow/code-mode");
  await page.getByRole("textbox", { name: "Code" }).fill(`await slow.read({});\nconsole.warn("<i>now</i> the long one");\nreturn await slow.wait({ key: ${JSON.stringify(key)} });`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  const list = steps(page, "Steps of the run");
  await expect(list).toHaveCount(3);
  await expect(list.nth(0)).toContainText(/slow__read\s*OK\s*[\d,]+ ms/);
  await expect(list.nth(1)).toContainText(/ms\s*<i>now<\/i> the long one\s*Warning/);
  await expect(list.nth(2)).toContainText(/slow__wait\s*Running/);
  await expect(page.locator("main [data-state]")).toHaveText("Running");
}

async function callTool(page: Page, key: string) {
  await page.goto("/admin/projects/slow/tools/slow__wait");
  await page.getByRole("textbox", { name: "key" }).fill(key);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(steps(page, "Tool progress")).toContainText(["1 of 2 half <b>way</b>"]);
  await expect(page.getByRole("main").locator("[data-state]")).toHaveText("Running");
}

for (const look of looks) {
  test.describe(`${look.name}:`, () => {
    test.use(look.use);
    test("running work is accessible and fits the window", async ({ page, waiting }) => {
      for (const begin of [runCode, callTool]) {
        const key = newKey();
        await begin(page, key);
        await expectAccessible(page);
        await expect.poll(() => waiting.has(key)).toBe(true);
        waiting.get(key)!.answer();
        await expect(page.locator("[data-outcome]")).toBeVisible();
      }
    });
  });
}

test("live steps of a run, then its outcome", async ({ page, waiting }) => {
  const key = newKey();
  await runCode(page, key);
  await expect.poll(() => waiting.has(key)).toBe(true);
  waiting.get(key)!.answer();
  await expect(page).toHaveURL(/\/code-mode\?run=[0-9a-f-]{36}&typecheck=[a-z]*#outcome$/);
  await expect(page.getByRole("group", { name: "Result", exact: true })).toHaveText(`waited for ${key}`);
});

test("stopped run cancels its calls and is stored", async ({ page, waiting }) => {
  const key = newKey();
  await runCode(page, key);
  await expect.poll(() => waiting.has(key)).toBe(true);
  await page.getByRole("button", { name: "Stop" }).click();
  await expect(page.locator("main [data-state]")).toHaveText("Stopped");
  await expect(page.getByRole("button", { name: "Stop" })).toBeHidden();
  await expect(steps(page, "Steps of the run").nth(2)).toContainText(/slow__wait\s*Stopped/);
  await expect.poll(() => waiting.get(key)!.left).toBe(true);
  await page.getByRole("link", { name: "Open this run" }).click();
  await expect(page).toHaveURL(/\/code-mode\/runs\/[0-9a-f-]{36}$/);
  await expect(page.getByRole("main")).toContainText(key);
  await expect(page.getByText("Run stopped", { exact: true })).toBeVisible();
  await expect(page.getByRole("main")).not.toContainText(/cancelled|It did not work|Run failed/i);
  await expect(async () => {
    await page.goto("/admin/projects/slow/code-mode/runs?state=failed");
    await expect(page.getByRole("row").nth(1)).toContainText("Stopped", { timeout: 1000 });
  }).toPass({ timeout: 30_000 });
});

test("live progress of a Playground call", async ({ page, waiting }) => {
  const key = newKey();
  await callTool(page, key);
  waiting.get(key)!.answer();
  await expect(page.locator("#result pre").first()).toHaveText(`waited for ${key}`);
  await expect(page.getByText("1 progress update")).toBeVisible();
  await expect(page.locator("[data-live]")).toBeHidden();
  await expect(page.getByRole("textbox", { name: "key" })).toHaveValue(key);

  // The next call replaces the last result.
  await page.getByRole("textbox", { name: "key" }).fill(`${key} again`);
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.locator("#result")).toHaveCount(0);
  await expect.poll(() => waiting.has(`${key} again`)).toBe(true);
  waiting.get(`${key} again`)!.answer();
  await expect(page.locator("#result pre").first()).toHaveText(`waited for ${key} again`);
});

test("cancelling a Playground call", async ({ page, waiting }) => {
  const key = newKey();
  await callTool(page, key);
  await page.getByRole("button", { name: "Cancel" }).click();
  await expect(page.getByRole("main").locator("[data-state]")).toHaveText("Stopped");
  await expect.poll(() => waiting.get(key)!.left).toBe(true);
  await expect(page.locator("#result")).toHaveCount(0);
});

const turnIntoJSON = async (page: Page) => {
  const key = newKey();
  await page.goto("/admin/projects/slow/tools/slow__wait");
  await page.getByRole("textbox", { name: "key" }).fill(key);
  await page.getByRole("button", { name: "Edit as JSON" }).click();
  await expect(page.getByRole("textbox", { name: "Arguments as JSON" })).toHaveValue(`{\n  "key": ${JSON.stringify(key)}\n}`);
};

test("form values carry over to JSON", async ({ page, waiting }) => {
  await turnIntoJSON(page);
  expect(waiting).toBeDefined();
});

test("JSON values carry over to the form", async ({ page, waiting }) => {
  expect(waiting).toBeDefined();
  await turnIntoJSON(page);
  const typed = page.getByRole("textbox", { name: "Arguments as JSON" });
  const key = newKey();
  await typed.fill(JSON.stringify({ key, elsewhere: 1 }));
  await page.getByRole("button", { name: "Use form" }).click();
  await expect(page.getByRole("alert")).toContainText(`The form can't show "elsewhere"`);
  await expect(typed).toHaveValue(JSON.stringify({ key, elsewhere: 1 }));
  await typed.fill(JSON.stringify({ key }));
  await page.getByRole("button", { name: "Use form" }).click();
  await expect(page.getByRole("textbox", { name: "key" })).toHaveValue(key);
});

test("invalid call shows the error in place", async ({ page, waiting }) => {
  expect(waiting).toBeDefined();
  await page.goto("/admin/projects/slow/tools/slow__wait?as=json");
  await page.getByRole("textbox", { name: "Arguments as JSON" }).fill("[]");
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await expect(page.getByRole("alert")).toBeFocused();
  await expect(page.getByRole("textbox", { name: "Arguments as JSON" })).toHaveValue("[]");
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });
  test("form values carry over to JSON", async ({ page, waiting }) => {
    await turnIntoJSON(page);
    expect(waiting).toBeDefined();
  });

  test("Playground call with its result and progress", async ({ page, waiting }) => {
    const key = newKey();
    await page.goto("/admin/projects/slow/tools/slow__wait");
    await page.getByRole("textbox", { name: "key" }).fill(key);
    const shown = page.getByRole("button", { name: "Run", exact: true }).click();
    await expect.poll(() => waiting.has(key)).toBe(true);
    waiting.get(key)!.answer();
    await shown;
    await expect(page.locator("#result pre").first()).toHaveText(`waited for ${key}`);
    await expect(page.getByText("1 progress update")).toBeVisible();
    await expect(page.locator("[data-live]")).toBeHidden();
  });
});
