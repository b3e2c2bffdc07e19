import type { Browser, Page } from "@playwright/test";

import { expectAccessible, inEach, looks } from "../support/accessible.ts";
import { startAppHost, startAppServer, type Running } from "../support/app-host.ts";
import { connect } from "../support/mcp-client.ts";
import { addProject, expect, program, startEmptyGateway, test as base } from "../support/signed-in.ts";
import { startUpstream } from "../support/upstream.ts";

/** An upstream server of each package, a host, and a gateway that accepts the host's origin. */
const test = base.extend<object, { host: Running; monitor: Running; budget: Running }>({
  host: [running(startAppHost), { scope: "worker" }],
  monitor: [running(() => startAppServer("@modelcontextprotocol/server-system-monitor")), { scope: "worker" }],
  budget: [running(() => startAppServer("@modelcontextprotocol/server-budget-allocator")), { scope: "worker" }],
  gateway: [
    async ({ host }, use) => {
      const gateway = await startEmptyGateway({ GATEWAY_ALLOWED_ORIGINS: host.url });
      await use(gateway);
      await gateway.stop();
    },
    { scope: "worker" },
  ],
});

function running(start: () => Promise<Running>) {
  return async ({}, use: (running: Running) => Promise<void>) => {
    const started = await start();
    await use(started);
    await started.stop();
  };
}

interface Shown {
  uri: string;
  mimeType: string;
  html: string;
  refused: { code: number; data: { code: string; fields: { candidates: string[] } } } | null;
}

/** Shows the app of a tool in the host, in a new page. */
async function show(browser: Browser, host: Running, endpoint: string, tool: string, bareName = ""): Promise<{ page: Page; shown: Shown }> {
  const page = await (await browser.newContext()).newPage();
  await page.goto(host.url);
  const shown = await page.evaluate(
    ([endpoint, tool, bareName]) => (globalThis as unknown as { showApp(...args: string[]): Promise<Shown> }).showApp(endpoint!, tool!, bareName!),
    [endpoint, tool, bareName],
  );
  return { page, shown };
}

/** The document of an app, read from its server without the gateway. */
async function direct(server: Running, uri: string): Promise<string> {
  const client = await connect({ url: server.url, headers: {} });
  const { contents } = await client.readResource({ uri });
  await client.close();
  return (contents[0] as { text: string }).text;
}

test("an app of one server updates itself", async ({ browser, gateway, host, monitor, people }) => {
  expect(people.admin.cookies.length).toBeGreaterThan(0);
  await addProject(gateway, "one-app", { mon: monitor.url }, { authMode: "none" });
  const { page, shown } = await show(browser, host, `${gateway.url}/v1/mcp/one-app/request`, "mon__get-system-info");
  expect(shown.mimeType).toBe("text/html;profile=mcp-app");
  expect(shown.html === (await direct(monitor, "ui://system-monitor/mcp-app.html")), "the document is that of the server").toBe(true);

  const app = page.frameLocator("iframe");
  await expect(app.getByRole("button", { name: "Stop" })).toBeVisible(); // it polls
  await expect(app.getByText(/^\d+%$/)).toBeVisible();
  await expect(app.getByText(/^[\d.]+ GB \/ [\d.]+ GB$/)).toBeVisible();
  // The app polls by the bare name; the log has the full one.
  const client = await program(gateway);
  await expect(async () => {
    const { items } = await (await client.get("/api/calls?project=one-app&tool=mon__poll-system-stats&outcome=ok")).json();
    expect(items.length).toBeGreaterThanOrEqual(2);
  }).toPass({ timeout: 20_000 });
  await client.dispose();
});

test("an app without calls shows its result", async ({ browser, gateway, host, budget, people }) => {
  expect(people.admin.cookies.length).toBeGreaterThan(0);
  await addProject(gateway, "budget-app", { money: budget.url }, { authMode: "none" });
  const { page, shown } = await show(browser, host, `${gateway.url}/v1/mcp/budget-app/request`, "money__get-budget-data");
  expect(shown.html === (await direct(budget, "ui://budget-allocator/mcp-app.html")), "the document is that of the server").toBe(true);
  await expect(page.frameLocator("iframe").getByText("Marketing").first()).toBeVisible();
});

test("two servers with the same app", async ({ browser, gateway, host, monitor, people }) => {
  expect(people.admin.cookies.length).toBeGreaterThan(0);
  await addProject(gateway, "two-apps", { left: monitor.url, right: monitor.url }, { authMode: "none" });
  for (const alias of ["left", "right"]) {
    const { page, shown } = await show(browser, host, `${gateway.url}/v1/mcp/two-apps/request`, `${alias}__get-system-info`, "poll-system-stats");
    await expect(page.frameLocator("iframe").getByRole("heading", { name: "System Monitor" })).toBeVisible();
    expect(shown.refused?.code).toBe(-32002);
    expect(shown.refused?.data.code).toBe("TOOL_AMBIGUOUS");
    expect(shown.refused?.data.fields.candidates).toEqual(["left__poll-system-stats", "right__poll-system-stats"]);
  }
});

const appType = "text/html;profile=mcp-app";

