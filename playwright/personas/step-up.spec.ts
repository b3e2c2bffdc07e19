import { execFile } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import AxeBuilder from "@axe-core/playwright";

import { type Gateway, ofOneWorker } from "../support/gateway.ts";
import { addProject, ada, expect, pageOf, signIn, startEmptyGateway, test as base } from "../support/signed-in.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

// The sessions of everybody grow old here, and those that prove themselves are
// renewed: other tests get another gateway, and each of these its own session.
const test = base.extend<object, object>({
  gateway: ofOneWorker(() => startEmptyGateway()),
  page: async ({ browser, gateway, people }, use) => {
    expect(people.admin.cookies).not.toEqual([]); // there is an administrator
    const page = await pageOf(browser, gateway, await signIn(gateway, ada));
    await use(page);
    await page.context().close();
  },
});

/** Makes everybody's last proof of who they are an hour old. */
async function anHourLater(gateway: Gateway): Promise<void> {
  const database = `sqlite:${path.join(gateway.folder, "data", "gateway.db")}`;
  await promisify(execFile)(process.env.GO ?? "go", ["run", "./models/modelstest/oldsessions", database], { cwd: root, timeout: 120_000 });
}

test("who signed in long ago proves who they are before a key is made", async ({ page, gateway }) => {
  test.slow(); // it builds a program
  await addProject(gateway, "careful", {});
  await page.goto("/admin/projects/careful/keys");
  await anHourLater(gateway);

  // What only shows or changes less goes on without.
  await page.reload();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("careful");
  await page.getByRole("link", { name: "Confirm", exact: true }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Confirm who you are");
  expect((await new AxeBuilder({ page }).analyze()).violations.map(({ id }) => id)).toEqual([]);

  await page.getByLabel(`Password of ${ada.email}`).fill("not the password");
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page.getByText("This is not your password.")).toBeVisible();
  await page.getByLabel(`Password of ${ada.email}`).fill(ada.password);
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page).toHaveURL(/\/admin\/projects\/careful\/keys/);

  await page.getByRole("textbox", { name: "Name" }).fill("CI");
  await page.getByRole("button", { name: "Create key" }).click();
  await expect(page.getByText(/gwk_[0-9A-Za-z]{36}/).first()).toBeVisible();
});

test("a form that was open for too long asks who it is and changes nothing", async ({ page, gateway }) => {
  test.slow(); // it builds a program
  await page.goto("/admin/people/new");
  await page.getByRole("textbox", { name: "E-mail" }).fill("late@example.com");
  await page.getByLabel("First password").fill("late and quiet words here");
  await anHourLater(gateway);
  await page.getByRole("button", { name: "Add person" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Confirm who you are");
  await page.getByLabel(`Password of ${ada.email}`).fill(ada.password);
  await page.getByRole("button", { name: "Confirm" }).click();
  await expect(page.getByRole("heading", { level: 1 })).not.toHaveText("Confirm who you are");
  await page.goto("/admin/people");
  await expect(page.getByText("late@example.com")).toHaveCount(0);
});
