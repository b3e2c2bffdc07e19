import type { Page } from "@playwright/test";

import { expectAccessible, expectAccessibleInEach } from "../support/accessible.ts";
import { Clicks } from "../support/clicks.ts";
import type { Gateway } from "../support/gateway.ts";
import { connect, copyServer, ofServers, toolsOf, toolsOfStateless, type ClientServer } from "../support/mcp-client.ts";
import { addPerson, addProject, expect, pageOf, send, signIn, test as base, type Account } from "../support/signed-in.ts";
import { startUpstream, type Upstream, type UpstreamTool } from "../support/upstream.ts";

const text = { type: "string" };

const tools: UpstreamTool[] = [
  { name: "list_issues", description: "Lists the issues of a repository.", inputSchema: { type: "object", required: ["owner"], properties: { owner: text, state: text } }, annotations: { readOnlyHint: true } },
  { name: "get_issue", description: "Returns one issue.", inputSchema: { type: "object", required: ["number"], properties: { number: { type: "integer" } } }, annotations: { readOnlyHint: true } },
  { name: "delete_repository", description: "Deletes a repository with its issues.", inputSchema: { type: "object", properties: { name: text } }, annotations: { destructiveHint: true } },
];

const readers = ["github__get_issue", "github__list_issues"];

const test = base.extend<object, { github: Upstream }>({
  github: [
    async ({ people }, use) => {
      expect(people.admin.cookies).not.toEqual([]);
      const upstream = await startUpstream({ tools });
      await use(upstream);
      await upstream.stop();
    },
    { scope: "worker" },
  ],
});

// One world for the file.
test.describe.configure({ mode: "default" });

test.beforeEach(async ({ context }) => context.grantPermissions(["clipboard-read", "clipboard-write"]));

let made = 0;

/** Adds a project with the server github, and returns its slug. With toolset, it has the toolset reader. */
async function addDesk(gateway: Gateway, github: Upstream, { toolset = true } = {}): Promise<string> {
  const slug = `desk-${process.pid}-${++made}`;
  await addProject(gateway, slug, { github: github.url });
  if (toolset) await send(gateway, "POST", `/api/projects/${slug}/toolsets`, { slug: "reader", name: "Reader", query: "readonly:true" });
  return slug;
}

/** Returns a client's configuration with a key for everything in a project. */
async function wholeKey(gateway: Gateway, slug: string): Promise<ClientServer> {
  const { key } = await send(gateway, "POST", `/api/projects/${slug}/keys`, { name: "Whole" });
  return { url: `${gateway.url}/v1/mcp/${slug}/request`, headers: { Authorization: `Bearer ${key}` } };
}

/** Returns the names in the preview of the open page. */
const previewed = (page: Page) => page.getByRole("table", { name: "Tools of this toolset" }).getByRole("link").allInnerTexts();

function report(journey: string, clicks: Clicks): void {
  console.log(`${journey}: ${clicks.count} clicks`);
}

test("a client with a key of a new toolset lists the tools of the preview", async ({ page, gateway, github }) => {
  const slug = await addDesk(gateway, github, { toolset: false });
  const clicks = new Clicks();
  await page.goto(`/admin/projects/${slug}`);
  await clicks.on(page.getByRole("link", { name: "Toolsets" }));
  await clicks.on(page.getByRole("link", { name: "New toolset" }));
  await page.getByRole("textbox", { name: "Name" }).fill("Reader");
  await page.getByRole("textbox", { name: "Query" }).fill("readonly:true");
  await expect(page.getByRole("heading", { name: "2 of 3 tools" })).toBeVisible();
  const preview = await previewed(page);
  await clicks.on(page.getByRole("button", { name: "Create toolset" }));
  await expect(page.getByRole("heading", { level: 1, name: "Reader" })).toBeVisible();
  expect(await previewed(page)).toEqual(preview);
  await clicks.on(page.getByRole("link", { name: "New key" }));
  await page.getByRole("textbox", { name: "Name" }).fill("Agent");
  await expect(page.getByRole("radio", { name: "Only these toolsets" })).toBeChecked();
  await expect(page.getByRole("checkbox", { name: "Reader" })).toBeChecked();
  await expectAccessible(page);
  await clicks.on(page.getByRole("button", { name: "Create key" }));
  const server = await copyServer(page, clicks);
  report("toolset, its key, and a client", clicks);
  expect(clicks.count).toBeLessThanOrEqual(7);

  const listed = await toolsOf(server);
  expect(ofServers(listed)).toEqual(preview.toSorted());
  expect(ofServers(listed)).toEqual(readers);
  const whole = await toolsOf(await wholeKey(gateway, slug));
  expect(listed).toEqual(whole.filter((name) => name !== "github__delete_repository"));
  const endpoint = { ...server, url: `${gateway.url}/v1/mcp/${slug}/toolsets/reader/request` };
  expect(await toolsOf(endpoint)).toEqual(listed);
  for (const at of [server, endpoint]) expect(await toolsOfStateless(at), at.url).toEqual(listed);
});

