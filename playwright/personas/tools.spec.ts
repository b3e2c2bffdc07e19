import type { Page } from "@playwright/test";

import { expectAccessible, looks } from "../support/accessible.ts";
import type { Gateway } from "../support/gateway.ts";
import { addProject, expect, program, test } from "../support/signed-in.ts";
import { startUpstream, type Upstream, type UpstreamTool } from "../support/upstream.ts";

const text = { type: "string" };

/** Tools of a tracker: some read, most write, a few delete. */
function trackerTools(count: number, noun: string): UpstreamTool[] {
  const verbs = [
    ["list", "List", { readOnlyHint: true }],
    ["create", "Create", { destructiveHint: false }],
    ["update", "Change", { destructiveHint: false }],
    ["delete", "Delete", { destructiveHint: true }],
  ] as const;
  return Array.from({ length: count }, (_, i) => {
    const [verb, word, annotations] = verbs[i % verbs.length];
    return {
      name: `${verb}_${noun}_${i}`,
      description: `${word} a ${noun} of a team, by its state, assignee or label.`,
      inputSchema: { type: "object", required: ["id"], properties: { id: text, state: text, assignee: text } },
      annotations,
    };
  });
}

/** Syncs every server of a project. */
async function syncAll(gateway: Gateway, slug: string): Promise<void> {
  const client = await program(gateway);
  const { items } = await (await client.get(`/api/projects/${slug}/servers`)).json();
  for (const { id } of items) expect((await client.post(`/api/servers/${id}/sync`)).status()).toBeLessThan(300);
  await client.dispose();
}

/** A project with 36 tools to approve and 60 others. */
const withTools = test.extend<object, { linear: Upstream; github: Upstream }>({
  linear: [
    async ({ gateway, people }, use) => {
      expect(people.admin.cookies.length).toBeGreaterThan(0);
      const upstream = await startUpstream({ tools: trackerTools(36, "issue") });
      await use(upstream);
      await upstream.stop();
    },
    { scope: "worker" },
  ],
  github: [
    async ({ gateway, people }, use) => {
      expect(people.admin.cookies.length).toBeGreaterThan(0);
      const upstream = await startUpstream({ tools: [...trackerTools(59, "pull_request"), { name: "x".repeat(80), inputSchema: { type: "object" } }] });
      await use(upstream);
      await upstream.stop();
    },
    { scope: "worker" },
  ],
});

let made = 0;

/** Adds a project whose server linear requires approvals. */
async function addTeam(gateway: Gateway, linear: Upstream, github: Upstream): Promise<string> {
  const slug = `team-${++made}`;
  await addProject(gateway, slug, { github: github.url }, { mcpServers: { linear: { url: linear.url, definitionPolicy: "approve" } } });
  await syncAll(gateway, slug);
  return `/admin/projects/${slug}/tools`;
}

const toast = (page: Page) => page.locator(".toast");

withTools("36 tools are approved with one click, and the approval is undone", async ({ page, gateway, linear, github }) => {
  const list = await addTeam(gateway, linear, github);
  let clicks = 0;
  const click = async (name: string) => {
    clicks++;
    await page.getByRole("button", { name, exact: true }).click();
  };
  await page.goto(list);
  await expect(page.locator(".head")).toContainText("96 tools · 60 on · 36 to approve");
  await click("Approve all 36");
  await expect(toast(page)).toContainText("36 tools approved.");
  await expect(page.locator(".head")).toContainText("96 tools · 96 on");
  expect(clicks, "clicks for 36 approvals").toBeLessThanOrEqual(3);
  await toast(page).getByRole("button", { name: "Undo" }).click();
  await expect(toast(page)).toContainText("36 approvals undone.");

  // The same for the tools that match a filter, of which the page shows only some.
  clicks = 0;
  await page.goto(`${list}?query=access:write`);
  clicks++;
  await page.getByRole("checkbox", { name: "Select linear__create_issue_1", exact: true }).check();
  await expect(page.locator("form.bulk")).toContainText("1 selected");
  clicks++;
  await page.getByRole("checkbox", { name: "Select all 49 that match" }).check();
  await expect(page.locator("form.bulk")).toContainText("49 selected");
  await click("Approve");
  await expect(toast(page)).toContainText("18 tools approved.");
  expect(clicks, "clicks for the approvals of a search").toBeLessThanOrEqual(3);
});