/** An app that tries what a preview must not allow, and shows what each attempt led to. */
const attack = `<!doctype html><meta charset="utf-8"><title>Attack</title><h1>Attack</h1><pre></pre><form action="/logout" method="post" target="_top"></form><script>
  const attempts = {
    cookie: () => document.cookie,
    storage: () => localStorage.length,
    parent: () => parent.document.title,
    top: () => { top.location = "https://elsewhere.example/"; },
    relative: () => { top.location.href = "/logout"; },
    popup: () => { if (!open("/admin")) throw new Error("no window"); },
    dialog: () => { if (!confirm("Sign in again")) throw new Error("no dialog"); },
    form: () => { document.forms[0].submit(); throw new Error("not sent"); },
    api: async () => (await fetch("ORIGIN/api/projects", { credentials: "include" })).status,
    elsewhere: async () => (await fetch("https://elsewhere.example/")).status,
    frame: () => new Promise((_, no) => { const f = document.createElement("iframe"); f.src = "ORIGIN/admin"; document.body.append(f); setTimeout(() => no(new Error(f.contentDocument ? "readable" : "no document")), 500); }),
    image: () => new Promise((yes, no) => { const i = new Image(); i.onload = yes; i.onerror = () => no(new Error("blocked")); i.src = "ORIGIN/apple-touch-icon.png"; }),
    evaluation: () => eval("1"),
  };
  (async () => {
    const outcome = { origin: self.origin };
    for (const [name, attempt] of Object.entries(attempts)) {
      try { outcome[name] = "reached " + (await attempt()); } catch (failure) { outcome[name] = "stopped"; }
    }
    document.querySelector("pre").textContent = JSON.stringify(outcome);
  })();
</script>`;

test.describe("preview", () => {
  const harmless = `<!doctype html><title>Chart</title><style>body { font: 16px sans-serif }</style><h1>Sales</h1><p id="now">loading</p><script>document.getElementById("now").textContent = "ready"</script>`;
  const show = { name: "show", inputSchema: { type: "object" }, _meta: { ui: { resourceUri: "ui://attack/view.html" } } };
  const chart = { name: "chart", inputSchema: { type: "object" }, _meta: { ui: { resourceUri: "ui://chart/view.html" } } };
  const plain = { name: "plain", inputSchema: { type: "object" }, _meta: { ui: { resourceUri: "ui://plain/view.html" } } };
  const local = test.extend<object, { slug: string }>({
    slug: [
      async ({ gateway, people }, use) => {
        expect(people.admin.cookies.length).toBeGreaterThan(0);
        const upstream = await startUpstream({
          tools: [show, chart, plain],
          resources: {
            "ui://attack/view.html": {
              mimeType: appType,
              text: attack.replaceAll("ORIGIN", gateway.url),
              _meta: { ui: { csp: { connectDomains: [gateway.url, "*"], resourceDomains: ["http:", "'self'"], frameDomains: [gateway.url] } } },
            },
            "ui://chart/view.html": { mimeType: appType, text: harmless, _meta: { ui: { csp: { connectDomains: ["https://api.example.com"] } } } },
            "ui://plain/view.html": { mimeType: "text/html", text: harmless },
          },
        });
        const slug = `preview-${process.pid}`;
        await addProject(gateway, slug, { up: upstream.url });
        await use(slug);
        await upstream.stop();
      },
      { scope: "worker" },
    ],
  });

  local("shows an app from the page of its tool", async ({ page, slug }) => {
    await page.goto(`/admin/projects/${slug}/tools/up__chart`);
    await page.getByRole("link", { name: "Preview app" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("App preview");
    await expect(page.frameLocator("iframe").getByText("ready")).toBeVisible();
    await expect(page.getByText("Buttons in the app can't call tools here")).toBeVisible();
    await expect(page.getByText("https://api.example.com")).toBeVisible();
    await inEach(looks, page, async () => {
      await page.reload();
      await expect(page.frameLocator("iframe").getByText("ready")).toBeVisible();
      await expectAccessible(page);
    });
  });

  local("works without JavaScript", async ({ browser, gateway, people, slug }) => {
    const context = await browser.newContext({ baseURL: gateway.url, storageState: people.admin, javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(`/admin/projects/${slug}/tools/up__chart`);
    await page.getByRole("link", { name: "Preview app" }).click();
    await expect(page.frameLocator("iframe").getByRole("heading", { name: "Sales" })).toBeVisible();
    await context.close();
  });

  local("stops an attack", async ({ browser, gateway, people, slug }) => {
    const context = await browser.newContext({ baseURL: gateway.url, storageState: people.admin });
    const page = await context.newPage();
    const left: string[] = [];
    page.on("dialog", (dialog) => left.push(dialog.message()));
    page.on("popup", (popup) => left.push(popup.url()));
    const address = `/admin/projects/${slug}/tools/up__show/app`;
    await page.goto(address);
    const outcome = page.frameLocator("iframe").locator("pre");
    await expect(outcome).toContainText("origin");
    const attempts = JSON.parse((await outcome.textContent())!);
    expect(attempts).toEqual({ origin: "null", ...Object.fromEntries(Object.keys(attempts).slice(1).map((name) => [name, "stopped"])) });
    expect(Object.keys(attempts)).toHaveLength(14);
    expect(left).toEqual([]);
    expect(new URL(page.url()).pathname).toBe(address);
    // The session is still good.
    expect((await page.goto(`/admin/projects/${slug}`))?.status()).toBe(200);
    await context.close();
  });

  local("opens the document only in a frame", async ({ page, slug }) => {
    await page.goto(`/admin/projects/${slug}/tools/up__chart/app/frame`);
    await expect(page).toHaveURL(`/admin/projects/${slug}/tools/up__chart/app`);
  });

  local("refuses a resource of another type", async ({ page, slug }) => {
    await page.goto(`/admin/projects/${slug}/tools/up__plain/app`);
    await expect(page.getByText("The resource is not an app")).toBeVisible();
    await expect(page.locator("iframe")).toHaveCount(0);
  });
});
