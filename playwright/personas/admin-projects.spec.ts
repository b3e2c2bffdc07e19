import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { type Page } from "@playwright/test";

import { expectAccessible, inEach, looks } from "../support/accessible.ts";
import { loadAndMeasure } from "../support/measure.ts";
import { expect, program, test as base } from "../support/signed-in.ts";
import type { Gateway } from "../support/gateway.ts";

/** A third-party MCP server on this machine, and special addresses. */
interface Upstream {
  url: string;
  /** An address without a listener. */
  deadURL: string;
  /** Responds with 401, like servers that require a sign-in. */
  guardedURL: string;
  /** A document in the catalog's format. */
  catalogURL: string;
}

const catalogFile = {
  version: 1,
  items: [
    {
      id: "3d0f6f6c-1a4e-5b7d-9c59-2a3c6a2f0001", publisherName: "example", publisherTitle: "Example", serverName: "everything", serverTitle: "Everything",
      serverType: "http", tags: ["tests"], verified: false, featured: false, description: "Every feature of the protocol.", authType: "none",
    },
  ],
};

const test = base.extend<object, { upstream: Upstream }>({
  upstream: [
    async ({}, use) => {
      const child = spawn(process.execPath, [fileURLToPath(new URL("../support/everything.mjs", import.meta.url))], { stdio: ["ignore", "pipe", "ignore"] });
      const exited = once(child, "exit");
      const [line] = (await once(createInterface(child.stdout), "line")) as [string];
      const url = line.replace("READY ", "");
      const site = createServer((request, response) => {
        if (request.url === "/catalog.json") {
          const items = catalogFile.items.map((item) => ({ ...item, remoteUrl: url }));
          response.setHeader("Content-Type", "application/json").end(JSON.stringify({ ...catalogFile, items }));
        } else {
          response.setHeader("WWW-Authenticate", 'Bearer resource_metadata="http://127.0.0.1:9/.well-known/oauth-protected-resource"');
          response.writeHead(401).end();
        }
      });
      site.listen(0, "127.0.0.1");
      await once(site, "listening");
      const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
      await use({ url, deadURL: "http://127.0.0.1:9/mcp", guardedURL: `${origin}/mcp`, catalogURL: `${origin}/catalog.json` });
      site.close();
      child.kill();
      await exited;
    },
    { scope: "worker" },
  ],
});

let made = 0;

/** Creates a project with servers through the API and returns its slug. */
async function project(gateway: Gateway, more: object = {}, servers: Record<string, object> = {}): Promise<string> {
  const slug = `made-${process.pid}-${++made}`;
  const client = await program(gateway);
  const answer = await client.post("/api/projects", { data: { projectSlug: slug, name: `Made ${made}`, authMode: "api_key", mcpServers: servers, ...more } });
  expect(answer.status(), await answer.text()).toBe(201);
  const list = await (await client.get(`/api/projects/${slug}/servers`)).json();
  for (const { id, enabled } of list.items) if (enabled) await client.post(`/api/servers/${id}/sync`);
  await client.dispose();
  return slug;
}

