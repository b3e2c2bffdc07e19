import type { Page } from "@playwright/test";

import { expectAccessible, inEach, looks } from "../support/accessible.ts";
import { addPerson, addProject, expect, pageOf, send, signIn, test } from "../support/signed-in.ts";

const password = "several quiet words here";
const day = 24 * 60 * 60 * 1000;

/** Returns the link that the open page shows once. */
const linkOf = async (page: Page, path: string) => (await page.getByText(`/${path}/`).first().innerText()).trim();

/** Loads the paths in each look and checks them. */
const checkAll = (page: Page, ...paths: string[]) =>
  inEach(looks, page, async () => {
    for (const path of paths) {
      await page.goto(path);
      await expectAccessible(page);
    }
  });

test("an invite link lets a person choose a password and join", async ({ page, browser, gateway }) => {
  test.slow(); // checks the pages in each look
  await checkAll(page, "/admin/people", "/admin/people/invite");
  await page.getByRole("textbox", { name: "Email" }).fill("grace@example.com");
  await page.getByRole("radio", { name: "Member" }).check();
  await page.getByRole("button", { name: "Create invite link" }).click();
  await expect(page.getByRole("button", { name: "Done" })).toBeVisible();
  await expectAccessible(page);
  const link = await linkOf(page, "invite");

  const person = await pageOf(browser, gateway, { cookies: [], origins: [] });
  await checkAll(person, link);
  await person.getByRole("textbox", { name: "Name" }).fill("Grace");
  await person.getByLabel("Password", { exact: true }).fill(password);
  await person.getByLabel("Repeat password").fill(password);
  await person.getByRole("button", { name: "Join" }).click();
  await expect(person).toHaveURL("/me");
  await person.goto(link);
  await expect(person.getByRole("heading", { name: "This link was already used" })).toBeVisible();
  await expectAccessible(person);
  await person.context().close();
});

test("a reset link replaces the password and ends the sessions", async ({ page, browser, gateway }) => {
  test.slow(); // checks the pages in each look
  const who = { email: "rita@example.com", name: "Rita", password: "the forgotten words here" };
  const id = await addPerson(gateway, who, "member");
  const old = await pageOf(browser, gateway, await signIn(gateway, who));
  await checkAll(page, `/admin/people/${id}`);
  await page.getByRole("button", { name: "Create reset link" }).click();
  await expect(page.getByRole("button", { name: "Done" })).toBeVisible();
  await expectAccessible(page);
  const link = await linkOf(page, "reset");
  await old.goto("/me");
  await expect(old).toHaveURL("/me"); // the link alone changes nothing

  const person = await pageOf(browser, gateway, { cookies: [], origins: [] });
  await checkAll(person, link);
  await person.getByLabel("New password").fill(password);
  await person.getByLabel("Repeat password").fill("other");
  await person.getByRole("button", { name: "Set password" }).click();
  await expect(person.getByRole("alert")).toContainText("Passwords don't match.");
  await expectAccessible(person);
  await person.getByLabel("New password").fill(password);
  await person.getByLabel("Repeat password").fill(password);
  await person.getByRole("button", { name: "Set password" }).click();
  await expect(person.getByText("Password changed. Sign in with it.")).toBeVisible();
  await old.goto("/me");
  await expect(old).toHaveURL(/\/login/);
  await signIn(gateway, { ...who, password });
  await person.goto(link);
  await expect(person.getByRole("heading", { name: "This link was already used" })).toBeVisible();
  await old.context().close();
  await person.context().close();
});

test("a firing alert is in a banner and on its page", async ({ page, gateway }) => {
  test.slow(); // the rules are evaluated every 30 seconds
  await addProject(gateway, "alerting", {});
  await page.goto("/admin/alerts");
  await expect(page.getByText("No alerts")).toBeVisible();
  const { id } = await send(gateway, "POST", "/api/projects/alerting/keys", { name: "Nightly import", expiresAt: new Date(Date.now() + 7 * day + 2000).toISOString() });
  await checkAll(page, "/admin/alerts");

  const rule = page.locator("form", { has: page.locator("#disk_low-mebibytes") });
  await rule.getByLabel("Free space below (MiB)").fill("20");
  await rule.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved. It applies within 30 seconds.")).toBeVisible();
  await expect(page.locator("#disk_low-mebibytes")).toHaveValue("20");

  const link = page.getByRole("link", { name: "Show alerts" });
  await expect(async () => {
    await page.goto("/admin/people");
    await expect(link).toBeVisible({ timeout: 500 });
  }).toPass({ timeout: 60_000 });
  await expect(page.getByText("1 alert: Key expires soon (Nightly import).")).toBeVisible();
  await checkAll(page, "/admin/people");
  await link.click();
  await expect(page).toHaveURL("/admin/alerts");
  await expect(link).toHaveCount(0); // the page has the list
  await checkAll(page, "/admin/alerts");
  await page.getByRole("link", { name: "Key expires soon: Nightly import" }).click();
  await expect(page).toHaveURL(`/admin/projects/alerting/keys/${id}`);
});
