import type { Page } from "@playwright/test";

import { addOAuthProject, listen, requestAccess, roamingPage, type Listener } from "../support/oauth-client.ts";
import { ada, expect, signIn, test } from "../support/signed-in.ts";

let added: Promise<void> | undefined;
test.beforeEach(({ gateway, people }) => (added ??= people && addOAuthProject(gateway, "sealed")));

let client: Listener;
test.beforeEach(async () => {
  client = await listen();
});
test.afterEach(() => client.stop());

/** Returns the hidden fields of the consent form and the field that allows access. */
async function formOf(page: Page): Promise<Record<string, string>> {
  const fields = await page.locator("form[action='/oauth/authorize'] input[type=hidden]").evaluateAll((inputs) => inputs.map((input) => [(input as HTMLInputElement).name, (input as HTMLInputElement).value]));
  expect(fields.map(([name]) => name).sort()).toEqual(["csrf", "request"]);
  return { ...Object.fromEntries(fields), decision: "allow" };
}

/** Posts a form from a script of the page and returns the status and the redirect. */
function post(page: Page, form: Record<string, string>): Promise<number> {
  return page.evaluate(async (fields) => (await fetch("/oauth/authorize", { method: "POST", body: new URLSearchParams(fields), redirect: "manual" })).status, form);
}

test("consent requires the CSRF token", async ({ page, gateway }) => {
  const request = await requestAccess(gateway, "sealed", client.redirect);
  await page.goto(request.url);
  const form = await formOf(page);
  const { csrf: _, ...without } = form;
  for (const wrong of [without, { ...form, csrf: "" }, { ...form, csrf: form.csrf.slice(1) }, { ...form, csrf: "A".repeat(form.csrf.length) }]) {
    const answer = await page.request.post("/oauth/authorize", { form: wrong, headers: { "Sec-Fetch-Site": "same-origin" }, maxRedirects: 0 });
    expect(answer.status()).toBe(403);
  }
  expect(client.answers).toEqual([]);
  // With the token it is accepted, so the rest of the form was valid.
  const good = await page.request.post("/oauth/authorize", { form, headers: { "Sec-Fetch-Site": "same-origin" }, maxRedirects: 0 });
  expect(good.status()).toBe(303);
  expect(good.headers()["location"]).toContain(`${client.redirect}?`);
});

for (const [name, host] of [
  ["another port of this computer", "127.0.0.1"],
  ["another site", "localhost"],
]) {
  test(`a page of ${name} can't consent, even with all fields`, async ({ browser, gateway, people }) => {
    const request = await requestAccess(gateway, "sealed", client.redirect);
    const { page } = await roamingPage(browser, gateway, people.admin);
    await page.goto(request.url);
    const fields = Object.entries(await formOf(page)).map(([field, value]) => `<input type="hidden" name="${field}" value="${value}">`);
    client.page = `<!doctype html><title>Lure</title><form method="post" action="${gateway.url}/oauth/authorize">${fields.join("")}<button>Win a prize</button></form>`;
    await page.goto(client.origin.replace("127.0.0.1", host));
    const answered = page.waitForResponse((response) => response.request().method() === "POST");
    await page.getByRole("button", { name: "Win a prize" }).click();
    const response = await answered;
    // Browsers only send the session from the same site. Without it
    // the response at most redirects to the sign-in.
    if (host === "127.0.0.1") expect(response.status()).toBe(403);
    else expect([403, 303]).toContain(response.status());
    expect(response.headers()["location"] ?? "/login").toMatch(/^\/login/);
    expect(client.answers).toEqual([]);
    await page.context().close();
  });
}

test("another session of the same user can't consent", async ({ browser, gateway, page }) => {
  const request = await requestAccess(gateway, "sealed", client.redirect);
  await page.goto(request.url);
  const form = await formOf(page);

  const { page: other } = await roamingPage(browser, gateway, await signIn(gateway, ada));
  await other.goto((await requestAccess(gateway, "sealed", client.redirect)).url);
  const own = await formOf(other);
  expect(own.csrf).not.toBe(form.csrf);
  expect(await post(other, { ...own, request: form.request })).toBe(403);
  expect(client.answers).toEqual([]);
  await other.context().close();
});

test("another user can't consent", async ({ browser, gateway, people, page }) => {
  const request = await requestAccess(gateway, "sealed", client.redirect);
  await page.goto(request.url);
  const form = await formOf(page);
  const { page: other } = await roamingPage(browser, gateway, people.viewer);
  await other.goto((await requestAccess(gateway, "sealed", client.redirect)).url);
  const own = await formOf(other);
  expect(await post(other, { ...own, request: form.request })).toBe(403);
  const changed = await other.request.post("/oauth/authorize", { form: { ...own, request: own.request.slice(0, -4) + "AAAA" }, headers: { "Sec-Fetch-Site": "same-origin" }, maxRedirects: 0 });
  expect(changed.status()).toBe(403);
  expect(client.answers).toEqual([]);
  await other.context().close();
});
