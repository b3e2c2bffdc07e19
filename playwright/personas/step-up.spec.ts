import type { Page } from "@playwright/test";

import { expectAccessible } from "../support/accessible.ts";
import { type Gateway, ofOneWorker } from "../support/gateway.ts";
import { growOld } from "../support/old-sessions.ts";
import { addProject, ada, expect, pageOf, signIn, startEmptyGateway, test as base } from "../support/signed-in.ts";
import { startUpstream } from "../support/upstream.ts";

// These tests make all sessions old, and renew those that confirm the
// password. Other tests use another gateway; each of these has its own session.
const test = base.extend<object, object>({
  gateway: ofOneWorker(() => startEmptyGateway()),
  page: async ({ browser, gateway, people }, use) => {
    expect(people.admin.cookies).not.toEqual([]); // there is an administrator
    const page = await pageOf(browser, gateway, await signIn(gateway, ada));
    await use(page);
    await page.context().close();
  },
});

/** Expires the confirmation of every session. */
const anHourLater = (gateway: Gateway) => growOld(gateway, "61m");

/** Expires every session. */
const aDayLater = (gateway: Gateway) => growOld(gateway, "24h");

/** Enters the password in the dialog or on the page. */
async function confirm(page: Page, button: string | RegExp): Promise<void> {
  await page.getByLabel(`Password for ${ada.email}`).fill(ada.password);
  await page.getByRole("button", { name: button }).click();
}

/** Fills the form that invites a user. */
async function fillInvite(page: Page, email: string): Promise<void> {
  await page.goto("/admin/people/invite");
  await page.getByRole("textbox", { name: "Email" }).fill(email);
  await page.getByRole("textbox", { name: "Name" }).fill("Grace Hopper");
  await page.getByRole("radio", { name: "Member" }).check();
}

/** Checks that the form still has what fillInvite entered. */
async function expectInvite(page: Page, email: string): Promise<void> {
  await expect(page.getByRole("textbox", { name: "Email" })).toHaveValue(email);
  await expect(page.getByRole("textbox", { name: "Name" })).toHaveValue("Grace Hopper");
  await expect(page.getByRole("radio", { name: "Member" })).toBeChecked();
}

const create = (page: Page) => page.getByRole("button", { name: "Create invite link" }).click();

test("nobody is asked while active", async ({ page, gateway }) => {
  test.slow(); // builds a program
  for (let i = 1; i <= 5; i++) {
    await fillInvite(page, `active-${i}@example.com`);
    await growOld(gateway, "15m");
    await create(page);
    await expect(page.getByRole("main").getByRole("status")).toContainText(`active-${i}@example.com invited.`);
  }
});

test("old session confirms in place and sends the form", async ({ page, gateway }) => {
  test.slow(); // builds a program
  await fillInvite(page, "late@example.com");
  await anHourLater(gateway);
  await create(page);

  const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
  await expect(dialog).toContainText("You're about to invite late@example.com. Nothing you typed is lost.");
  await expectAccessible(page);
  await dialog.getByRole("link", { name: "Cancel" }).click();
  await expect(dialog).toHaveCount(0);
  await expectInvite(page, "late@example.com");

  await create(page);
  await page.getByLabel(`Password for ${ada.email}`).fill("not the password");
  await page.getByRole("button", { name: "Confirm and invite" }).click();
  await expect(page.getByText("That password isn't right. Try again.")).toBeVisible();
  await confirm(page, "Confirm and invite");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Grace Hopper");
  await expect(page.getByRole("group", { name: "Invite link" })).toContainText("/invite/");
  await page.goto("/admin/people?query=late@");
  await expect(page.getByRole("row", { name: /late@example.com/ })).toHaveCount(1);
});

test("form in a dialog confirms in place", async ({ page, gateway }) => {
  test.slow(); // builds a program
  await fillInvite(page, "above@example.com");
  await create(page);
  await page.locator("summary", { hasText: "Delete" }).click();
  await page.getByRole("textbox", { name: /to confirm/ }).fill("above@example.com");
  await anHourLater(gateway);
  await page.getByRole("button", { name: "Delete person" }).click();
  await confirm(page, "Confirm and delete");
  await expect(page.getByRole("main").getByRole("status")).toContainText("above@example.com deleted.");
});

test.describe("without scripts", () => {
  test("outdated form is sent after the confirmation, and filled after a sign-in", async ({ browser, gateway, people }) => {
    test.slow(); // builds a program
    expect(people.admin.cookies).not.toEqual([]);
    const context = await browser.newContext({ baseURL: gateway.url, storageState: await signIn(gateway, ada), javaScriptEnabled: false });
    const page = await context.newPage();
    await fillInvite(page, "plain@example.com");
    await anHourLater(gateway);
    await create(page);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Confirm it's you");
    await confirm(page, "Confirm and invite");
    await expect(page.getByRole("main").getByRole("status")).toContainText("plain@example.com invited.");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Grace Hopper");

    // An expired session requires a full sign-in. Nothing is sent before the user does so.
    await fillInvite(page, "later@example.com");
    await aDayLater(gateway);
    await create(page);
    await expect(page.getByText("Your session ended")).toBeVisible();
    await page.getByRole("textbox", { name: "Email" }).fill(ada.email);
    await page.getByLabel("Password").fill(ada.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Invite");
    await expect(page.getByText("Nothing was sent yet")).toBeVisible();
    await expectInvite(page, "later@example.com");
    await create(page);
    await expect(page.getByRole("main").getByRole("status")).toContainText("later@example.com invited.");
    await context.close();
  });
});

test("Playground keeps the input when the session expires", async ({ page, gateway }) => {
  test.slow(); // builds a program
  const upstream = await startUpstream({ tools: [{ name: "say", description: "Says it.", inputSchema: { type: "object", properties: { text: { type: "string" } } } }] });
  await addProject(gateway, "played", { up: upstream.url });
  await page.goto("/admin/projects/played/tools/up__say");
  await page.getByRole("textbox", { name: "text" }).fill("not lost");
  await aDayLater(gateway);
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByText("Your session ended")).toBeVisible();
  await page.getByRole("textbox", { name: "Email" }).fill(ada.email);
  await page.getByLabel("Password").fill(ada.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
  await expect(page.getByText("Nothing was sent yet")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "text" })).toHaveValue("not lost");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.locator("#result pre").first()).toHaveText('{"text":"not lost"}');
  await upstream.stop();
});