/** Toggles the switch of a server, which is a button without JavaScript. */
async function toggle(page: Page, name: string): Promise<void> {
  const byScript = page.getByRole("switch", { name });
  await (await byScript.isVisible() ? byScript : page.getByRole("button", { name })).first().click();
}

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled });

    test("new project with a working endpoint", async ({ page, upstream }) => {
      test.slow(); // many pages in a row
      const slug = `acme-${javaScriptEnabled ? "js" : "plain"}`;
      await page.goto("/admin");
      await page.getByRole("link", { name: "New project" }).first().click();
      await page.getByLabel("Name", { exact: true }).fill("Acme dev");
      await page.getByLabel("URL slug").fill("Not a slug!");
      await page.getByRole("button", { name: "Create project" }).click();
      await expect(page.getByText("lower-case letters").first()).toBeVisible();
      await expect(page.getByLabel("Name", { exact: true })).toHaveValue("Acme dev");
      await page.getByLabel("URL slug").fill(slug);
      await page.getByRole("button", { name: "Create project" }).click();

      await expect(page).toHaveURL(`/admin/projects/${slug}/servers/new`);
      const pasted = {
        mcpServers: {
          everything: { type: "streamable-http", url: upstream.url },
          files: { command: "npx", args: ["some-local-server"] },
          gone: { url: upstream.deadURL, headers: { "X-API-Key": "a-secret-of-the-paste" } },
        },
      };
      await page.getByLabel("URL, command or JSON").fill(JSON.stringify(pasted));
      await page.getByRole("button", { name: "Continue" }).click();
      await expect(page.getByText("Runs on a computer", { exact: true }).first()).toBeVisible();
      if (!javaScriptEnabled) await page.getByRole("button", { name: "Test all" }).click();
      await expect(page.getByText("Connection refused", { exact: true })).toBeVisible();
      await expect(page.locator(".draft").getByText(/\d+ tools · /)).toBeVisible();
      expect(await page.content()).not.toContain("a-secret-of-the-paste");
      expect(await page.evaluate(() => document.documentElement.scrollHeight)).toBeLessThanOrEqual(900);
      await page.getByRole("button", { name: "Add 2 servers" }).click();
      await expect(page.getByRole("status").filter({ hasText: "1 of 2 servers added." })).toBeVisible();
      await expect(page.getByRole("region", { name: "Couldn't connect" })).toContainText("Nothing listens on 127.0.0.1:9.");
      await expect(page.getByRole("link", { name: "everything", exact: true })).toBeVisible();
      expect(await page.content()).not.toContain("a-secret-of-the-paste");
      await page.getByRole("button", { name: "Add anyway: gone" }).click();
      await expect(page).toHaveURL(/added=[^&]+%2C/);
      await expect(page.getByRole("status").filter({ hasText: /^\s*2 servers added\./ })).toBeVisible();

      await page.goto(`/admin/projects/${slug}/servers`);
      const row = (alias: string) => page.getByRole("row").filter({ has: page.getByRole("link", { name: alias, exact: true }) });
      await expect(row("everything")).toContainText("Up");
      await expect(row("gone")).toContainText("Down");
      await expect(row("gone")).toContainText("Connection refused");
      await page.getByRole("link", { name: /^Down/ }).click();
      await expect(row("everything")).toHaveCount(0);
      await page.getByRole("link", { name: /^Down/ }).click();

      await row("everything").locator("summary").click();
      await row("everything").getByRole("button", { name: "Sync now" }).click();
      await expect(page.getByRole("status").filter({ hasText: "Nothing changed." })).toBeVisible();

      await page.goto(`/admin/projects/${slug}`);
      await expect(page.getByRole("group", { name: "Endpoint", exact: true })).toHaveText(new RegExp(`/v1/mcp/${slug}/request$`));
      await expect(page.getByText("1 of 5 done")).toBeVisible();
      await expect(page.getByRole("region", { name: "Needs attention" }).getByRole("button", { name: "Retry: gone is down" })).toBeVisible();
      await page.goto(`/admin/projects/${slug}/connect`);
      await page.getByRole("button", { name: "Run test" }).click();
      const steps = page.getByRole("list", { name: "Test results" }).getByRole("listitem");
      await expect(steps).toHaveCount(4);
      await expect(steps.nth(0)).toContainText(/✓ initialize.*\d+ ms/);
      await expect(steps.nth(1)).toContainText(/✓ tools\/list.*\d+ ms.*\d+ tools/);
      await expect(steps.nth(2)).toContainText("✓ everything");
      await expect(steps.nth(3)).toContainText(/✗ gone.*connection refused/);

      await page.goto("/admin?query=acme");
      await expect(page.getByRole("row").filter({ hasText: slug })).toContainText("gone down");
    });

    test("setup that is hidden and shown again", async ({ page, gateway }) => {
      const slug = await project(gateway);
      await page.goto(`/admin/projects/${slug}`);
      await expect(page.getByRole("region", { name: "Finish setting up" })).toBeVisible();
      await page.getByRole("link", { name: "Hide" }).click();
      await expect(page.getByRole("region", { name: "Finish setting up" })).toHaveCount(0);
      await page.getByRole("link", { name: "Show setup" }).click();
      await expect(page.getByRole("region", { name: "Finish setting up" })).toBeVisible();
    });

    test("server from a URL with selected tools", async ({ page, gateway, upstream }) => {
      const slug = await project(gateway);
      await page.goto(`/admin/projects/${slug}/servers/new`);
      await page.getByLabel("URL, command or JSON").fill(upstream.url);
      await page.getByRole("button", { name: "Continue" }).click();
      await page.getByLabel("Alias").fill("every");
      await page.getByRole("button", { name: "Add server" }).click();
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("every");
      await expect(page.getByRole("heading", { name: "Choose tools" })).toBeVisible();
      await page.getByRole("checkbox", { name: "echo" }).uncheck();
      await page.getByRole("button", { name: "Save" }).click();
      await expect(page.getByText("1 tool is filtered out")).toBeVisible();

      await page.getByRole("navigation", { name: "Server" }).getByRole("link", { name: "Tools" }).click();
      await page.getByLabel("Turn off", { exact: false }).last().fill("get-*\n");
      if (!javaScriptEnabled) await page.getByRole("button", { name: "Preview" }).click();
      await expect(page.getByRole("list", { name: "Effect of the patterns" }).getByRole("listitem").filter({ hasText: "echo" })).toContainText("On");
      await expect(page.getByRole("list", { name: "Effect of the patterns" }).getByRole("listitem").filter({ hasText: "get-sum" })).toContainText("Off");
      await page.locator("#preview").getByRole("button", { name: "Save" }).click();
      await expect(page.getByRole("status").filter({ hasText: "Tool choice saved." })).toBeVisible();
      await expect(page.getByRole("link", { name: /pattern/ })).toBeVisible();
    });

    test("disabling, changing and deleting a server", async ({ page, gateway, upstream }) => {
      const slug = await project(gateway, {}, { every: { url: upstream.url } });
      await page.goto(`/admin/projects/${slug}/servers`);
      await page.getByRole("row").filter({ hasText: "every" }).locator("summary").click();
      await page.getByRole("button", { name: "Turn off" }).click();
      await expect(page.getByRole("status").filter({ hasText: "turned off" })).toBeVisible();
      await expect(page.getByRole("row").filter({ hasText: "every" }).first()).toContainText("Off");
      await page.getByRole("link", { name: "every", exact: true }).click();
      await page.getByRole("button", { name: "Turn on" }).click();
      await expect(page.getByRole("status").filter({ hasText: "turned on" })).toBeVisible();
      await page.getByRole("main").getByRole("link", { name: "Edit" }).first().click();
      await page.getByLabel("Alias").fill("gateway");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await expect(page.getByText("reserved for recipes and the built-in tools").first()).toBeVisible();
      await page.getByLabel("Alias").fill("other");
      await page.getByLabel("Timeout (seconds)", { exact: true }).fill("12.5");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("other");
      await expect(page.getByText("12.5 s")).toBeVisible();

      await page.getByRole("main").getByRole("link", { name: "Edit" }).first().click();
      await page.getByRole("radio", { name: "Bearer token" }).check();
      await page.getByLabel("Bearer token", { exact: false }).last().fill("a-very-secret-token");
      await page.getByRole("button", { name: "Save credentials" }).click();
      await expect(page.getByText("Bearer token stored")).toBeVisible();
      expect(await page.content()).not.toContain("a-very-secret-token");

      await page.locator("summary", { hasText: "Delete…" }).click();
      await expect(page.getByText("stored credentials are deleted")).toBeVisible();
      await page.getByRole("button", { name: "Delete server" }).click();
      await expect(page).toHaveURL(`/admin/projects/${slug}/servers`);
      await expect(page.getByText("Add your first server")).toBeVisible();
    });

    test("confirmation for opening a project, typed name for deleting it", async ({ page, gateway, upstream }) => {
      const slug = await project(gateway, {}, { every: { url: upstream.url, headers: { "X-Key": "secret" } } });
      await page.goto(`/admin/projects/${slug}/settings`);
      const confirmation = page.getByRole("checkbox", { name: "I understand that anyone who can reach this endpoint uses the credentials of every" });
      await expect(confirmation).toBeHidden();
      const unsaved = page.getByRole("main").getByText("Unsaved changes");
      await expect(unsaved).toBeHidden();
      await page.getByRole("radio", { name: "Open", exact: true }).check();
      await expect(confirmation).toBeVisible();
      await page.getByLabel("Name", { exact: true }).fill("Discarded");
      await expect(unsaved).toBeVisible({ visible: javaScriptEnabled });
      await page.getByRole("link", { name: "Discard" }).click();
      await expect(page.getByLabel("Name", { exact: true })).not.toHaveValue("Discarded");
      await page.getByRole("radio", { name: "Open", exact: true }).check();
      await page.getByLabel("Name", { exact: true }).fill("Open to all");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await expect(page.getByText("Confirm this to continue.").first()).toBeVisible();
      await expect(page.getByLabel("Name", { exact: true })).toHaveValue("Open to all");
      await confirmation.check();
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await expect(page.getByRole("status").filter({ hasText: "Settings saved." })).toBeVisible();
      await page.goto(`/admin?query=${slug}`);
      await expect(page.getByRole("row").filter({ hasText: slug })).toContainText("Shares credentials");
      await page.goto(`/admin/projects/${slug}/connect`);
      await expect(page.getByText("Anyone who can reach the endpoint uses the credentials of every")).toBeVisible();

      await page.goto(`/admin/projects/${slug}/settings`);
      await page.getByLabel("Maximum tool name length").fill("7");
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await expect(page.getByText("from 32 to 256").first()).toBeVisible();
      await page.getByRole("link", { name: "Who can sign in" }).click();
      await page.getByRole("radio", { name: "Members only" }).check();
      await page.getByRole("button", { name: "Save", exact: true }).click();
      await expect(page.getByRole("status").filter({ hasText: "Settings saved." })).toBeVisible();
      await expect(page.getByRole("radio", { name: "Members only" })).toBeChecked();
      await page.getByLabel("Person or group").selectOption({ label: "vera@example.com" });
      await page.getByRole("button", { name: "Grant access" }).click();
      const row = page.getByRole("row").filter({ hasText: "Vera Viewer" });
      await expect(row).toContainText("everything");
      await row.locator("summary", { hasText: "Remove" }).click();
      await page.getByRole("button", { name: "Remove", exact: true }).click();
      await expect(page.getByText("No one has access yet.")).toBeVisible();

      await page.goto(`/admin/projects/${slug}/settings`);
      await page.getByRole("navigation", { name: "Sections" }).getByRole("link", { name: "Danger zone" }).click();
      await expect(page.getByRole("heading", { name: "Danger zone" })).toBeInViewport();
      await page.locator("summary", { hasText: "Delete project" }).click();
      await expect(page.getByText("stops working for every client")).toBeVisible();
      await page.getByLabel(`Type ${slug} to confirm`).fill(slug);
      await page.getByRole("button", { name: "Delete project" }).click();
      await expect(page).toHaveURL("/admin");
      expect((await page.goto(`/admin/projects/${slug}`))!.status()).toBe(404);
    });

    test("export, and import after a preview", async ({ page, gateway, upstream }) => {
      const slug = await project(gateway, {}, { every: { url: upstream.url }, gone: { url: upstream.deadURL } });
      const file = await (await page.request.get(`/admin/export/download?project=${slug}`)).json();
      file.projects[slug].name = "Imported";
      file.projects[slug].mcpServers.every.timeout = 1234;
      file.projects[slug].mcpServers.fresh = { url: upstream.url, authBearer: "token-of-the-file" };

      await page.goto("/admin/import");
      await page.getByRole("textbox", { name: "Or paste JSON" }).fill('{"projects": {"x": {"nonsense": 1}}}');
      await page.getByRole("button", { name: "Preview changes" }).click();
      await expect(page.getByText("projects.x.nonsense")).toBeVisible();

      await page.locator("input[type=file]").setInputFiles({ name: "gateway.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(file)) });
      await page.getByRole("textbox", { name: "Or paste JSON" }).fill("");
      await page.getByRole("button", { name: "Preview changes" }).click();
      await expect(page.getByText(`server ${slug} / fresh`)).toBeVisible();
      await expect(page.getByText(`server ${slug} / every: timeout`)).toBeVisible();
      await expect(page.getByText(`project ${slug}: name`)).toBeVisible();
      expect(await page.content()).not.toContain("token-of-the-file");
      await page.getByRole("button", { name: "Apply these changes" }).click();
      await expect(page).toHaveURL("/admin");
      await expect(page.getByRole("status").filter({ hasText: "1 created, 2 changed" })).toBeVisible();
      await page.goto(`/admin/projects/${slug}/servers`);
      await expect(page.getByRole("link", { name: "fresh", exact: true })).toBeVisible();
    });

    test("catalog source and a project with its server", async ({ page, gateway, upstream }) => {
      test.slow(); // many pages in a row
      const slug = await project(gateway);
      await page.goto("/admin/catalog");
      if (!(await page.getByText(upstream.catalogURL).isVisible())) {
        await page.getByRole("radio", { name: "JSON file" }).check();
        await page.getByLabel("URL").fill(upstream.catalogURL);
        await page.getByRole("button", { name: "Add source" }).click();
        await expect(page.getByText("Never synced")).toBeVisible();
        await page.getByRole("button", { name: "Preview" }).click();
        await expect(page.getByText("example/everything")).toBeVisible();
        await page.getByRole("button", { name: "Apply these changes" }).click();
        await expect(page.getByRole("status").filter({ hasText: "1 new" })).toBeVisible();
      }
      await page.goto(`/admin/projects/${slug}/servers/new?query=everything`);
      await page.getByRole("link", { name: "Add Everything" }).click();
      await page.getByRole("button", { name: "Add server" }).click();
      await expect(page.getByRole("heading", { name: "Choose tools" })).toBeVisible();

      await page.goto(`/admin/projects/${slug}/servers/new?query=tags:x`);
      await expect(page.getByRole("alert")).toBeVisible();
      await page.goto("/registry/example/everything");
      const id = await page.locator('input[name="id"]').first().inputValue();
      await page.goto(`/admin/catalog/${id}`);
      await page.getByLabel("Evidence").fill("The domain names it");
      await page.getByRole("button", { name: "Verify" }).click();
      await expect(page.getByText("The domain names it").first()).toBeVisible();
      await page.goto(`/admin/catalog/${id}`);
      await page.getByLabel("Website").fill("javascript:alert(1)");
      await page.getByLabel("Title", { exact: true }).fill("Everything else");
      await page.getByRole("button", { name: "Save entry" }).click();
      await expect(page.getByText("starts with https://").first()).toBeVisible();
      await page.getByLabel("Website").fill("");
      await page.getByRole("button", { name: "Save entry" }).click();
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("Everything else");
      await page.goto(`/admin/catalog/${id}`);
      await page.getByRole("button", { name: "Reset to source" }).click();
      await expect(page.getByText("Entry reset. It follows its source again.")).toBeVisible();
      await page.goto(`/admin/catalog/${id}`);
      await page.getByRole("button", { name: "Hide" }).click();
      await expect(page.getByRole("status").filter({ hasText: "is hidden" })).toBeVisible();
      await page.goto(`/admin/catalog/${id}`);
      await page.getByRole("button", { name: "Show" }).click();
      await expect(page).toHaveURL("/registry/example/everything");
      await page.goto(`/admin/catalog/${id}`);
      await expect(page.getByRole("table", { name: "Changes of this entry" }).getByText("Hidden or shown").first()).toBeVisible();
      await page.goto("/admin/catalog/rows?query=publisher:example");
      await page.getByRole("checkbox", { name: "Select example/everything" }).check();
      await page.getByRole("button", { name: "Hide", exact: true }).click();
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("Hide 1 entry?");
      await page.getByRole("button", { name: "Hide 1 entry" }).click();
      await expect(page.getByRole("status").filter({ hasText: "1 entry hidden." })).toBeVisible();
      await page.getByRole("button", { name: "Undo" }).click();
      await expect(page.getByRole("status").filter({ hasText: "1 entry shown." })).toBeVisible();
      // The next run of this test needs the original entry of the source.
      await page.goto("/admin/catalog");
      await page.locator(`details[id^="remove-"]`).last().locator("summary").click();
      await page.getByRole("button", { name: "Remove" }).last().click();
      await expect(page.getByText(upstream.catalogURL)).toHaveCount(0);
    });

    test("project from a template", async ({ page }) => {
      await page.goto("/admin/templates/docs-grounded-coding/use");
      await page.getByLabel("Project name").fill(`Docs ${javaScriptEnabled}`);
      await page.getByRole("button", { name: "Create project" }).click();
      await expect(page).toHaveURL(/\/admin\/templates\/docs-grounded-coding\/use\?project=docs-(true|false)$/);
      await expect(page.getByRole("note")).toContainText("Project created. 3 of 4 servers ready.");
      const context7 = page.getByRole("listitem").filter({ hasText: "context7" }).filter({ hasNot: page.getByRole("list") });
      await expect(context7.getByRole("link", { name: "Enter key" })).toHaveAttribute("href", /\/servers\/[0-9a-f-]+\/edit$/);
      await page.getByRole("link", { name: "Open project" }).click();
      await expect(page).toHaveURL(/\/admin\/projects\/docs-(true|false)$/);
    });

    test("OAuth offered for a server that requires a sign-in", async ({ page, gateway, upstream }) => {
      const slug = await project(gateway);
      await page.goto(`/admin/projects/${slug}/servers/new`);
      await page.getByLabel("URL, command or JSON").fill(upstream.guardedURL);
      await page.getByRole("button", { name: "Continue" }).click();
      if (!javaScriptEnabled) await page.getByRole("button", { name: "Test all" }).click();
      await expect(page.getByText("Sign-in needed after adding", { exact: true })).toBeVisible();
      await expect(page.getByRole("radio", { name: "OAuth", includeHidden: true })).toBeChecked();
      await page.getByLabel("Alias").fill("guarded");
      await page.getByRole("button", { name: "Add server" }).click();
      await expect(page.getByRole("status").filter({ hasText: "Sign in at 127.0.0.1 to read its tools." })).toBeVisible();
      await expect(page.getByRole("main").getByRole("link", { name: "Connect", exact: true })).toHaveAttribute("href", /\/admin\/connections\/[0-9a-f-]+\/start/);
    });
  });
}

