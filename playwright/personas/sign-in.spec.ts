import { expectAccessible } from "../support/accessible.ts";
import { ada, expect, pageOf, setUp, signIn, startEmptyGateway, test, vera } from "../support/signed-in.ts";
import type { Gateway } from "../support/gateway.ts";
import type { Browser } from "@playwright/test";

test.describe("visitor", () => {
  test.use({ as: "nobody" });

  test("setup of the first administrator, once", async ({ page: _, browser }) => {
    const gateway = await startEmptyGateway();
    const context = await browser.newContext({ baseURL: gateway.url });
    try {
      const page = await context.newPage();
      await page.goto("/login");
      await expect(page).toHaveURL("/setup");
      await expect(page.getByRole("textbox", { name: "Setup code" })).toBeVisible();

      await page.goto(gateway.setupURL);
      await expect(page.getByRole("textbox", { name: "Setup code" })).toBeHidden();
      await page.getByRole("textbox", { name: "Email" }).fill(ada.email);
      await page.getByRole("textbox", { name: "Name" }).fill(ada.name);
      const create = async (password: string, again: string) => {
        await page.getByLabel("Password", { exact: true }).fill(password);
        await page.getByLabel("Repeat password").fill(again);
        await page.getByRole("button", { name: "Create account" }).click();
      };
      await create(ada.password, "something else entirely");
      await expect(page.getByText("Passwords don't match.").first()).toBeVisible();
      await expect(page.getByRole("textbox", { name: "Email" })).toHaveValue(ada.email);
      await page.getByRole("checkbox", { name: "Add a demo project" }).check();
      await create("short", "short");
      await expect(page.getByText("Use at least 12 characters.").first()).toBeVisible();
      await expect(page.getByRole("checkbox", { name: "Add a demo project" })).toBeChecked();
      await create(ada.password, ada.password);
      await expect(page).toHaveURL("/admin/projects/demo");
      await expect(page.getByText("The demo project is ready")).toBeVisible();
      await page.getByRole("link", { name: /^Tools/ }).first().click();
      await expect(page.getByRole("link", { name: "clock__current_time" })).toBeVisible();
      expect((await page.request.get("/setup")).status(), "setup is complete").toBe(404);
    } finally {
      await context.close();
      await gateway.stop();
    }
  });

  test("wrong password shows one message, correct password signs in", async ({ page }) => {
    await page.goto("/login?next=/me/account");
    await page.getByRole("textbox", { name: "Email" }).fill(ada.email);
    await page.getByLabel("Password").fill("not the password at all");
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("alert")).toHaveText("Incorrect email or password.");
    await expect(page.getByRole("textbox", { name: "Email" })).toHaveValue(ada.email);
    await expect(page.getByLabel("Password")).toHaveValue("");
    await page.getByLabel("Password").fill(ada.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page).toHaveURL("/me/account");
  });

  test("sign-in doesn't redirect to other sites", async ({ page }) => {
    await page.goto("/login?next=https://elsewhere.example/");
    await page.getByRole("textbox", { name: "Email" }).fill(vera.email);
    await page.getByLabel("Password").fill(vera.password);
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page).toHaveURL("/admin");
  });

  test("administration pages redirect to the sign-in and back", async ({ page }) => {
    for (const path of ["/admin", "/admin/people", "/admin/people/invite", "/admin/audit", "/admin/settings", "/me/account", "/admin/projects/x/tools", "/admin/projects/x/keys"]) {
      const answer = await page.request.get(path, { maxRedirects: 0 });
      expect(answer.status(), path).toBe(303);
      expect(answer.headers().location, path).toBe(`/login?next=${encodeURIComponent(path)}`);
    }
  });
});

test("sign-out ends the session", async ({ page, gateway, context, as, people }) => {
  expect([as, people.admin.cookies.length > 0]).toEqual(["admin", true]);
  // A separate session, because the worker's other tests continue to use theirs.
  await context.clearCookies();
  await page.goto("/login?next=/me/account");
  await page.getByRole("textbox", { name: "Email" }).fill(ada.email);
  await page.getByLabel("Password").fill(ada.password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page).toHaveURL("/me/account");
  const cookies = await context.cookies();
  await page.locator(".side-end summary").click();
  await page.locator(".side-end").getByRole("button", { name: "Sign out" }).click();
  await expect(page).toHaveURL("/login");
  await expect(page.getByRole("main").getByRole("status")).toHaveText("You're signed out.");
  await context.addCookies(cookies);
  await page.goto(`${gateway.url}/me/account`);
  await expect(page).toHaveURL("/login?next=%2Fme%2Faccount");
});

