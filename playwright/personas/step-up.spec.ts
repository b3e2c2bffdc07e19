import { execFile } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import type { Page } from "@playwright/test";

import { expectAccessible } from "../support/accessible.ts";
import { type Gateway, ofOneWorker } from "../support/gateway.ts";
import { addProject, ada, expect, pageOf, signIn, startEmptyGateway, test as base } from "../support/signed-in.ts";
import { startUpstream } from "../support/upstream.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

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

/** Sets every user's last authentication to an hour ago. */
const anHourLater = (gateway: Gateway) => growOld(gateway, "1h");

/** Expires every session. */
const aDayLater = (gateway: Gateway) => growOld(gateway, "24h");

async function growOld(gateway: Gateway, age: string): Promise<void> {
  const database = `sqlite:${path.join(gateway.folder, "data", "gateway.db")}`;
  await promisify(execFile)(process.env.GO ?? "go", ["run", "./models/modelstest/oldsessions", database, age], { cwd: root, timeout: 120_000 });
}

/** Confirms the password in the dialog or on the page. */
async function confirm(page: Page): Promise<void> {
  await page.getByLabel(`Password of ${ada.email}`).fill(ada.password);
  await page.getByRole("button", { name: "Confirm", exact: true }).click();
}

test("old session confirms in place and sends the form", async ({ page, gateway }) => {
  test.slow(); // builds a program
  await addProject(gateway, "careful", {});
  await page.goto("/admin/projects/careful/keys/new");
  await page.getByRole("textbox", { name: "Name" }).fill("CI");
  await page.getByLabel("Expires").selectOption("30");
  await anHourLater(gateway);
  await page.getByRole("button", { name: "Create key" }).click();

  const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
  await expect(dialog).toContainText("You're about to create a key. Nothing you typed is lost.");
  await expectAccessible(page);
  await dialog.getByRole("link", { name: "Cancel" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole("textbox", { name: "Name" })).toHaveValue("CI");

  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByLabel(`Password of ${ada.email}`).fill("not the password");
  await page.getByRole("button", { name: "Confirm", exact: true }).click();
  await expect(page.getByText("Incorrect password.")).toBeVisible();
  await confirm(page);
  await expect(page.getByText(/gwk_[0-9A-Za-z]{36}/).first()).toBeVisible();
  await page.goto("/admin/projects/careful/keys");
  await expect(page.getByRole("row", { name: /CI/ })).toHaveCount(1);

  // The confirmation also applies to dialogs on the page.
  await page.getByRole("link", { name: "CI" }).click();
  await page.locator("summary", { hasText: "Revoke" }).click();
  await page.getByRole("button", { name: "Revoke" }).click();
  await expect(page.getByRole("status")).toContainText("Key revoked.");
});

test("form in a dialog confirms in place", async ({ page, gateway }) => {
  test.slow(); // builds a program
  await addProject(gateway, "above", {});
  await page.goto("/admin/projects/above/keys/new");
  await page.getByRole("textbox", { name: "Name" }).fill("Old");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("button", { name: "Done" }).click();
  await page.getByRole("link", { name: "Old" }).click();
  await page.locator("summary", { hasText: "Rotate" }).click();
  await expect(page.getByLabel("Old key")).toHaveValue("0s");
  await anHourLater(gateway);
  await page.getByRole("button", { name: "Rotate" }).click();
  await confirm(page);
  await expect(page.getByText("The old key no longer works.")).toBeVisible();
});

test.describe("without scripts", () => {
  test("outdated form is sent after the confirmation", async ({ browser, gateway, people }) => {
    test.slow(); // builds a program
    expect(people.admin.cookies).not.toEqual([]);
    const context = await browser.newContext({ baseURL: gateway.url, storageState: await signIn(gateway, ada), javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto("/admin/people/new");
    await page.getByRole("textbox", { name: "Email" }).fill("late@example.com");
    await page.getByLabel("First password").fill("late and quiet words here");
    await anHourLater(gateway);
    await page.getByRole("button", { name: "Add person" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Confirm it's you");
    await confirm(page);
    await expect(page.getByRole("status")).toHaveText("late@example.com added.");

    // An expired session requires a full sign-in.
    await page.goto("/admin/people/new");
    await page.getByRole("textbox", { name: "Email" }).fill("later@example.com");
    await page.getByLabel("First password").fill("later and quiet words here");
    await aDayLater(gateway);
    await page.getByRole("button", { name: "Add person" }).click();
    await expect(page.getByText("Your session ended")).toBeVisible();
    await page.getByRole("textbox", { name: "Email" }).fill(ada.email);
    await page.getByLabel("Password").fill(ada.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await expect(page.getByRole("status")).toHaveText("later@example.com added.");
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
  await expect(page.locator("#result pre").first()).toHaveText('{"text":"not lost"}');
  await expect(page.getByRole("textbox", { name: "text" })).toHaveValue("not lost");
  await upstream.stop();
});