/** A project with servers in every state, for screenshots of its pages. */
interface Places {
  base: string;
  server: string;
}

const placed = test.extend<object, { places: Places }>({
  places: [
    async ({ gateway, upstream, people }, use) => {
      expect(people.admin.cookies).not.toEqual([]);
      const servers = { everything: { url: upstream.url }, jira: { url: upstream.deadURL }, notion: { url: upstream.guardedURL, authType: "oauth" } };
      const slug = await project(gateway, { name: "Acme dev", description: "Tools for the team." }, servers);
      const client = await program(gateway);
      const { items } = await (await client.get(`/api/projects/${slug}/servers`)).json();
      await client.dispose();
      const base = `/admin/projects/${slug}`;
      await use({ base, server: `${base}/servers/${items.find(({ alias }: { alias: string }) => alias === "everything").id}` });
    },
    { scope: "worker" },
  ],
});

const pages: { name: string; path: (at: Places) => string; heading: string }[] = [
  { name: "the projects", path: () => "/admin", heading: "Projects" },
  { name: "a search without results", path: () => "/admin?query=nothing-like-this", heading: "Projects" },
  { name: "the form of a project", path: () => "/admin/projects/new", heading: "New project" },
  { name: "the overview", path: ({ base }) => base, heading: "Acme dev" },
  { name: "how clients connect", path: ({ base }) => `${base}/connect?check=1`, heading: "Connect" },
  { name: "the servers", path: ({ base }) => `${base}/servers`, heading: "Servers" },
  { name: "a server", path: ({ server }) => server, heading: "everything" },
  { name: "the forms of a server", path: ({ server }) => `${server}/edit`, heading: "everything" },
  { name: "the filter of a server", path: ({ server }) => `${server}/filters`, heading: "everything" },
  { name: "the way to a new server", path: ({ base }) => `${base}/servers/new`, heading: "Add servers" },
  { name: "the settings of a project", path: ({ base }) => `${base}/settings`, heading: "Settings" },
  { name: "who can sign in to a project", path: ({ base }) => `${base}/access`, heading: "Access" },
  { name: "the import", path: () => "/admin/import", heading: "Import" },
  { name: "the export", path: () => "/admin/export", heading: "Export" },
  { name: "the catalog", path: () => "/admin/catalog", heading: "Catalog" },
  { name: "a source of the catalog", path: () => "/admin/catalog/sources/default", heading: "Built-in" },
  { name: "the rows of the catalog", path: () => "/admin/catalog/rows", heading: "Catalog" },
  { name: "duplicates in the catalog", path: () => "/admin/catalog/duplicates", heading: "Catalog" },
  { name: "the import into the catalog", path: () => "/admin/catalog/import", heading: "Import a file" },
  { name: "the use of a template", path: () => "/admin/templates/billing-support/use", heading: "Use Billing support" },
];