test("an administrator sees a project as a group and as a key", async ({ page, gateway, github }) => {
  const slug = await addDesk(gateway, github);
  const { id: groupId } = await send(gateway, "POST", "/api/groups", { name: `Support ${slug}` });
  await send(gateway, "POST", `/api/projects/${slug}/access`, { groupId, toolset: "reader", role: "use" });
  const clicks = new Clicks();
  await page.goto(`/admin/projects/${slug}`);
  await clicks.on(page.getByRole("link", { name: "Access" }));
  await expectAccessibleInEach(page);
  await clicks.on(page.getByRole("row", { name: `Support ${slug}` }).getByRole("link", { name: "See as" }));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(`Tools as Support ${slug} sees them`);
  const list = page.getByRole("main").getByRole("list").filter({ hasText: "github__" });
  await expect(list.getByRole("listitem")).toHaveCount(2);
  for (const name of readers) await expect(list).toContainText(name);
  await expectAccessibleInEach(page);
  await page.getByRole("textbox", { name: "What would a model ask?" }).fill("list the issues of a repository");
  await clicks.on(page.getByRole("button", { name: "Search" }));
  await expect(list.getByRole("listitem").first()).toContainText("github__list_issues");
  await expect(page.getByRole("main")).not.toContainText("github__delete_repository");
  await page.getByRole("textbox", { name: "What would a model ask?" }).fill("delete repository");
  await clicks.on(page.getByRole("button", { name: "Search" }));
  await expect(page).toHaveURL(/task=delete/);
  await expect(page.getByRole("main")).not.toContainText("github__delete_repository");
  report("two searches as a group", clicks);
  expect(clicks.count).toBeLessThanOrEqual(4);

  const key = await send(gateway, "POST", `/api/projects/${slug}/keys`, { name: "Agent", toolsets: ["reader"] });
  await page.goto(`/admin/projects/${slug}/keys/${key.id}`);
  await page.getByRole("link", { name: "See as" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Tools as Agent sees them");
  await expect(list.getByRole("listitem")).toHaveCount(2);
  await expectAccessible(page);
  await page.getByRole("textbox", { name: "What would a model ask?" }).fill("list the issues of a repository");
  await page.getByRole("button", { name: "Search" }).click();
  await expect(list.getByRole("listitem").first()).toContainText("github__list_issues");
  await expect(page.getByRole("main")).not.toContainText("github__delete_repository");
  await page.getByRole("link", { name: "Back to key" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Agent");
});

test("a renamed tool with a fixed argument reaches clients", async ({ page, gateway, github }) => {
  const slug = await addDesk(gateway, github, { toolset: false });
  const client = await connect(await wholeKey(gateway, slug));
  const clicks = new Clicks();
  await page.goto(`/admin/projects/${slug}`);
  await clicks.on(page.getByRole("link", { name: "Tools", exact: true }));
  await clicks.on(page.getByRole("link", { name: "github__list_issues", exact: true }));
  await clicks.on(page.getByText("Edit overrides"));
  const form = page.getByRole("region", { name: "Overrides" });
  await form.getByRole("textbox", { name: "Name" }).fill("our_issues");
  await form.getByRole("textbox", { name: "Fixed" }).fill('{"owner": "acme"}');
  await expectAccessibleInEach(page);
  await clicks.on(page.getByRole("button", { name: "Save overrides" }));
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("github__our_issues");
  await expectAccessible(page);
  report("overrides of a tool", clicks);
  expect(clicks.count).toBeLessThanOrEqual(4);

  const ours = (await client.listTools()).tools.filter(({ name }) => name.endsWith("_issues"));
  expect(ours.map(({ name }) => name)).toEqual(["github__our_issues"]);
  expect(ours[0]!.inputSchema).toEqual({ type: "object", properties: { state: text } });
  const call = async (name: string, args: object) => client.callTool({ name, arguments: { ...args } });
  const { content } = await call("github__our_issues", { state: "open" });
  expect(JSON.parse((content as { text: string }[])[0]!.text)).toEqual({ owner: "acme", state: "open" });
  await expect(call("github__our_issues", { owner: "other" })).rejects.toThrow(/owner/);
  await expect(call("github__list_issues", { state: "open" })).rejects.toThrow(/list_issues/);
  await client.close();
});

test("a group's member makes a key that works with the group's toolset only", async ({ page, gateway, github, browser }) => {
  const slug = await addDesk(gateway, github);
  await send(gateway, "POST", `/api/projects/${slug}/toolsets`, { slug: "cleaner", name: "Cleaner", include: ["*__delete_*"] });
  const grace: Account = { email: `grace-${slug}@example.com`, name: `Grace ${slug}`, password: "some quiet words here" };
  await addPerson(gateway, grace, "member");
  const [group, clicks] = [`Staff ${slug}`, new Clicks()];
  await page.goto("/admin/people");
  await clicks.on(page.getByRole("link", { name: "Groups" }).first());
  await clicks.on(page.getByRole("link", { name: "New group" }));
  await page.getByRole("textbox", { name: "Name" }).fill(group);
  await expectAccessible(page);
  await clicks.on(page.getByRole("button", { name: "Create group" }));
  await page.getByLabel("Person").selectOption({ label: grace.email });
  await clicks.on(page.getByRole("button", { name: "Add member" }));
  await expect(page.getByRole("row", { name: grace.name })).toBeVisible();
  await expectAccessibleInEach(page);
  await page.goto(`/admin/projects/${slug}`);
  await clicks.on(page.getByRole("link", { name: "Access" }));
  await page.getByLabel("Person or group").selectOption({ label: `Group: ${group}` });
  await page.getByLabel("Tools").selectOption({ label: "Reader" });
  await clicks.on(page.getByRole("button", { name: "Grant access" }));
  await expect(page.getByRole("row", { name: group })).toContainText("Reader");
  report("group, its member and its toolset", clicks);
  expect(clicks.count).toBeLessThanOrEqual(6);

  const theirs = await pageOf(browser, gateway, await signIn(gateway, grace));
  await theirs.context().grantPermissions(["clipboard-read", "clipboard-write"]);
  await theirs.goto(`/me/projects/${slug}/keys`);
  await theirs.getByRole("textbox", { name: "Name" }).fill("Laptop");
  await theirs.getByRole("button", { name: "Create key" }).click();
  const server = await copyServer(theirs, new Clicks());
  await theirs.context().close();
  const of = (toolset: string) => ({ ...server, url: `${gateway.url}/v1/mcp/${slug}/toolsets/${toolset}/request` });
  expect(ofServers(await toolsOf(server))).toEqual(readers);
  expect(ofServers(await toolsOf(of("reader")))).toEqual(readers);
  await expect(toolsOf(of("cleaner"))).rejects.toThrow("UNAUTHORIZED");

  await page.getByRole("row", { name: group }).locator("summary").click();
  await page.getByRole("dialog", { name: `Remove ${group}?` }).getByRole("button", { name: "Remove" }).click();
  await expect(page.getByText("No one has access yet.")).toBeVisible();
  await expect(toolsOf(server)).rejects.toThrow("UNAUTHORIZED");
});
