import { expectAccessible, looks } from "../support/accessible.ts";
import { loadAndMeasure } from "../support/measure.ts";
import { addOAuthProject, beginAgain, listen, listTools, redeem, requestAccess, roamingPage, type Listener } from "../support/oauth-client.ts";
import { ada, expect, test } from "../support/signed-in.ts";

let added: Promise<void> | undefined;
test.beforeEach(({ gateway, people }) => (added ??= people && addOAuthProject(gateway, "notes")));

let client: Listener;
test.beforeEach(async () => {
  client = await listen();
});
test.afterEach(() => client.stop());

test("local program gets a working token", async ({ browser, gateway, people }) => {
  const request = await requestAccess(gateway, "notes", client.redirect);
  const { page, violations } = await roamingPage(browser, gateway, people.admin);
  const answer = await page.goto(request.url);
  const headers = answer!.headers();
  expect(headers["content-security-policy"]).toMatch(new RegExp(`form-action 'self' ${client.origin}(;|$)`));
  expect(headers["content-security-policy"]).toContain("frame-ancestors 'none'");
  expect(headers["cache-control"]).toBe("no-store");

  const main = page.getByRole("main");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Allow Notebook to use Project notes?");
  for (const said of ["Unverified app (self-registered)", request.clientID, new URL(client.redirect).host, "Project notes", "0 tools", "See and search tools", "Call tools", ada.email]) {
    await expect(main).toContainText(said);
  }
  await expect(main).toContainText("Any app on this computer could ask.");

  await page.getByRole("button", { name: "Allow" }).click();
  await expect(page.getByText("You may close this window.")).toBeVisible();
  expect(violations).toEqual([]);
  expect(client.answers).toHaveLength(1);
  const token = await redeem(gateway, request, client.answers[0]);
  expect(await listTools(gateway, "notes", token)).toBe(200);

  // The same client needs consent again.
  await page.goto(beginAgain(gateway, "notes", request.clientID, client.redirect).url);
  await expect(page.getByRole("button", { name: "Allow" })).toBeVisible();
  expect(client.answers).toHaveLength(1);
  await page.context().close();
});

test("browser blocks a redirect that the policy doesn't allow", async ({ browser, gateway, people }) => {
  const request = await requestAccess(gateway, "notes", client.redirect);
  const { page, violations } = await roamingPage(browser, gateway, people.admin);
  await page.route(request.url, async (route) => {
    const response = await route.fetch();
    const headers = { ...response.headers() };
    headers["content-security-policy"] = headers["content-security-policy"].replace(` ${client.origin}`, "");
    await route.fulfill({ response, headers });
  });
  await page.goto(request.url);
  await page.getByRole("button", { name: "Allow" }).click();
  await expect.poll(() => violations.length).toBeGreaterThan(0);
  expect(client.answers).toEqual([]);
  await page.context().close();
});

test("editor with a custom URL scheme is authorized", async ({ browser, gateway, people }) => {
  const redirect = "cursor://anysphere.cursor-mcp/oauth/callback";
  const request = await requestAccess(gateway, "notes", redirect, "Cursor");
  const { page, violations } = await roamingPage(browser, gateway, people.admin);
  const shown = await page.goto(request.url);
  expect(shown!.headers()["content-security-policy"]).toMatch(/form-action 'self' cursor:(;|$)/);
  await expect(page.getByRole("main")).toContainText("cursor://anysphere.cursor-mcp");
  await expect(page.getByRole("main")).toContainText("Redirects to an app on this computer");

  // The browser passes the URL to the system, which has no Cursor here.
  const handed = page.waitForEvent("request", (asked) => asked.url().startsWith("cursor:")).catch(() => null);
  const answered = page.waitForResponse((response) => response.request().method() === "POST");
  await page.getByRole("button", { name: "Allow" }).click();
  const response = await answered;
  expect(response.status()).toBe(303);
  const answer = new URL(response.headers()["location"]);
  expect(answer.href.startsWith(`${redirect}?`)).toBe(true);
  expect(await Promise.race([handed.then((asked) => asked?.url().startsWith("cursor:") ?? false), page.waitForTimeout(1000).then(() => "no request is told of")])).toBeTruthy();
  expect(violations).toEqual([]);
  const token = await redeem(gateway, request, answer);
  expect(await listTools(gateway, "notes", token)).toBe(200);
  await page.context().close();
});

