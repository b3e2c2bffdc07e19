import { expectAccessible, expectAccessibleInEach } from "../support/accessible.ts";
import { Clicks } from "../support/clicks.ts";
import { connect, copyServer, ofServers } from "../support/mcp-client.ts";
import { addPerson, addProject, expect, send, test as base, type Account } from "../support/signed-in.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import type { Page } from "@playwright/test";

/** Two projects with the server github, people who may use the first, and one who maintains it. */
interface Office {
  github: Upstream;
  mine: string;
  other: string;
  member: Account;
  maintainer: Account;
}

const test = base.extend<object, { office: Office }>({
  office: [
    async ({ gateway, people }, use) => {
      expect(people.admin.cookies).not.toEqual([]);
      const account = (name: string): Account => ({ email: `${name.toLowerCase()}-${process.pid}@example.com`, name, password: "some quiet words here" });
      const annotations = { readOnlyHint: true };
      const github = await startUpstream({
        tools: [{ name: "list_issues", inputSchema: { type: "object" }, annotations }, { name: "delete_repository", inputSchema: { type: "object" } }],
        call: (name) => ({ content: [{ type: "text", text: `called ${name}` }] }),
      });
      const office = { github, mine: `mine-${process.pid}`, other: `other-${process.pid}`, member: account("Mia"), maintainer: account("Max") };
      for (const slug of [office.mine, office.other]) await addProject(gateway, slug, { github: github.url });
      await send(gateway, "POST", `/api/projects/${office.mine}/toolsets`, { slug: "reader", name: "Reader", query: "readonly:true" });
      const [member, maintainer] = [await addPerson(gateway, office.member, "member"), await addPerson(gateway, office.maintainer, "member")];
      await send(gateway, "POST", `/api/projects/${office.mine}/access`, { personId: member, toolset: "reader", role: "use" });
      await send(gateway, "POST", `/api/projects/${office.mine}/access`, { personId: maintainer, toolset: null, role: "maintain" });
      await use(office);
      await github.stop();
    },
    { scope: "worker" },
  ],
});

// One world for the file.
test.describe.configure({ mode: "default" });

test.use({ as: "nobody" });

/** Signs in with the form. */
async function enter(page: Page, who: Account, clicks: Clicks): Promise<void> {
  await page.goto("/login");
  await page.getByRole("textbox", { name: "Email" }).fill(who.email);
  await page.getByLabel("Password").fill(who.password);
  await clicks.on(page.getByRole("button", { name: "Sign in", exact: true }));
  await expect(page).toHaveURL("/me");
}

test("a member makes a key and connects a client", async ({ page, context, office }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const clicks = new Clicks();
  await enter(page, office.member, clicks);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("My projects");
  await expect(page.getByRole("main")).not.toContainText(office.other);
  await expectAccessible(page);
  await clicks.on(page.getByRole("link", { name: "New key" }));
  await page.getByRole("textbox", { name: "Name" }).fill("Laptop");
  await expectAccessible(page);
  await clicks.on(page.getByRole("button", { name: "Create key" }));
  await expect(page.getByRole("heading", { name: "1. Save your key" })).toBeVisible();
  await expectAccessibleInEach(page);
  const client = await connect(await copyServer(page, clicks));
  console.log(`sign-in, own key and a client: ${clicks.count} clicks`);
  expect(clicks.count).toBeLessThanOrEqual(5);

  expect(ofServers((await client.listTools()).tools.map(({ name }) => name))).toEqual(["github__list_issues"]);
  expect((await client.callTool({ name: "github__list_issues" })).content).toEqual([{ type: "text", text: "called list_issues" }]);
  await expect(client.callTool({ name: "github__delete_repository" })).rejects.toThrow(/delete_repository/);
  await client.close();
  await page.goto("/me/keys");
  await expect(page.getByRole("listitem").filter({ hasText: "Laptop" })).toContainText("Used");
});

test("a maintainer adds a server to their project and sees no other", async ({ page, office }) => {
  const clicks = new Clicks();
  await enter(page, office.maintainer, clicks);
  await expectAccessible(page);
  await clicks.on(page.getByRole("region", { name: "You maintain" }).getByRole("link", { name: office.mine }));
  await expect(page).toHaveURL(`/admin/projects/${office.mine}`);
  await expectAccessible(page);
  await clicks.on(page.getByRole("link", { name: "Add server" }));
  await page.getByRole("textbox", { name: /URL, command or JSON/ }).fill(JSON.stringify({ mcpServers: { tracker: { url: office.github.url } } }));
  await clicks.on(page.getByRole("button", { name: "Continue" }));
  await clicks.on(page.getByRole("button", { name: /^Add (1 )?server$/ }));
  await expect(page.getByText(/^Server added/).first()).toBeVisible();
  console.log(`sign-in and a new server: ${clicks.count} clicks`);
  expect(clicks.count).toBeLessThanOrEqual(5);

  await page.goto(`/admin/projects/${office.mine}/servers`);
  await expect(page.getByRole("link", { name: "tracker" }).first()).toBeVisible();
  for (const path of ["", "/servers", "/toolsets", "/activity", "/keys"]) {
    const answer = await page.goto(`/admin/projects/${office.other}${path}`);
    expect(answer!.status(), path).toBe(404);
  }
  await page.goto("/admin");
  await expect(page.getByRole("main")).not.toContainText(office.other);
  await page.keyboard.press("Control+k");
  await expect(page.getByRole("combobox", { name: "Search or jump to" })).toBeFocused();
  await page.keyboard.type("reader");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { level: 1, name: "Reader" })).toBeVisible();
});
