import { expectAccessible, inEach, looks } from "../support/accessible.ts";
import { addProject, expect, test } from "../support/signed-in.ts";

let made = 0;

test("toolset is created with a preview, and deleted with a confirmation", async ({ page, gateway }) => {
  const slug = `toolsets-${process.pid}-${++made}`;
  await addProject(gateway, slug, {});
  let clicks = 0;
  const click = async (role: "link" | "button", name: string) => {
    clicks++;
    await page.getByRole(role, { name }).first().click();
  };
  await page.goto(`/admin/projects/${slug}`);
  await click("link", "Toolsets");
  await expect(page.getByText("No toolsets yet")).toBeVisible();
  await expectAccessible(page);
  await click("link", "New toolset");
  const query = page.getByRole("textbox", { name: "Query" });
  await page.getByRole("textbox", { name: "Name" }).fill("Reader");
  await query.fill("srver:x");
  await expect(page.getByText("Fix the error to see the tools.")).toBeVisible();
  await query.fill("readonly:true");
  await expect(page.getByText("This is what the server says of its tools.")).toBeVisible();
  await expect(page.getByRole("heading", { name: "0 of 0 tools" })).toBeVisible();
  await click("button", "Create toolset");
  await expect(page.getByRole("heading", { level: 1, name: "Reader" })).toBeVisible();
  await expect(page.getByText(`/v1/mcp/${slug}/toolsets/reader/request`).first()).toBeVisible();
  expect(clicks).toBe(3); // beside typing the name and the query

  const toolset = new URL(page.url()).pathname;
  await inEach(looks, page, async () => {
    for (const path of [toolset, `${toolset}/edit`, `/admin/projects/${slug}/toolsets`]) {
      await page.goto(path);
      await expectAccessible(page);
    }
  });
  await page.goto(toolset);
  await page.getByText("Delete…").click();
  await expect(page.getByText("Its endpoint stops working right away.")).toBeVisible();
  await page.getByRole("button", { name: "Delete toolset" }).click();
  await expect(page.getByText("Toolset reader deleted.")).toBeVisible();
  await expect(page.getByText("No toolsets yet")).toBeVisible();
});

test("form works without JavaScript", async ({ browser, gateway, page }) => {
  const slug = `toolsets-${process.pid}-${++made}`;
  await addProject(gateway, slug, {});
  const plain = await browser.newContext({ javaScriptEnabled: false, baseURL: gateway.url, storageState: await page.context().storageState() });
  const form = await plain.newPage();
  await form.goto(`/admin/projects/${slug}/toolsets/new`);
  await form.getByRole("textbox", { name: "Query" }).fill("readonly:true");
  await form.getByRole("button", { name: "Preview" }).click();
  await expect(form.getByText("This is what the server says of its tools.")).toBeVisible();
  await expect(form.getByRole("textbox", { name: "Query" })).toHaveValue("readonly:true");
  await form.getByRole("textbox", { name: "Name" }).fill("Reader");
  await form.getByRole("button", { name: "Create toolset" }).click();
  await expect(form.getByRole("heading", { level: 1, name: "Reader" })).toBeVisible();
  await plain.close();
});