test("denied consent redirects to the client", async ({ browser, gateway, people }) => {
  const request = await requestAccess(gateway, "notes", client.redirect);
  const { page, violations } = await roamingPage(browser, gateway, people.admin);
  await page.goto(request.url);
  await page.getByRole("button", { name: "Deny" }).click();
  await expect(page.getByText("You may close this window.")).toBeVisible();
  const said = client.answers[0].searchParams;
  expect(Object.fromEntries(said)).toMatchObject({ error: "access_denied", state: request.state, iss: gateway.url });
  expect(said.has("code")).toBe(false);
  expect(violations).toEqual([]);
  await page.context().close();
});

test("sign-in before the consent", async ({ browser, gateway, people }) => {
  expect(people.admin.cookies.length).toBeGreaterThan(0);
  const request = await requestAccess(gateway, "notes", client.redirect);
  const { page, violations } = await roamingPage(browser, gateway, { cookies: [], origins: [] });
  await page.goto(request.url);
  await expect(page).toHaveURL(/\/login\?next=/);
  await page.getByRole("textbox", { name: "Email" }).fill(ada.email);
  await page.getByLabel("Password").fill(ada.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("button", { name: "Allow" }).click();
  await expect(page.getByText("You may close this window.")).toBeVisible();
  await redeem(gateway, request, client.answers[0]);
  expect(violations).toEqual([]);
  await page.context().close();
});

test.describe("without JavaScript", () => {
  test("client is authorized", async ({ browser, gateway, people }) => {
    const request = await requestAccess(gateway, "notes", client.redirect);
    const context = await browser.newContext({ baseURL: gateway.url, storageState: people.admin, javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(request.url);
    await page.getByRole("button", { name: "Allow" }).click();
    await expect(page.getByText("You may close this window.")).toBeVisible();
    await redeem(gateway, request, client.answers[0]);
    await context.close();
  });
});

test("consent page can't be framed by another origin", async ({ browser, gateway, people }) => {
  const request = await requestAccess(gateway, "notes", client.redirect);
  const { page } = await roamingPage(browser, gateway, people.admin);
  client.page = `<!doctype html><title>Lure</title><iframe src="${request.url.replaceAll("&", "&amp;")}" width="800" height="600"></iframe>`;
  const framed = page.waitForResponse((response) => response.url() === request.url);
  await page.goto(client.origin, { waitUntil: "load" });
  expect((await framed).status()).toBeGreaterThanOrEqual(200);
  await expect(page.frameLocator("iframe").getByRole("button", { name: "Allow" })).toHaveCount(0);
  await page.context().close();
});

test("unknown client shows an error without a redirect", async ({ page, gateway }) => {
  const request = beginAgain(gateway, "notes", "nobody-knows-me", client.redirect);
  const answer = await page.goto(request.url);
  expect(answer!.status()).toBe(400);
  await expect(page.getByRole("main")).toContainText(answer!.headers()["x-request-id"]);
  expect(client.answers).toEqual([]);
});

for (const look of looks) {
  test.describe(look.name, () => {
    test.use(look.use);
    test("page is accessible and fits the window", async ({ page, gateway }) => {
      const request = await requestAccess(gateway, "notes", client.redirect);
      await page.goto(request.url);
      await expect(page.getByRole("heading", { level: 1 })).toHaveCount(1);
      await expectAccessible(page);
      if (process.env.LOOK) await page.screenshot({ path: `${process.env.LOOK}/consent-${look.name.replaceAll(" ", "-")}.png`, fullPage: true });
    });
  });
}

test("budgets of the page", async ({ page, gateway }) => {
  const request = await requestAccess(gateway, "notes", client.redirect);
  const cost = await loadAndMeasure(page, request.url);
  expect(cost.html).toBeGreaterThan(0);
  expect(cost.html).toBeLessThanOrEqual(60_000);
  expect(cost.requests).toBeLessThanOrEqual(8);
  expect(cost.layoutShift).toBeLessThan(0.02);
});