/** Invites a member and returns the link. */
async function invite(gateway: Gateway, email: string, browser: Browser): Promise<string> {
  const page = await pageOf(browser, gateway, await signIn(gateway, ada));
  await page.goto("/admin/people/invite");
  await page.getByRole("textbox", { name: "Email" }).fill(email);
  await page.getByRole("radio", { name: "Member" }).check();
  await page.getByRole("button", { name: "Create invite link" }).click();
  const link = await page.getByRole("group", { name: "Invite link" }).textContent();
  await page.context().close();
  return link!.trim();
}

test("invite link works once", async ({ browser }) => {
  const gateway = await startEmptyGateway();
  await setUp(gateway);
  const link = await invite(gateway, "mia@example.com", browser);
  const context = await browser.newContext({ baseURL: gateway.url, storageState: undefined });
  try {
    const page = await context.newPage();
    await page.goto(link);
    await expect(page.getByRole("main")).toContainText("mia@example.com");
    await page.getByRole("textbox", { name: "Name" }).fill("Mia");
    await page.getByLabel("Password", { exact: true }).fill(vera.password);
    await page.getByLabel("Repeat password").fill(vera.password);
    await page.getByRole("button", { name: "Join" }).click();
    await expect(page).toHaveURL("/me");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("My projects");
    await expect(page.getByRole("navigation", { name: "Yours" })).toContainText("Account");
    const again = await page.goto(link);
    expect(again!.status()).toBe(410);
  } finally {
    await context.close();
    await gateway.stop();
  }
});

test("signing out another browser", async ({ browser }) => {
  const gateway = await startEmptyGateway();
  const mine = await browser.newContext({ baseURL: gateway.url, storageState: await setUp(gateway) });
  const other = await browser.newContext({ baseURL: gateway.url, storageState: undefined });
  try {
    const [page, forgotten] = [await mine.newPage(), await other.newPage()];
    await forgotten.goto("/login");
    await forgotten.getByRole("textbox", { name: "Email" }).fill(ada.email);
    await forgotten.getByLabel("Password").fill(ada.password);
    await forgotten.getByRole("button", { name: "Sign in" }).click();
    await expect(forgotten).toHaveURL("/admin");
    await page.goto("/me/account");
    await page.getByRole("row", { name: /Chrome/ }).getByRole("button", { name: "Sign out" }).click();
    await expect(page.getByRole("main").getByRole("status")).toHaveText("Session ended.");
    await forgotten.reload();
    await expect(forgotten).toHaveURL(/\/login/);
    await page.reload();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Account");
  } finally {
    await Promise.all([mine.close(), other.close()]);
    await gateway.stop();
  }
});

for (const look of [
  { name: "in light", colorScheme: "light", width: 1280 },
  { name: "in dark", colorScheme: "dark", width: 1280 },
  { name: "on a phone", colorScheme: "light", width: 390 },
] as const) {
  test(`${look.name} pages before the sign-in are accessible and fit the window`, async ({ page: _, browser }) => {
    const gateway = await startEmptyGateway();
    const context = await browser.newContext({
      baseURL: gateway.url, colorScheme: look.colorScheme, viewport: { width: look.width, height: 844 }, reducedMotion: "reduce",
    });
    try {
      const page = await context.newPage();
      const check = async (path: string, heading: RegExp) => {
        await page.goto(path);
        await expect(page.getByRole("heading", { level: 1 }), path).toHaveText(heading);
        await expectAccessible(page);
      };
      await check("/setup", /admin account/);
      await check(gateway.setupURL, /admin account/);
      await setUp(gateway);
      await check("/login", /Sign in/);
      const invited = await invite(gateway, `${look.width}-${look.colorScheme}@example.com`, browser);
      await check(invited, /Join Gateway/);
      await check("/invite/unknown", /This link doesn.t work/);
    } finally {
      await context.close();
      await gateway.stop();
    }
  });
}
