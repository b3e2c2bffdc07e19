import { createHash } from "node:crypto";

import type { Browser, Page } from "@playwright/test";

import { expectAccessible, looks } from "../support/accessible.ts";
import type { Gateway } from "../support/gateway.ts";
import { loadAndMeasure } from "../support/measure.ts";
import { agree, startOAuthUpstream, stayHere, type OAuthUpstream } from "../support/oauth-upstream.ts";
import { freePort } from "../support/port.ts";
import { expect, pageOf, program, setUp, startEmptyGateway, test } from "../support/signed-in.ts";

/** Minimum duration of calls while tokens with a lifetime of 5 s are refreshed. */
const seconds = Number(process.env.CONNECTION_SECONDS ?? "12");
/** Minimum number of calls and tokens; a busy machine needs longer for them. */
const [fewestCalls, fewestTokens] = [51, Math.floor(seconds / 5)];

/** Adds a project without access control and with OAuth servers; returns the servers' ids. */
async function addServers(gateway: Gateway, slug: string, servers: Record<string, string>): Promise<string[]> {
  const client = await program(gateway);
  const project = await client.post("/api/projects", { data: { projectSlug: slug, name: `Project ${slug}`, authMode: "none" } });
  expect(project.status(), await project.text()).toBe(201);
  const ids: string[] = [];
  for (const [alias, url] of Object.entries(servers)) {
    const answer = await client.post(`/api/projects/${slug}/servers`, { data: { alias, url, authType: "oauth" } });
    expect(answer.status(), await answer.text()).toBe(201);
    ids.push((await answer.json()).id);
  }
  await client.dispose();
  return ids;
}