withTools("36 tools are reviewed with the keyboard", async ({ page, gateway, linear, github }) => {
  test.slow();
  const list = await addTeam(gateway, linear, github);
  await page.goto(`${list}/review`);
  const heading = page.getByRole("heading", { level: 1 });
  const press = async (key: string) => {
    const before = page.url();
    const shown = await heading.textContent();
    await page.keyboard.press(key);
    await expect.poll(async () => (page.url() === before ? await heading.textContent() : "")).not.toBe(shown);
  };
  await expect(heading).toHaveText("linear__list_issue_0");
  await press("j");
  await expect(heading).toHaveText("linear__create_issue_1");
  await press("k");
  await press("x");
  await expect(toast(page)).toContainText("1 tool kept off.");
  await press("u");
  await expect(heading).toHaveText("linear__list_issue_0");
  let keys = 0;
  for (; keys < 40; keys++) {
    if ((await heading.textContent()) === "Review") break;
    const position = page.locator(".bar .num");
    await expect(position).toHaveText(`1 of ${36 - keys}`);
    await page.keyboard.press("a");
    if (keys < 35) await expect(position).toHaveText(`1 of ${35 - keys}`);
    else await expect(page.getByText("No tools to approve")).toBeVisible();
  }
  expect(keys, "keys for 36 approvals").toBe(36);
  await page.goto(list);
  await expect(page.locator(".head")).toContainText("96 tools · 96 on");
});

