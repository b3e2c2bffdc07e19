import { expectAccessible, looks } from "../support/accessible.ts";
import { addOAuthProject, listen, listTools, redeem, requestAccess, roamingPage, type Listener, type Request } from "../support/oauth-client.ts";
import { loadAndMeasure } from "../support/measure.ts";
import { expect, pageOf, setUp, startEmptyGateway, test, type State } from "../support/signed-in.ts";
import type { Gateway } from "../support/gateway.ts";
import type { Browser } from "@playwright/test";

/** Authorizes a client and returns its token. */
async function letIn(browser: Browser, gateway: Gateway, state: State, client: Listener, name: string, slug = "notes"): Promise<string> {
  const request: Request = await requestAccess(gateway, slug, client.redirect, name);
  const { page } = await roamingPage(browser, gateway, state);
  await page.goto(request.url);
  await page.getByRole("button", { name: "Allow" }).click();
  await expect(page.getByText("You may close this window.")).toBeVisible();
  await page.context().close();
  return redeem(gateway, request, client.answers.at(-1)!);
}

test("users list and revoke their authorized clients", async ({ browser }) => {
  const [gateway, client] = await Promise.all([startEmptyGateway(), listen()]);
  try {
    const state = await setUp(gateway);
    await addOAuthProject(gateway, "notes");
    const page = await pageOf(browser, gateway, state);
    await page.goto("/me/apps");
    await expect(page.getByRole("main")).toContainText("No apps yet");

    const notebook = await letIn(browser, gateway, state, client, "Notebook");
    const editor = await letIn(browser, gateway, state, client, "Editor");
    expect([await listTools(gateway, "notes", notebook), await listTools(gateway, "notes", editor)]).toEqual([200, 200]);

    await page.reload();
    const apps = page.getByRole("main").locator(".list > li");
    await expect(apps).toHaveCount(2);
    const row = apps.filter({ hasText: "Notebook" });
    await expect(row).toContainText("Project notes");
    await expect(row).toContainText("Sees and calls tools");
    await row.locator("summary", { hasText: "Remove" }).click();
    await expect(page.getByText("It's signed out right away and must ask again.").locator("visible=true")).toHaveCount(1);
    await page.getByRole("button", { name: "Remove" }).locator("visible=true").click();
    await expect(page.getByRole("main").getByRole("status")).toHaveText("App removed.");
    await expect(apps).toHaveCount(1);
    await expect(row).toHaveCount(0);
    expect([await listTools(gateway, "notes", notebook), await listTools(gateway, "notes", editor)]).toEqual([401, 200]);
    await page.context().close();
  } finally {
    client.stop();
    await gateway.stop();
  }
});

test.describe("list of clients", () => {
  let token = "";
  test.beforeEach(async ({ browser, gateway, people }) => {
    if (token) return;
    await addOAuthProject(gateway, "shared");
    const client = await listen();
    token = await letIn(browser, gateway, people.viewer, client, "Sketchpad", "shared");
    client.stop();
  });

  test("only the user's own clients", async ({ page, browser, gateway, people }) => {
    await page.goto("/me/apps");
    await expect(page.getByRole("main")).not.toContainText("Sketchpad");
    const viewers = await pageOf(browser, gateway, people.viewer);
    await viewers.goto("/me/apps");
    await expect(viewers.getByRole("main")).toContainText("Sketchpad");
    const action = await viewers.locator("form[action*='/revoke']").first().getAttribute("action");
    await viewers.context().close();
    const csrf = await page.locator("input[name=csrf]").first().getAttribute("value");
    const answer = await page.request.post(action!, { form: { csrf: csrf! }, headers: { "Sec-Fetch-Site": "same-origin" }, maxRedirects: 0 });
    expect(answer.status()).toBe(404);
    expect(await listTools(gateway, "shared", token)).toBe(200);
  });

  for (const look of looks) {
    test.describe(look.name, () => {
      test.use({ ...look.use, as: "viewer" });
      test("is accessible and fits the window and its budgets", async ({ page }) => {
        const cost = await loadAndMeasure(page, "/me/apps");
        expect(cost.html).toBeLessThanOrEqual(60_000);
        expect(cost.requests).toBeLessThanOrEqual(8);
        expect(cost.layoutShift).toBeLessThan(0.02);
        await page.goto("/me/apps");
        await expect(page.getByRole("main").locator(".list > li")).toHaveCount(1);
        await expectAccessible(page);
        if (process.env.LOOK) await page.screenshot({ path: `${process.env.LOOK}/grants-${look.name.replaceAll(" ", "-")}.png`, fullPage: true });
      });
    });
  }
});