for (const { name, path, heading } of pages) {
  placed(`${name}: accessible and within the window`, async ({ page, places }) => {
    placed.slow(); // checks the page in each look
    await inEach(looks, page, async () => {
      expect((await page.goto(path(places)))!.status()).toBe(200);
      await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
      await expectAccessible(page);
    });
  });
}

for (const look of looks) {
  placed.describe(`${look.name}:`, () => {
    placed.use(look.use);
    placed("what follows a form is accessible: the second step of a new server, the plan of an import, an entry of the catalog", async ({ page, gateway, places, upstream }) => {
      placed.slow(); // checks several whole pages
      await page.goto(`${places.base}/servers/new`);
      await page.getByLabel("URL, command or JSON").fill(upstream.url);
      await page.getByRole("button", { name: "Continue" }).click();
      await expect(page.getByLabel("Alias")).toBeVisible();
      await expectAccessible(page);
      await page.getByLabel("Alias").fill("Not An Alias");
      await page.getByRole("button", { name: "Add server" }).click();
      await expect(page.getByRole("alert")).toBeVisible();
      await expectAccessible(page);

      await page.goto("/admin/import");
      const file = { projects: { fresh: { authMode: "none", mcpServers: { every: { url: upstream.url, authBearer: "a-token-of-the-file" } } }, [places.base.split("/").pop()!]: { description: "Other words." } } };
      await page.locator("input[type=file]").setInputFiles({ name: "gateway.json", mimeType: "application/json", buffer: Buffer.from(JSON.stringify(file)) });
      await page.getByLabel("Delete what's missing from the file").check();
      await page.getByRole("button", { name: "Preview changes" }).click();
      await expect(page.getByText("project fresh").first()).toBeVisible();
      await expectAccessible(page);

      const client = await program(gateway);
      const { items } = await (await client.get("/api/registry?limit=1")).json();
      await client.dispose();
      expect((await page.goto(`/admin/catalog/${items[0].id}`))!.status()).toBe(200);
      await expectAccessible(page);
    });
  });
}

