import type { Locator, Page } from "@playwright/test";

import { expectAccessible, inEach, looks } from "../support/accessible.ts";
import { furnish, mia, read, rowsOf, type World } from "../support/catalog-world.ts";
import { expect, pageOf, send, test as base } from "../support/signed-in.ts";

const test = base.extend<object, { world: World }>({
  world: [
    async ({ gateway, people }, use) => {
      expect(people.admin.cookies).not.toEqual([]);
      const world = await furnish(gateway);
      await use(world);
      await world.site.stop();
    },
    { scope: "worker" },
  ],
});

// One world for the file.
test.describe.configure({ mode: "default" });

const pages: { name: string; path: (world: World) => string; heading: string }[] = [
  { name: "the registries for editors", path: () => "/admin/catalog/views", heading: "Catalog" },
  { name: "a list", path: () => "/admin/catalog/views/engineering", heading: "Engineering" },
  { name: "an empty list", path: () => "/admin/catalog/views/new-list", heading: "New list" },
  { name: "a view of a query", path: () => "/admin/catalog/views/databases", heading: "Databases" },
  { name: "the requests", path: () => "/admin/catalog/requests", heading: "Catalog" },
  { name: "the sources", path: () => "/admin/catalog", heading: "Catalog" },
  { name: "a source that waits", path: ({ source }) => `/admin/catalog/sources/${source}`, heading: "Shop" },
  { name: "the rows", path: () => "/admin/catalog/rows", heading: "Catalog" },
  { name: "a search without rows", path: () => "/admin/catalog/rows?query=nothing-like-this", heading: "Catalog" },
  { name: "the duplicates", path: () => "/admin/catalog/duplicates", heading: "Catalog" },
  { name: "an entry with a history", path: ({ row }) => `/admin/catalog/${row}`, heading: "Orders" },
  { name: "a published project", path: () => "/registry/localhost/support", heading: "Customer support" },
  { name: "a server with a long address", path: () => "/registry/github/github", heading: "GitHub" },
  { name: "closest servers", path: () => "/registry?query=posgres&works=1", heading: "Catalog" },
];

for (const { name, path, heading } of pages) {
  test(`${name}: accessible and within the window`, async ({ page, world }) => {
    test.slow(); // checks the page in each look
    await inEach(looks, page, async () => {
      expect((await page.goto(path(world)))!.status()).toBe(200);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
      await expectAccessible(page);
    });
  });
}

test.describe("what follows a form", () => {
  for (const look of looks) {
    test.describe(look.name, () => {
      test.use(look.use);
      test("is accessible: ticked rows, the confirmation, the plan of a sync, an error", async ({ page, world }) => {
        test.slow(); // checks several whole pages
        await page.goto("/admin/catalog/rows?query=publisher:example");
        const bar = page.getByRole("form", { name: "Selection" });
        await expect(bar).toBeHidden();
        await page.getByRole("checkbox", { name: "Select example/orders", exact: true }).check();
        await expect(bar).toBeVisible();
        await expectAccessible(page);
        await bar.getByRole("button", { name: "Approve" }).click();
        await expect(page.getByRole("heading", { level: 1 })).toHaveText("Approve 1 entry into the list Engineering?");
        await expectAccessible(page);
        await page.goto(`/admin/catalog/sources/${world.source}`);
        await page.getByRole("button", { name: "Preview" }).click();
        await expect(page.getByRole("heading", { name: "What would change" })).toBeVisible();
        await expectAccessible(page);
        await page.goto("/admin/catalog/views");
        await page.getByRole("textbox", { name: "Name" }).first().fill("Not A Name");
        await page.getByRole("button", { name: "Create view" }).click();
        await expect(page.getByRole("alert")).toBeVisible();
        await expectAccessible(page);
      });
    });
  }
});

test("a member's pages are accessible", async ({ browser, gateway, world }) => {
  test.slow(); // checks the pages in each look
  const page = await pageOf(browser, gateway, world.member);
  for (const [path, heading] of [["/me/requests", "My requests"], ["/registry/asana/asana", "Asana"], ["/registry/localhost/support", "Customer support"]]) {
    await inEach(looks, page, async () => {
      await page.goto(path);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
      await expectAccessible(page);
    });
  }
  await page.context().close();
});