withTools("a changed definition shows what changed", async ({ page, gateway, linear, github }) => {
  const list = await addTeam(gateway, linear, github);
  await page.goto(list);
  await page.getByRole("button", { name: "Approve all 36" }).click();
  await expect(toast(page)).toContainText("36 tools approved.");
  const before = linear.script.tools;
  linear.script.tools = before.map((tool) =>
    tool.name !== "update_issue_2" ? tool : { ...tool, description: `${tool.description} Archives it.`, annotations: { destructiveHint: true }, inputSchema: { type: "object", properties: { id: text, archive: { type: "boolean" } } } },
  );
  await syncAll(gateway, list.split("/")[3]);
  linear.script.tools = before;
  await page.goto(list);
  await page.getByRole("link", { name: "Review 1" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("linear__update_issue_2");
  await expect(page.getByText("It may now delete.")).toBeVisible();
  await expect(page.locator(".diff ins").first()).toHaveText("Archives it.");
  await expectAccessible(page);
  await page.getByRole("link", { name: "Full schema" }).click();
  await expect(page.locator("pre.result").first()).toContainText('"archive"');
  await page.goto(`${list}/linear__update_issue_2`);
  await expect(page.getByRole("heading", { name: "What changed" })).toBeVisible();
  await page.goto(`${list}/review`);
  await page.getByRole("button", { name: "Keep off" }).click();
  await expect(page.getByText("No tools to approve")).toBeVisible();
});

withTools("tools are ticked by row, group and page", async ({ page, gateway, linear, github }) => {
  const list = await addTeam(gateway, linear, github);
  await page.goto(list);
  const bar = page.locator("form.bulk");
  const said = page.locator("#said");
  await expect(bar).toBeHidden();
  await page.getByRole("link", { name: "github__create_pull_request_1", exact: true }).focus();
  await page.keyboard.press("x");
  await expect(bar).toContainText("1 selected");
  await expect(said).toHaveText("1 selected");
  await page.getByRole("checkbox", { name: "Select all tools of linear" }).check();
  await expect(said).toHaveText("37 selected");
  await page.getByRole("checkbox", { name: "Select linear__create_issue_1", exact: true }).uncheck();
  await expect(said).toHaveText("5 selected");
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await expect(said).toHaveText("96 selected");
  await page.getByRole("button", { name: "Clear selection" }).click();
  await expect(bar).toBeHidden();

  await page.getByRole("checkbox", { name: "Select all tools of github" }).check();
  await page.getByRole("button", { name: "Turn off", exact: true }).click();
  await expect(toast(page)).toContainText("60 tools turned off.");
  await toast(page).getByRole("button", { name: "Undo" }).click();
  await expect(toast(page)).toContainText("60 tools turned on.");
});

withTools("the list is sorted, grouped and folded by links", async ({ page, gateway, linear, github }) => {
  const list = await addTeam(gateway, linear, github);
  await page.goto(list);
  await expect(page.getByRole("columnheader", { name: "Calls, 7 d" })).toHaveAttribute("aria-sort", "descending");
  await page.getByRole("link", { name: "Tool", exact: true }).click();
  await expect(page.getByRole("columnheader", { name: "Tool", exact: true })).toHaveAttribute("aria-sort", "ascending");
  await page.getByRole("link", { name: "github", exact: true }).and(page.locator("[aria-expanded]")).click();
  await expect(page.getByRole("link", { name: "github__create_pull_request_1", exact: true })).toHaveCount(0);
  await page.getByRole("link", { name: "31 more tools of linear" }).click();
  await expect(page.getByRole("link", { name: /^linear__/ })).toHaveCount(36);
  await page.getByRole("link", { name: "Flat" }).click();
  await page.getByRole("link", { name: /^linear 36/ }).click();
  await page.getByRole("link", { name: "Page 2" }).click();
  await expect(page.locator(".pager")).toContainText("51–96 of 96 tools");
  await page.getByRole("link", { name: "Row height: compact" }).click();
  await expect(page.locator("#results")).toHaveAttribute("data-density", "cosy");
  // Names stay on one line.
  await page.goto(list);
  const heights = await page.locator(".tool-list a.name").evaluateAll((names) => names.map((name) => name.getBoundingClientRect().height));
  expect(Math.max(...heights), "height of a name").toBeLessThan(24);
});

withTools("the test of the search shows what a model receives", async ({ page, gateway, linear, github }) => {
  const list = await addTeam(gateway, linear, github);
  await page.goto(list);
  await page.getByRole("link", { name: "Test search" }).click();
  await page.getByRole("textbox", { name: "What would a model ask?" }).fill("delete a pull request");
  await page.getByRole("button", { name: "Search" }).click();
  const found = page.getByRole("main").getByRole("status");
  await expect(found).toContainText(/\d+ tools found · \d+ tokens in the response/);
  await expect(found).toContainText("Not found: 9 wait for approval.");
  await expect(page.getByRole("row").nth(1)).toContainText("github__delete_pull_request");
  await expect(page.getByRole("group", { name: "Response" })).toContainText('"topTool": "github__delete_pull_request_');
  await expect(page.getByRole("group", { name: "Arguments" })).toContainText('"task": "delete a pull request"');
  await expectAccessible(page);
  await page.getByRole("link", { name: /^Open in Playground github__delete_pull_request_\d+$/ }).first().click();
  await expect(page.getByRole("heading", { name: "Playground" })).toBeInViewport();
});

withTools("a query is tested page by page", async ({ page, gateway, linear, github }) => {
  const list = await addTeam(gateway, linear, github);
  await page.goto(list + "/search");
  await page.getByRole("group", { name: "Search by" }).getByRole("link", { name: "Query" }).click();
  await page.getByRole("textbox", { name: "Which query would a model send?" }).fill("request server:github");
  await page.getByRole("spinbutton", { name: "Results" }).fill("2");
  await page.getByRole("checkbox", { name: "Include input schemas" }).check();
  await page.getByRole("button", { name: "Search" }).click();
  const found = page.getByRole("main").getByRole("status");
  await expect(found).toContainText("2 tools on this page, more on the next");
  await expect(page.getByRole("row").nth(1)).toContainText("server:github in server");
  await expect(page.getByRole("group", { name: "Response" })).toContainText('"inputSchema"');
  const top = page.getByRole("row").nth(1).getByRole("link").first();
  const first = await top.innerText();
  await page.getByRole("link", { name: "Next", exact: true }).click();
  await expect(page.getByRole("group", { name: "Arguments" })).toContainText('"cursor"');
  await expect(top).not.toHaveText(first);
  await expectAccessible(page);
  await page.getByRole("link", { name: "First page" }).click();
  await expect(top).toHaveText(first);
});

const pages = ["", "?view=flat", "?query=access:all", "/review", "/search?task=delete+an+issue", "/search?query=request+server:github&limit=3&schemas=on", "/github__list_pull_request_0"];

for (const look of looks) {
  withTools.describe(look.name, () => {
    withTools.use(look.use);
    withTools("the pages of tools are accessible and keep to the window", async ({ page, gateway, linear, github }) => {
      test.slow();
      const list = await addTeam(gateway, linear, github);
      for (const path of pages) {
        await page.goto(list + path);
        await expect(page.getByRole("heading", { level: 1 }), path).toHaveCount(1);
        const box = page.getByRole("checkbox", { name: /^Select github__/ }).first();
        if (await box.isVisible()) await box.check();
        await expectAccessible(page);
      }
    });
  });
}

withTools.describe("without scripts", () => {
  withTools.use({ javaScriptEnabled: false });
  withTools("a search is tested by a form and links", async ({ page, gateway, linear, github }) => {
    const list = await addTeam(gateway, linear, github);
    await page.goto(list + "/search");
    await page.getByRole("textbox", { name: "What would a model ask?" }).fill("delete a pull request");
    await page.getByRole("combobox", { name: "Server" }).selectOption("github");
    await page.getByRole("spinbutton", { name: "Skip" }).fill("5");
    await page.getByRole("button", { name: "Search" }).click();
    await expect(page.getByRole("row").nth(1)).toContainText(/^\s*6\s*github__/);
    await expect(page.getByRole("group", { name: "Arguments" })).toContainText('"server": "github"');
    await page.getByRole("link", { name: "Next", exact: true }).click();
    await expect(page.getByRole("row").nth(1)).toContainText(/^\s*11\s*github__/);
    await page.getByRole("group", { name: "Search by" }).getByRole("link", { name: "Query" }).click();
    await expect(page.getByRole("textbox", { name: "Which query would a model send?" })).toHaveValue("delete a pull request");
  });
  withTools("tools are ticked, switched, approved and undone by forms", async ({ page, gateway, linear, github }) => {
    const list = await addTeam(gateway, linear, github);
    await page.goto(list);
    await page.getByRole("checkbox", { name: "Select github__create_pull_request_1", exact: true }).check();
    await page.getByRole("checkbox", { name: "Select linear__create_issue_1", exact: true }).check();
    await page.getByRole("button", { name: "Turn on", exact: true }).click();
    await expect(toast(page)).toContainText("1 tool needs approval first and was left as it was: linear__create_issue_1.");
    await toast(page).getByRole("link", { name: "Review" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("linear__create_issue_1");
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await expect(toast(page)).toContainText("1 tool approved.");
    await toast(page).getByRole("button", { name: "Undo" }).click();
    await expect(toast(page)).toContainText("1 approval undone.");
    await page.goto(list);
    await page.getByRole("checkbox", { name: "Select all 96 that match" }).check();
    await page.getByRole("button", { name: "Approve", exact: true }).click();
    await expect(toast(page)).toContainText("36 tools approved.");
    await page.getByRole("switch", { name: "github__create_pull_request_1", exact: true }).click();
    await expect(page.getByRole("switch", { name: "github__create_pull_request_1", exact: true })).not.toBeChecked();
  });
});
