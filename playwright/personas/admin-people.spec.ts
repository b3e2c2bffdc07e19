import { expectAccessible, looks } from "../support/accessible.ts";
import { ada, addPerson, addProject, expect, test, vera } from "../support/signed-in.ts";
import { loadAndMeasure } from "../support/measure.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

const schema = {
  type: "object",
  required: ["title"],
  properties: {
    title: { type: "string", description: "What it is about." },
    body: { type: "string" },
    state: { enum: ["open", "closed"] },
    urgent: { type: "boolean" },
    labels: { type: "array", items: { type: "string" }, description: "Names of labels." },
    owner: { type: "object", properties: { login: { type: "string" }, id: { type: "integer" } } },
    rest: {},
  },
};

/** A project with more than one page of tools. One has a long name, one has hidden characters. */
const withTools = test.extend<object, { tools: Upstream }>({
  tools: [
    async ({ gateway, people }, use) => {
      expect(people.admin.cookies.length).toBeGreaterThan(0);
      const tools = Array.from({ length: 30 }, (_, i) => ({ name: `tool_${i}`, description: "Opens an issue in a repository of the organisation.", inputSchema: schema }));
      tools.push({ name: "x".repeat(80), description: "Lists\u202e what is there.", inputSchema: schema });
      const upstream = await startUpstream({ tools });
      await addProject(gateway, "many", { github: upstream.url });
      await use(upstream);
      await upstream.stop();
    },
    { scope: "worker", auto: true },
  ],
});

const pages = [
  { path: "/me", heading: "My projects" },
  { path: "/me/apps", heading: "My apps" },
  { path: "/me/account", heading: "Account" },
  { path: "/admin/people", heading: "People" },
  { path: "/admin/people/invite", heading: "Invite" },
  { path: "/admin/projects/many/tools", heading: "Tools" },
  { path: "/admin/projects/many/tools?query=foo:bar", heading: "Tools" },
  { path: "/admin/projects/many/tools/github__tool_0", heading: "github__tool_0" },
  { path: `/admin/projects/many/tools/github__${"x".repeat(80)}?as=json`, heading: `github__${"x".repeat(80)}` },
  { path: "/admin/projects/many/keys", heading: "Keys" },
  { path: "/admin/audit?verify=1", heading: "Audit log" },
  { path: "/admin/settings", heading: "Settings" },
  { path: "/login/again?next=/admin", heading: "Confirm it's you" },
];

for (const look of looks) {
  withTools.describe(look.name, () => {
    withTools.use(look.use);
    withTools("the pages of people, tools, keys and the log are accessible and keep to the window", async ({ page }) => {
      test.slow();
      for (const { path, heading } of pages) {
        await page.goto(path);
        await expect(page.getByRole("heading", { level: 1 }), path).toHaveText(heading);
        await expectAccessible(page);
      }
    });
  });
}

withTools("the pages of people, tools, keys and the log keep to their budgets", async ({ page }) => {
  test.slow();
  for (const { path } of pages) {
    const cost = await loadAndMeasure(page, path);
    expect(cost.html, path).toBeLessThanOrEqual(60_000);
    expect(cost.css, path).toBeLessThanOrEqual(12_288);
    expect(cost.js, path).toBeLessThanOrEqual(26_624);
    expect(cost.requests, path).toBeLessThanOrEqual(8);
    expect(cost.layoutShift, path).toBeLessThan(0.02);
  }
});

withTools("a tool is switched in the list, and many at once", async ({ page }) => {
  await page.goto("/admin/projects/many/tools?query=name:tool_1");
  const first = page.getByRole("switch", { name: "github__tool_1", exact: true });
  await expect(first).toBeChecked();
  await first.click();
  await expect(first).not.toBeChecked();
  await page.reload();
  await expect(first).not.toBeChecked();
  await page.getByRole("link", { name: /^Off/ }).click();
  await expect(page.getByRole("link", { name: "github__tool_1", exact: true })).toBeVisible();
  await expect(page.getByRole("checkbox", { name: /^Select github__/ })).toHaveCount(1);

  await page.goto("/admin/projects/many/tools?query=name:tool_2");
  await page.getByRole("checkbox", { name: "Select github__tool_20" }).check();
  await page.getByRole("checkbox", { name: "Select github__tool_21" }).check();
  await page.getByRole("button", { name: "Turn off", exact: true }).click();
  await expect(page.locator(".toast")).toContainText("2 tools turned off.");
  await expect(page).toHaveURL("/admin/projects/many/tools?query=name%3Atool_2");
  await expect(page.getByRole("switch", { name: "github__tool_20" })).not.toBeChecked();
});