/** Ticks rows of the list and returns the bar with the actions. */
async function tick(page: Page, ...names: string[]): Promise<Locator> {
  for (const name of names) await page.getByRole("checkbox", { name: `Select ${name}`, exact: true }).check();
  return page.getByRole("form", { name: "Selection" });
}

const message = (page: Page, text: string | RegExp) => page.getByRole("status").filter({ hasText: text });

for (const javaScriptEnabled of [true, false]) {
  const suffix = javaScriptEnabled ? "script" : "plain";
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled });

    test("an administrator makes a list that editors read with a key", async ({ page, gateway, world }) => {
      test.slow(); // many pages in a row
      expect(world.source).not.toBe("");
      await page.goto("/registry");
      await page.getByRole("navigation", { name: "Catalog" }).getByRole("link", { name: "Editors" }).click();
      const [view, key] = ["New view", "New key"].map((name) => page.getByRole("region", { name }));
      await view.getByRole("textbox", { name: "Name" }).fill(`team-${suffix}`);
      await view.getByRole("textbox", { name: "Title" }).fill(`Team ${suffix}`);
      await expect(view.getByRole("textbox", { name: "Query" })).toBeHidden();
      await view.getByText("Only with a key or sign-in").click();
      await view.getByRole("button", { name: "Create view" }).click();
      await expect(page.getByRole("heading", { level: 1 })).toHaveText(`Team ${suffix}`);
      await expect(page.getByText("No servers yet").first()).toBeVisible();

      await page.getByRole("link", { name: "Open the rows" }).click();
      await page.getByRole("searchbox").fill("publisher:example");
      await page.getByRole("button", { name: "Search" }).click();
      const bar = await tick(page, "example/orders", "example/invoices");
      await bar.getByRole("combobox", { name: "List" }).selectOption({ label: `Team ${suffix}` });
      await bar.getByRole("button", { name: "Approve" }).click();
      await expect(page.getByRole("heading", { level: 1 })).toHaveText(`Approve 2 entries into the list Team ${suffix}?`);
      await page.getByRole("button", { name: "Approve 2 entries" }).click();
      await expect(message(page, "2 entries approved.")).toBeVisible();

      await page.goto(`/admin/catalog/views/team-${suffix}`);
      await page.getByRole("combobox", { name: "Endpoint" }).selectOption({ label: "Customer support: Reader" });
      await page.getByRole("button", { name: "Add to list" }).click();
      await expect(message(page, "Server added to the view.")).toBeVisible();
      const listed = page.getByRole("region", { name: "Approved servers" }).getByRole("listitem");
      await expect(listed).toHaveCount(3);
      await expect(page.getByRole("combobox", { name: "Endpoint" }).getByRole("option", { name: "Customer support: Reader" })).toHaveCount(0);

      await page.goto("/admin/catalog/views");
      await key.getByRole("textbox", { name: "Name" }).fill(`Editors ${suffix}`);
      await key.getByRole("button", { name: "Create key" }).click();
      const secret = await page.getByRole("region", { name: "Save the key" }).getByRole("group", { name: "Key" }).innerText();
      expect(secret).toMatch(/^gwr_/);

      const url = `${gateway.url}/views/team-${suffix}/v0.1/servers`;
      expect((await fetch(url)).status).toBe(401);
      const answer = await fetch(url, { headers: { Authorization: `Bearer ${secret}` } });
      expect(answer.status).toBe(200);
      const { servers } = await answer.json();
      expect(servers.map(({ server }: any) => server.name).toSorted()).toEqual(["example/invoices", "example/orders", "localhost/support.reader"]);
      const own = servers.find(({ server }: any) => server.name.startsWith("localhost/")).server;
      expect(own.remotes[0].url).toBe(`${gateway.url}/v1/mcp/support/toolsets/reader/request`);

      // A removed row is gone for editors, and so is everything for a revoked key.
      await page.goto(`/admin/catalog/views/team-${suffix}`);
      await listed.filter({ hasText: "example/invoices" }).getByRole("button", { name: "Remove" }).click();
      await expect(listed).toHaveCount(2);
      const fewer = await (await fetch(url, { headers: { Authorization: `Bearer ${secret}` } })).json();
      expect(fewer.servers).toHaveLength(2);
      await page.goto("/admin/catalog/views");
      const row = page.getByRole("row").filter({ hasText: `Editors ${suffix}` });
      await expect(row).toContainText(/Just now|now|min/);
      await row.locator("summary").click();
      await page.getByRole("button", { name: "Revoke" }).last().click();
      await expect(message(page, "Key revoked.")).toBeVisible();
      expect((await fetch(url, { headers: { Authorization: `Bearer ${secret}` } })).status).toBe(401);
    });

    test("a member requests servers, an administrator approves one and refuses one", async ({ page, browser, gateway, world }) => {
      test.slow(); // many pages in a row
      const [wanted, refused] = javaScriptEnabled ? ["asana/asana", "figma/figma"] : ["atlassian/atlassian", "supabase/supabase"];
      const context = await browser.newContext({ baseURL: gateway.url, storageState: world.member, javaScriptEnabled });
      const member = await context.newPage();
      for (const name of [wanted, refused]) {
        await member.goto(`/registry/${name}`);
        const card = member.getByRole("region", { name: "Request it" });
        await card.getByRole("combobox", { name: "For project" }).selectOption({ label: "Customer support" });
        await card.getByRole("textbox", { name: "What for" }).fill(`The team works with ${name}.`);
        await card.getByRole("button", { name: "Request" }).click();
        await expect(member).toHaveURL("/me/requests");
        await expect(message(member, "An administrator will decide.")).toBeVisible();
      }
      await member.goto(`/registry/${wanted}`);
      await expect(member.getByText("You requested it.")).toBeVisible();

      await page.goto("/admin");
      await page.getByText(/servers are requested: /).locator("..").getByRole("link", { name: "Decide" }).click();
      const request = (name: string) => page.locator(".card").filter({ hasText: `The team works with ${name}.` }).filter({ has: page.getByRole("button", { name: "Approve" }) });
      await expect(request(wanted)).toContainText(mia.email);
      await expect(request(wanted).getByRole("combobox", { name: "Add it to" })).toHaveValue("project:support");
      await request(wanted).getByRole("button", { name: "Approve" }).click();
      await expect(page).toHaveURL(/\/admin\/projects\/support\/servers\//);
      await expect(message(page, "Request approved and server added.")).toBeVisible();
      await page.goto("/admin/catalog/requests");
      await request(refused).getByRole("textbox", { name: "Reason for refusing" }).fill("We use another tool for that.");
      await request(refused).getByRole("button", { name: "Refuse" }).click();
      await expect(message(page, "Request refused.")).toBeVisible();
      await expect(request(refused)).toHaveCount(0);

      await member.goto("/me/requests");
      const own = (name: string) => member.getByRole("listitem").filter({ hasText: `The team works with ${name}.` });
      await expect(own(wanted)).toContainText("Approved");
      await expect(own(refused)).toContainText("Refused");
      await expect(own(refused)).toContainText("Answer: We use another tool for that.");
      await context.close();
    });

    test("an import that removes much waits until an administrator approves it", async ({ page, gateway, world }) => {
      test.slow(); // many pages in a row
      const publisher = `held-${suffix}`;
      const rows = rowsOf(publisher, 10);
      world.site.serve(`${suffix}.json`, rows);
      await page.goto("/admin/catalog");
      const form = page.getByRole("region", { name: "Add a source" });
      await form.getByRole("radio", { name: "JSON file" }).check();
      await form.getByLabel("URL").fill(world.site.url(`${suffix}.json`));
      await form.getByLabel("Name").fill(`Store ${suffix}`);
      await form.getByRole("button", { name: "Add source" }).click();
      await page.getByRole("button", { name: "Run now" }).click();
      await expect(message(page, "10 new, 0 changed, 0 removed.")).toBeVisible();

      world.site.serve(`${suffix}.json`, rows.slice(0, 8)); // 20 %
      await page.getByRole("button", { name: "Run now" }).click();
      await expect(message(page, "2 removed.")).toBeVisible();
      world.site.serve(`${suffix}.json`, rows.slice(0, 6)); // 25 % of 8
      await page.getByRole("button", { name: "Run now" }).click();
      await expect(page.getByText("2 removals wait for approval").first()).toBeVisible();
      await expect(page.getByText("It would remove 2 of 8 rows")).toBeVisible();
      const count = async () => (await read(gateway, `/api/registry?publisher=${publisher}&limit=100`)).items.length;
      expect(await count()).toBe(8);
      await page.getByRole("button", { name: "Approve 2 removals" }).click();
      await expect(message(page, "2 removed.")).toBeVisible();
      await expect(page.getByText("wait for approval")).toHaveCount(0);
      expect(await count()).toBe(6);
    });

    test("an administrator changes many entries, reads the history and hides a duplicate", async ({ page, gateway, world }) => {
      test.slow(); // many pages in a row
      const publisher = `many-${suffix}`;
      const [first] = rowsOf(publisher, 1);
      world.site.serve(`many-${suffix}.json`, [...rowsOf(publisher, 3), { ...first, serverName: "copy", serverTitle: "Copy" }]);
      const source = await send(gateway, "POST", "/api/catalog/sources", { kind: "file", name: `Many ${suffix}`, url: world.site.url(`many-${suffix}.json`) });
      await send(gateway, "POST", `/api/catalog/sources/${source.id}/run`);

      await page.goto(`/admin/catalog/rows?query=publisher:${publisher}`);
      const bar = await tick(page, `${publisher}/orders`);
      await bar.getByRole("checkbox", { name: "Select all 4 that match" }).check();
      await bar.getByRole("textbox", { name: "Tag" }).fill("checked");
      await bar.getByRole("button", { name: "Add tag" }).click();
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("Add the tag checked to 4 entries?");
      await page.getByRole("link", { name: "Cancel" }).click();
      await expect(page).toHaveURL(`/admin/catalog/rows?query=publisher%3A${publisher}`);
      await expect(page.getByRole("row").filter({ hasText: "checked" })).toHaveCount(0);
      await tick(page, `${publisher}/orders`, `${publisher}/copy`);
      await bar.getByRole("textbox", { name: "Tag" }).fill("checked");
      await bar.getByRole("button", { name: "Add tag" }).click();
      await page.getByRole("button", { name: "Add the tag to 2 entries" }).click();
      await expect(message(page, "2 entries tagged.")).toBeVisible();
      await expect(page.getByRole("row").filter({ hasText: `${publisher}/orders` })).toContainText("commerce, checked");

      await page.getByRole("link", { name: "Copy", exact: true }).click();
      const history = page.getByRole("table", { name: "Changes of this entry" });
      await expect(history).toContainText("Tag added");
      await expect(history).toContainText("tags: – → checked");
      await expect(history).toContainText("ada@example.com");

      await page.goto("/admin/catalog/duplicates");
      const group = page.getByRole("region", { name: `orders.${publisher}.example.com/mcp` });
      await expect(group.getByRole("link")).toHaveText(["Copy", "Orders"]);
      await group.getByRole("row").filter({ hasText: `${publisher}/copy` }).getByRole("button", { name: "Hide" }).click();
      await expect(page).toHaveURL("/admin/catalog/duplicates");
      await expect(group).toHaveCount(0);
      expect((await fetch(`${gateway.url}/registry/${publisher}/copy`)).status).toBe(404);
    });

    test("an administrator publishes a project", async ({ page, gateway }) => {
      const slug = `published-${suffix}`;
      await send(gateway, "POST", "/api/projects", { projectSlug: slug, name: `Published ${suffix}` });
      await page.goto(`/admin/projects/${slug}/settings`);
      await page.getByText("List in the catalog").click();
      await page.getByRole("button", { name: "Save" }).first().click();
      await expect(page.getByText(/saved/i).first()).toBeVisible();
      await page.goto(`/registry/localhost/${slug}`);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText(`Published ${suffix}`);
      await expect(page.getByRole("region", { name: "Connect", exact: true })).toContainText(`/v1/mcp/${slug}/request`);
      const card = page.getByRole("region", { name: "Add to a project" });
      await expect(card).toHaveCount(0);
    });
  });
}