for (const { name, path } of pages) {
  placed(`${name}: within the budgets`, async ({ page, places }) => {
    const cost = await loadAndMeasure(page, path(places));
    expect(cost.html).toBeGreaterThan(0);
    expect(cost.html).toBeLessThanOrEqual(60_000);
    expect(cost.css).toBeLessThanOrEqual(12_000);
    expect(cost.js).toBeLessThanOrEqual(26_000);
    expect(cost.requests).toBeLessThanOrEqual(8);
    expect(cost.layoutShift).toBeLessThan(0.02);
  });
}

placed.describe("a viewer", () => {
  placed.use({ as: "viewer" });
  placed("looks at every page and finds nothing to change", async ({ page, places }) => {
    placed.slow(); // opens many pages
    for (const { name, path } of pages) {
      expect.soft((await page.goto(path(places)))!.status(), name).toBe(200);
      const posting = await page.locator('form[method="post" i]').evaluateAll((forms) => forms.map((form) => form.getAttribute("action")));
      expect.soft(posting, name).toEqual(["/logout"]);
    }
  });
});

placed.describe("the rows of lists", () => {
  const cut = (page: Page) =>
    page.locator("main .scroll").evaluateAll((cards) =>
      cards.flatMap((card) => {
        const { left, right } = card.getBoundingClientRect();
        return [...card.querySelectorAll("td, td *")]
          .filter((part) => part.checkVisibility())
          .filter((part) => part.getBoundingClientRect().right > right + 1 || part.getBoundingClientRect().left < left - 1)
          .map((part) => part.outerHTML.slice(0, 120));
      }),
    );

  for (const width of [390, 1200]) {
    placed(`nothing is cut at ${width} pixels`, async ({ page, places }) => {
      await page.setViewportSize({ width, height: 844 });
      await page.goto(`${places.base}/keys/new`);
      await page.getByRole("textbox", { name: "Name" }).fill("Laptop of Ada Lovelace");
      await page.getByRole("button", { name: "Create key" }).click();
      await page.getByRole("button", { name: "Done" }).click();
      for (const path of [`${places.base}/servers`, `${places.base}/keys`, "/admin/catalog", "/admin/audit"]) {
        await page.goto(path);
        await expect(page.locator("main td").first()).toBeAttached();
        expect(await cut(page), path).toEqual([]);
        await expectAccessible(page);
      }
      // The row contains the changed server, and words of the event don't break.
      const row = page.getByRole("row").filter({ hasText: "server.created" }).first();
      await expect(row.getByRole("cell").filter({ hasText: /everything|jira|notion/ })).toBeVisible();
      const lines = await row.getByText("server.created").evaluate((part) => {
        const words = document.createRange();
        words.selectNodeContents(part);
        return words.getClientRects().length;
      });
      expect(lines).toBe(1);
    });
  }
});