/** Sends a JSON-RPC request to the project and returns its response. */
async function ask(gateway: Gateway, slug: string, method: string, params: object = {}): Promise<any> {
  const answer = await fetch(`${gateway.url}/v1/mcp/${slug}/request`, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return answer.json();
}

/** An administrator's browser on a separate gateway. It also opens the provider's pages. */
async function alone(browser: Browser, work: (gateway: Gateway, page: Page) => Promise<void>): Promise<void> {
  const gateway = await startEmptyGateway();
  try {
    const page = await pageOf(browser, gateway, await setUp(gateway));
    await stayHere(page);
    await work(gateway, page);
    await page.context().close();
  } finally {
    await gateway.stop();
  }
}

test("connecting, refreshing and disconnecting a server", async ({ browser }) => {
  test.setTimeout((seconds + 120) * 1000);
  const upstream = await startOAuthUpstream({ ttl: 5 });
  try {
    await alone(browser, async (gateway, page) => {
      const [id] = await addServers(gateway, "dev", { notes: upstream.url });

      // A search for tools reports that some are missing, with the reason.
      const before = (await ask(gateway, "dev", "tools/list")).result;
      expect(before._meta["gateway/coverage"]).toMatchObject({ kind: "partial", unavailable: [{ server: "notes" }] });
      await page.goto("/admin/connections");
      const banner = page.getByRole("complementary", { name: "Notices" });
      await expect(banner).toContainText("notes needs to be connected.");
      await banner.getByRole("link", { name: "Connect", exact: true }).click();
      await page.waitForURL((url) => url.origin === upstream.issuer, { waitUntil: "domcontentloaded" });
      await agree(page, gateway.url);
      await expect(page).toHaveURL(`/admin/connections/${id}`);
      await expect(page.locator(".toast")).toContainText("Connected.");
      await expect(page.getByRole("main")).toContainText("The issuer supports dynamic registration.");
      await expect(page.getByText("needs to be connected")).toBeHidden();

      const listed = async () => (await ask(gateway, "dev", "tools/list")).result;
      await expect.poll(async () => (await listed()).tools.map((tool: { name: string }) => tool.name)).toContain("notes__echo");
      expect((await listed())._meta).toBeUndefined();

      let calls = 0;
      const failures: string[] = [];
      const begun = Date.now();
      const enough = () => Date.now() - begun >= seconds * 1000 && calls >= fewestCalls && upstream.tokens.size >= fewestTokens;
      for (; failures.length === 0 && !enough(); calls++) {
        const answer = await ask(gateway, "dev", "tools/call", { name: "notes__echo", arguments: { text: `call ${calls}` } });
        if (answer.result?.content?.[0]?.text !== `call ${calls}`) failures.push(JSON.stringify(answer));
        await page.waitForTimeout(50);
      }
      expect(failures).toEqual([]);
      const figures = `${calls} calls in ${Math.round((Date.now() - begun) / 1000)} s with ${upstream.tokens.size} tokens, 0 failed`;
      test.info().annotations.push({ type: "figures", description: figures });
      console.log(figures);

      await page.goto(`/admin/connections/${id}`);
      await page.locator("summary", { hasText: "Disconnect" }).click();
      await expect(page.getByText("Calls to its 1 tool fail until someone reconnects it.")).toBeVisible();
      await page.getByRole("button", { name: "Disconnect" }).click();
      await expect(page.locator(".toast")).toHaveText("Disconnected. Its tokens are revoked.");
      const refused = await ask(gateway, "dev", "tools/call", { name: "notes__echo", arguments: { text: "x" } });
      expect(refused.error.data.code).toBe("UPSTREAM_UNAUTHORIZED");
      const after = (await listed())._meta["gateway/coverage"];
      expect(after.warnings).toMatchObject([{ code: "SERVER_NEEDS_CONNECTION" }]);
    });
  } finally {
    await upstream.stop();
  }
});

test("entered client without dynamic registration", async ({ browser }) => {
  await alone(browser, async (gateway, page) => {
    const port = await freePort();
    const issuer = `http://127.0.0.1:${port}`;
    const redirect = `${gateway.url}/oauth/callback/${createHash("sha256").update(issuer).digest("hex").slice(0, 32)}`;
    const client = { client_id: "given", client_secret: "sesame-open", redirect_uris: [redirect], grant_types: ["authorization_code", "refresh_token"] };
    const upstream = await startOAuthUpstream({ registers: false, port, clients: [client] });
    try {
      const [id] = await addServers(gateway, "dev", { notes: upstream.url });
      await page.goto(`/admin/connections/${id}`);
      await page.getByRole("main").getByRole("link", { name: "Connect", exact: true }).click();
      await expect(page).toHaveURL(`/admin/connections/${id}`);
      await expect(page.getByRole("main")).toContainText("The issuer doesn't support dynamic registration.");
      await expect(page.getByRole("main")).toContainText("No static client was entered.");
      await expect(page.getByRole("group", { name: "Redirect URL", exact: true })).toHaveText(redirect);

      await page.getByLabel("Client ID").fill("given");
      await page.getByLabel("Scopes").fill("s".repeat(300));
      await page.getByLabel("Client secret").fill("sesame-open");
      await page.getByRole("button", { name: "Save client" }).click();
      await expect(page.getByRole("alert").first()).toBeVisible();
      await expect(page.getByLabel("Client ID")).toHaveValue("given");
      await expect(page.getByLabel("Client secret")).toHaveValue("");
      await page.getByLabel("Client ID").fill("given");
      await page.getByLabel("Scopes").fill("mcp:read");
      await page.getByLabel("Client secret").fill("sesame-open");
      await page.getByRole("button", { name: "Save client" }).click();
      await expect(page.locator(".toast")).toContainText("Client saved.");
      await expect(page.getByLabel("Client ID")).toHaveValue("given");
      await expect(page.getByLabel("Client secret")).toHaveValue("");
      expect(await page.content()).not.toContain("sesame-open");

      await page.locator(".toast").getByRole("link", { name: "Connect", exact: true }).click();
      await page.waitForURL((url) => url.origin === issuer, { waitUntil: "domcontentloaded" });
      await agree(page, gateway.url);
      await expect(page.locator(".toast")).toContainText("Connected.");
      await expect(page.getByRole("main")).toContainText("A client you entered.");
    } finally {
      await upstream.stop();
    }
  });
});

test("declined authorization shows a message and connects nothing", async ({ browser }) => {
  const upstream = await startOAuthUpstream();
  try {
    await alone(browser, async (gateway, page) => {
      const [id] = await addServers(gateway, "dev", { notes: upstream.url });
      await page.goto(`/admin/connections/${id}/start`);
      await page.getByRole("link", { name: "Continue" }).click({ noWaitAfter: true });
      await page.waitForURL((url) => url.origin !== gateway.url, { waitUntil: "domcontentloaded" });
      await page.getByRole("link", { name: /cancel/i }).click();
      await expect(page).toHaveURL(`/admin/connections/${id}`);
      await expect(page.locator(".toast")).toContainText("access_denied");
      await expect(page.getByRole("main")).toContainText("Not connected");
    });
  } finally {
    await upstream.stop();
  }
});

test("callback of another browser connects nothing", async ({ browser }) => {
  await alone(browser, async (gateway, page) => {
    await page.goto("/oauth/callback/0123456789abcdef?state=somebody-elses&code=x");
    await expect(page).toHaveURL("/admin/connections");
    await expect(page.locator(".toast")).toContainText("unknown, was already used or took longer than 10 minutes");
    const stranger = await browser.newContext({ baseURL: gateway.url });
    const other = await stranger.newPage();
    await other.goto("/oauth/callback/0123456789abcdef?state=s&code=x");
    await expect(other).toHaveURL("/login?next=%2Fadmin%2Fconnections");
    await stranger.close();
  });
});

test("empty state without OAuth servers", async ({ browser }) => {
  await alone(browser, async (_, page) => {
    await page.goto("/admin/connections");
    await expect(page.getByRole("main")).toContainText("No connections yet");
    await page.getByRole("link", { name: "Go to projects" }).click();
    await expect(page).toHaveURL("/admin");
  });
});

test.describe("connection pages", () => {
  let upstream: OAuthUpstream;
  let ids: string[] = [];
  test.beforeAll(async () => {
    upstream = await startOAuthUpstream({ registers: false });
  });
  test.afterAll(() => upstream.stop());

  /** Servers in several states: rejected, failed and never tried. */
  test.beforeEach(async ({ gateway, people, browser }) => {
    if (ids.length > 0) return;
    ids = await addServers(gateway, "looks", { calendar: upstream.url, "issue-tracker": "http://127.0.0.1:9/mcp", notes: `${upstream.url}?of=notes` });
    const page = await pageOf(browser, gateway, people.admin);
    for (const id of ids.slice(0, 2)) {
      await page.goto(`/admin/connections/${id}/start`);
      await page.getByRole("link", { name: "Continue" }).click();
      await page.waitForURL(`/admin/connections/${id}`);
    }
    await page.context().close();
  });

  for (const look of looks) {
    test.describe(look.name, () => {
      test.use(look.use);
      test("are accessible and fit the window", async ({ page }) => {
        for (const path of ["/admin/connections", `/admin/connections/${ids[0]}`]) {
          await page.goto(path);
          await expect(page.getByRole("heading", { level: 1 })).toHaveCount(1);
          await expectAccessible(page);
          if (process.env.LOOK) await page.screenshot({ path: `${process.env.LOOK}/connection${path.endsWith("connections") ? "s" : ""}-${look.name.replaceAll(" ", "-")}.png`, fullPage: true });
        }
      });
    });
  }

  test("budgets", async ({ page }) => {
    for (const path of ["/admin/connections", `/admin/connections/${ids[0]}`]) {
      const cost = await loadAndMeasure(page, path);
      expect(cost.html).toBeGreaterThan(0);
      expect(cost.html).toBeLessThanOrEqual(60_000);
      expect(cost.requests).toBeLessThanOrEqual(8);
      expect(cost.layoutShift).toBeLessThan(0.02);
    }
  });

  test("search by text and state", async ({ page }) => {
    await page.goto("/admin/connections?query=issue");
    await expect(page.getByRole("row")).toHaveCount(2); // including the heading
    await expect(page.getByRole("link", { name: "issue-tracker", exact: true })).toBeVisible();
    await page.goto("/admin/connections");
    await page.getByRole("link", { name: /^Client rejected/ }).click();
    await expect(page).toHaveURL("/admin/connections?state=registration_rejected");
    await expect(page.getByRole("row")).toHaveCount(2);
    await page.goto("/admin/connections?query=nothing-like-this");
    await page.getByRole("link", { name: "Clear filters" }).click();
    await expect(page.getByRole("row")).toHaveCount(4);
  });

  test.describe("for a viewer", () => {
    test.use({ as: "viewer" });
    test("no controls", async ({ page }) => {
      await page.goto("/admin/connections");
      await expect(page.getByRole("row")).toHaveCount(4);
      await expect(page.getByRole("main").getByRole("link", { name: /^(Connect|Reconnect)\b/ })).toHaveCount(0);
      await page.goto(`/admin/connections/${ids[0]}`);
      await expect(page.getByRole("main").locator("form")).toHaveCount(0);
      await expect(page.getByRole("main").getByRole("link", { name: /^(Connect|Reconnect)$/ })).toHaveCount(0);
      const start = await page.request.get(`/admin/connections/${ids[0]}/start`, { maxRedirects: 0 });
      expect(start.status()).toBe(403);
    });
  });
});
