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

withTools("scratch", async ({ page, gateway, linear, github }) => {
  const list = await addTeam(gateway, linear, github);
  for (const [name, scheme, width] of [["light", "light", 1280], ["dark", "dark", 1280], ["phone", "light", 390]] as const) {
    await page.emulateMedia({ colorScheme: scheme });
    await page.setViewportSize({ width, height: 900 });
    await page.goto(list);
    for (const box of (await page.getByRole("checkbox", { name: /^Select linear__/ }).all()).slice(0, 3)) await box.check();
    await page.screenshot({ path: `/tmp/tools/list-${name}.png`, fullPage: true });
    await page.goto(`${list}/review?at=linear__update_issue_2`);
    await page.screenshot({ path: `/tmp/tools/review-${name}.png`, fullPage: true });
    await page.goto(`${list}/search?task=delete+an+issue`);
    await page.screenshot({ path: `/tmp/tools/search-${name}.png`, fullPage: true });
    await page.goto(`${list}/github__list_pull_request_0`);
    await page.screenshot({ path: `/tmp/tools/tool-${name}.png`, fullPage: true });
  }
});
