import { addProject, expect, test } from "../support/signed-in.ts";

let made = 0;

/** Creates an empty project and returns the path of its keys page. */
async function keysOf(gateway: Parameters<typeof addProject>[0]): Promise<string> {
  const slug = `keys-${process.pid}-${++made}`;
  await addProject(gateway, slug, {});
  return `/admin/projects/${slug}/keys`;
}

// B02: a key is shown once, in a response that is not cached.
test("key is shown once, later pages show its prefix", async ({ page, gateway }) => {
  const keys = await keysOf(gateway);
  await page.goto(keys);
  await page.getByRole("textbox", { name: "Name" }).fill("Laptop");
  const [answer] = await Promise.all([
    page.waitForResponse((response) => response.url().includes(`${keys}/`) && response.request().method() === "GET"),
    page.getByRole("button", { name: "Create key" }).click(),
  ]);
  expect(answer.headers()["cache-control"]).toBe("no-store");
  await expect(page.getByRole("link", { name: "Done" })).toBeVisible();
  const key = /gwk_[\w-]{20,}/.exec(await page.getByRole("main").innerText())![0];

  // Reloading the page doesn't create a second key.
  await page.reload();
  await expect(page.getByText("This key was shown once")).toBeVisible();
  await expect(page.getByRole("main")).not.toContainText(key);
  const shown = new URL(page.url()).pathname;
  await page.getByRole("link", { name: "Back to keys" }).click();
  await expect(page).toHaveURL(keys);
  await expect(page.getByRole("row", { name: /Laptop/ })).toHaveCount(1);
  for (const path of [keys, shown, `${keys}?ended=1`, "/admin/audit", keys.replace("/keys", "")]) {
    const html = await (await page.request.get(path)).text();
    expect(html, path).not.toContain(key);
    expect(html, path).not.toContain(key.slice(0, 12));
  }
  await expect(page.getByRole("main")).toContainText(key.slice(0, 8));
});

test("rotating and revoking a key", async ({ page, gateway }) => {
  const keys = await keysOf(gateway);
  await page.goto(keys);
  await page.getByRole("textbox", { name: "Name" }).fill("Laptop");
  await page.getByRole("button", { name: "Create key" }).click();
  await page.getByRole("link", { name: "Done" }).click();

  await page.locator("summary", { hasText: "Rotate" }).click();
  await expect(page.getByLabel("Old key")).toHaveValue("0s");
  await page.getByLabel("Old key").selectOption("1h");
  await page.getByRole("button", { name: "Rotate" }).click();
  await expect(page.getByText(/The old key works until/)).toBeVisible();
  await page.getByRole("link", { name: "Done" }).click();
  await expect(page.getByRole("row", { name: /Laptop/ })).toHaveCount(2);

  await page.locator("summary", { hasText: "Revoke" }).first().click();
  await expect(page.getByText("Clients using this key are rejected right away.").first()).toBeVisible();
  await page.getByRole("button", { name: "Revoke" }).first().click();
  await expect(page.getByRole("status")).toContainText("Key revoked.");
  await expect(page.getByRole("row", { name: /Laptop/ })).toHaveCount(1);
  await page.getByRole("link", { name: /expired key/ }).click();
  await expect(page.getByRole("row", { name: /Revoked/ })).toHaveCount(1);
});

test("key without a name is rejected and the choices are kept", async ({ page, gateway }) => {
  await page.goto(await keysOf(gateway));
  await page.getByRole("textbox", { name: "Name" }).fill("   ");
  await page.getByLabel("Expires").selectOption("never");
  await page.getByRole("button", { name: "Create key" }).click();
  await expect(page.getByText("Enter a name.").first()).toBeVisible();
  await expect(page.getByLabel("Expires")).toHaveValue("never");
});