withTools("a tool of a pinned server waits for approval", async ({ page, gateway, tools }) => {
  const fresh = await startUpstream({ tools: tools.script.tools.slice(0, 1) });
  await addProject(gateway, "pinned", {}, { mcpServers: { github: { url: fresh.url, definitionPolicy: "approve" } } });
  await page.goto("/admin/projects/pinned/servers");
  await page.getByRole("link", { name: "github" }).first().click();
  await page.getByRole("button", { name: "Sync now" }).click();
  await expect(page.locator(".toast")).toContainText("1 tool in ");
  await page.goto("/admin/projects/pinned/tools?show=approve");
  await page.getByRole("link", { name: "github__tool_0", exact: true }).click();
  const toast = page.locator(".toast");
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(toast).toContainText("Approved. Clients can use it now.");
  await expect(page.locator(".head")).toContainText("On");
  await toast.getByRole("button", { name: "Undo" }).click();
  await expect(toast).toContainText("1 approval undone.");

  // Turning on in the list doesn't approve; the review does.
  await page.goto("/admin/projects/pinned/tools");
  await page.getByRole("checkbox", { name: "Select github__tool_0" }).check();
  await page.getByRole("button", { name: "Turn on", exact: true }).click();
  await expect(toast).toContainText("1 tool needs approval first and was left as it was: github__tool_0.");
  await toast.getByRole("link", { name: "Review" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("github__tool_0");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Approve" }).click();
  await expect(toast).toContainText("1 tool approved.");
  await expect(page.getByText("No tools to approve")).toBeVisible();
  await fresh.stop();
});

withTools("lists and groups of the Playground are sent as JSON", async ({ page }) => {
  await page.goto("/admin/projects/many/tools/github__tool_3");
  await page.getByRole("textbox", { name: "title" }).fill("It fails");
  await page.getByRole("textbox", { name: "labels" }).first().fill("bug");
  await page.getByRole("button", { name: "Add item" }).click();
  await page.getByRole("textbox", { name: "labels" }).nth(1).fill("p1");
  await page.getByRole("textbox", { name: "login" }).fill("ada");
  await page.getByLabel("state").selectOption("open");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.locator("#result pre").first()).toHaveText('{"title":"It fails","state":"open","labels":["bug","p1"],"owner":{"login":"ada"}}');
  await expect(page.getByRole("textbox", { name: "labels" }).nth(1)).toHaveValue("p1");
});

test("adding, changing, blocking and deleting users", async ({ page, gateway, browser }) => {
  const email = `grace-${process.pid}@example.com`;
  await page.goto("/admin/people");
  await page.getByRole("link", { name: "Invite" }).click();
  await page.getByRole("textbox", { name: "Email" }).fill(vera.email);
  await page.getByRole("radio", { name: "Member" }).check();
  await page.getByRole("button", { name: "Create invite link" }).click();
  await expect(page.getByText("This email address is already in use.").first()).toBeVisible();
  await expect(page.getByRole("radio", { name: "Member" })).toBeChecked();
  await expect(page.getByRole("textbox", { name: "Email" })).toHaveValue(vera.email);
  await page.getByRole("textbox", { name: "Email" }).fill(email);
  await page.getByRole("button", { name: "Create invite link" }).click();
  await expect(page.getByRole("main").getByRole("status")).toContainText(`${email} invited.`);
  const link = (await page.getByRole("group", { name: "Invite link" }).textContent())!.trim();
  await page.reload();
  await expect(page.getByRole("group", { name: "Invite link" })).toHaveText(link);

  const member = await browser.newContext({ baseURL: gateway.url, storageState: undefined });
  const theirs = await member.newPage();
  await theirs.goto(link);
  await theirs.getByLabel("Password", { exact: true }).fill(vera.password);
  await theirs.getByLabel("Repeat password").fill(vera.password);
  await theirs.getByRole("button", { name: "Join" }).click();
  await expect(theirs.getByRole("heading", { level: 1 })).toHaveText("My projects");
  expect((await theirs.request.get("/admin/people")).status(), "a member in the administration").toBe(403);
  await theirs.goto("/admin");
  await expect(theirs).toHaveURL("/me");
  await theirs.goto("/me/account");

  await page.goto(`/admin/people?query=${email}`);
  await page.getByRole("row", { name: email }).getByRole("link").click();
  await page.getByRole("textbox", { name: "Name" }).fill("Grace");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Grace");
  await page.locator("summary", { hasText: "Block" }).click();
  await page.getByRole("button", { name: "Block" }).click();
  await expect(page.locator("main .head")).toContainText("Blocked");
  await theirs.reload();
  await expect(theirs).toHaveURL(/\/login/);
  await member.close();

  await page.locator("summary", { hasText: "Delete" }).click();
  await page.getByRole("textbox", { name: /to confirm/ }).fill(email);
  await page.getByRole("button", { name: "Delete person" }).click();
  await expect(page.getByRole("main").getByRole("status")).toHaveText(`${email} deleted.`);
});

test("last administrator can't be removed", async ({ page }) => {
  await page.goto("/admin/people");
  await page.getByRole("link", { name: ada.name }).click();
  await page.getByRole("radio", { name: "Viewer" }).check();
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText(/only active administrator/i).first()).toBeVisible();
  await expect(page.locator("main .head")).toContainText("Active");
});

test("filters of the audit log are in the URL", async ({ page, gateway }) => {
  await addPerson(gateway, { email: `henry-${process.pid}@example.com`, name: "Henry", password: vera.password }, "viewer");
  await page.goto("/admin/audit");
  await page.getByLabel("What", { exact: true }).selectOption("person");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(page).toHaveURL(/action=person/);
  await expect(page.getByRole("row", { name: /henry/ }).first()).toContainText("Person joined");
  await page.goto("/admin/audit?object=nothing-such");
  await expect(page.getByText("No entries match")).toBeVisible();
  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByText(/Intact: \d+ rows? checked/)).toBeVisible();
});
