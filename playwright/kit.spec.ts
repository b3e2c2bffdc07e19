import type { Page } from "@playwright/test";

import { expectAccessible } from "./support/accessible.ts";
import { tabThrough } from "./support/focus.ts";
import { loadAndMeasure } from "./support/measure.ts";
import { ofOneWorker, startGateway } from "./support/gateway.ts";
import { expect, test as base } from "./support/test.ts";

const test = base.extend({ gateway: ofOneWorker(() => startGateway({ dev: true })) });

const looks = [
  { name: "light", use: { colorScheme: "light" } },
  { name: "dark", use: { colorScheme: "dark" } },
  { name: "phone", use: { colorScheme: "light", viewport: { width: 390, height: 844 } } },
  { name: "phone-dark", use: { colorScheme: "dark", viewport: { width: 390, height: 844 } } },
] as const;

/** Parts with screenshots of the size of the window, so that another font only moves words. */
const pictured = ["numbers", "servers", "programs", "local-file", "overview", "lists", "messages", "buttons", "forms", "code", "code-mode", "keys", "tools", "trees"];

for (const look of looks) {
  test.describe(look.name, () => {
    test.use(look.use);

    // These two have both colour schemes and both widths.
    if (look.name === "light" || look.name === "phone-dark") {
      test("every component is accessible and fits the window", async ({ page }) => {
        test.slow();
        await page.goto("/kit");
        await expectAccessible(page, { without: "landmark-unique" }); // it shows parts twice
      });

      test("expanded parts and dialogs are accessible", async ({ page }) => {
        test.slow();
        await page.goto("/kit");
        if (look.name.startsWith("phone")) await page.locator(".drawer summary").click();
        await page.locator(".side pop-up.menu summary").click();
        await expectAccessible(page, { part: ".side pop-up.menu" });
        await page.keyboard.press("Escape");
        if (look.name.startsWith("phone")) await page.keyboard.press("Escape");
        await page.locator("summary", { hasText: "Delete project" }).click();
        await expect(page.getByRole("dialog")).toBeVisible();
        await expectAccessible(page, { part: "dialog[open]" });
        await page.keyboard.press("Escape");
        await page.keyboard.press("?");
        await expect(page.getByRole("dialog", { name: "Keyboard" })).toBeVisible();
        await expectAccessible(page, { part: "dialog[open]" });
      });
    }

    if (look.name === "phone-dark") return;
    test("screenshots of parts", async ({ page }) => {
      test.slow();
      await page.goto("/kit");
      for (const part of pictured) {
        await page.locator(`#${part}`).evaluate((element) => element.scrollIntoView());
        await expect.soft(page).toHaveScreenshot(`kit-${part}-${look.name}.png`);
      }
    });
  });
}

test("budgets of styles, scripts and requests", async ({ page }) => {
  const cost = await loadAndMeasure(page, "/kit");
  expect(cost.css).toBeGreaterThan(1_000);
  expect(cost.css).toBeLessThanOrEqual(12_000);
  expect(cost.js).toBeGreaterThan(10_000);
  expect(cost.js).toBeLessThanOrEqual(26_000);
  expect(cost.requests).toBeLessThanOrEqual(8);
  expect(cost.layoutShift).toBeLessThan(0.02);
});

test("visible focus at every tab stop", async ({ page }) => {
  // The page has more tab stops than any other.
  test.slow();
  await page.goto("/kit");
  const stops = await tabThrough(page);
  expect(stops.length).toBeGreaterThan(80);
  expect(stops.filter((stop) => !stop.visible)).toEqual([]);
});

test.describe("copying", () => {
  test("copies the text and shows a confirmation", async ({ page, context }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.goto("/kit");
    await page.getByRole("button", { name: "Copy: Endpoint" }).click();
    await expect(page.locator("#said")).toHaveText("Copied");
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("https://gw.example.com/v1/mcp/acme-dev/request");
  });

  test("selects the text without clipboard access", async ({ page }) => {
    await page.addInitScript(() => {
      navigator.clipboard.writeText = () => Promise.reject(new Error("closed"));
    });
    await page.goto("/kit");
    await page.getByRole("button", { name: "Copy: Endpoint" }).click();
    await expect(page.locator("#said")).toContainText("Selected");
    expect(await page.evaluate(() => String(getSelection()))).toBe("https://gw.example.com/v1/mcp/acme-dev/request");
  });
});

test("color theme changes from system to light to dark, and persists", async ({ page }) => {
  await page.goto("/kit");
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await background();
  const button = page.locator("theme-switch button");
  await expect(button).toHaveAccessibleName("Theme: system");
  await button.click();
  await expect(button).toHaveAccessibleName("Theme: light");
  expect(await background()).toBe(light);
  await button.click();
  await expect(button).toHaveAccessibleName("Theme: dark");
  const dark = await background();
  expect(dark).not.toBe(light);
  await page.reload();
  expect(await background()).toBe(dark);
  await button.click();
  await expect(button).toHaveAccessibleName("Theme: system");
  expect(await background()).toBe(light);
});

test("first paint uses the chosen theme", async ({ page }) => {
  await page.addInitScript(() => {
    localStorage.theme = "dark";
    new PerformanceObserver(() => {
      document.documentElement.dataset.painted ??= getComputedStyle(document.body).backgroundColor;
    }).observe({ type: "paint", buffered: true });
  });
  // The script is slow; the page waits for it instead of flashing.
  await page.route("**/js/app.js", async (route) => {
    const answer = await route.fetch();
    await new Promise((resolve) => setTimeout(resolve, 300));
    await route.fulfill({ response: answer });
  });
  await page.goto("/kit");
  await expect(page.locator("html")).toHaveAttribute("data-painted", "rgb(17, 19, 18)");
});

/** Removes the focus from the field of a sample. */
const blur = (page: Page) => page.evaluate(() => (document.activeElement as HTMLElement).blur());

test.describe("keyboard shortcuts", () => {
  test("search, select and open rows", async ({ page }) => {
    await page.goto("/kit");
    await blur(page);
    await page.keyboard.press("/");
    await expect(page.getByRole("searchbox", { name: "Search tools", exact: true }).first()).toBeFocused();
    await page.keyboard.press("Escape");
    await expect(page.getByRole("searchbox", { name: "Search tools", exact: true }).first()).not.toBeFocused();
    const focused = () => page.evaluate(() => document.activeElement!.textContent!.trim());
    await page.keyboard.press("j");
    const first = await focused();
    await page.keyboard.press("j");
    expect(await focused()).not.toBe(first);
    await page.keyboard.press("k");
    expect(await focused()).toBe(first);
  });

  test("g opens parts of the administration", async ({ page }) => {
    await page.goto("/kit");
    await blur(page);
    for (const [key, address] of [
      ["p", "/admin"],
      ["c", "/registry"],
      ["l", "/admin/audit"],
    ]) {
      await page.evaluate(() =>
        document.addEventListener(
          "click",
          (event) => {
            event.preventDefault();
            document.documentElement.dataset.went = (event.target as Element).closest("a")!.getAttribute("href")!;
          },
          { once: true, capture: true },
        ),
      );
      await page.keyboard.press("g");
      await page.keyboard.press(key);
      await expect(page.locator("html")).toHaveAttribute("data-went", address);
    }
  });

  test("no shortcuts in fields", async ({ page }) => {
    await page.goto("/kit");
    const field = page.getByRole("textbox", { name: "Name", exact: true }).first();
    await field.pressSequentially("g/?jk");
    await expect(field).toHaveValue("g/?jk");
    await expect(page.getByRole("dialog")).toHaveCount(0);
  });
});

test("destructive action requires the name in a dialog", async ({ page }) => {
  await page.goto("/kit");
  await page.locator("summary", { hasText: "Delete project" }).click();
  const dialog = page.getByRole("dialog", { name: "Delete Acme dev?" });
  await expect(dialog).toContainText("3 keys stop working.");
  const field = dialog.getByRole("textbox");
  const valid = () => field.evaluate((input: HTMLInputElement) => input.checkValidity());
  for (const [text, expected] of [
    ["", false],
    ["acme-de", false],
    ["acme-devv", false],
    ["acmexdev", false],
    ["acme-dev", true],
  ] as const) {
    await field.fill(text);
    expect(await valid(), `"${text}"`).toBe(expected);
  }
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await expect(dialog).toBeHidden();
});

test("adding and removing form rows moves the focus", async ({ page }) => {
  await page.goto("/kit");
  const add = page.getByRole("button", { name: "Add a label" });
  const fields = page.getByRole("textbox", { name: "labels" });
  await add.click();
  await expect(fields).toHaveCount(1);
  await expect(fields.first()).toBeFocused();
  await fields.first().fill("one");
  await add.click();
  await fields.nth(1).fill("two");
  await page.locator("[data-row]").filter({ has: fields }).first().getByRole("button", { name: "Remove" }).click();
  await expect(fields).toHaveCount(1);
  await expect(fields.first()).toHaveValue("two");
  await expect(fields.first()).toBeFocused();
});

test.describe("live search", () => {
  test("updates the results and the URL, and keeps the field", async ({ page }) => {
    await page.goto("/kit?cursor=x");
    await page.locator("#results").evaluate((element) => (element.dataset.old = "yes"));
    const field = page.getByRole("searchbox", { name: "Search tools", exact: true }).first();
    await field.pressSequentially("create");
    await expect(page).toHaveURL("/kit?query=create&sort=name");
    await expect(page.locator("#results")).not.toHaveAttribute("data-old");
    await expect(field).toBeFocused();
    await expect(field).toHaveValue("create");
  });

  test("response without results replaces the page", async ({ page }) => {
    await page.goto("/kit");
    await page.route("**/kit?query=*", (route) =>
      route.fulfill({ contentType: "text/html", body: "<!DOCTYPE html><html lang=en><title>Sign in</title><h1>Sign in</h1></html>" }),
    );
    await page.getByRole("searchbox", { name: "Search tools", exact: true }).first().fill("x");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Sign in");
  });
});

test.describe("without JavaScript", () => {
  test.use({ javaScriptEnabled: false });

  test("all content is present, controls that need scripts are hidden", async ({ page }) => {
    await page.goto("/kit");
    await expect(page.getByRole("button", { name: "Copy: Endpoint" })).toBeHidden();
    await expect(page.locator("theme-switch")).toBeHidden();
    await expect(page.getByRole("group", { name: "Endpoint", exact: true })).toBeVisible();
  });

  test("tabs, menus and dialogs expand in place", async ({ page }) => {
    await page.goto("/kit");
    const tabs = page.locator("fieldset.switcher").filter({ has: page.getByRole("radio", { name: "Cursor" }) }).first();
    const snippet = tabs.getByRole("group", { name: "Cursor", exact: true });
    await expect(snippet).toBeHidden();
    await tabs.getByRole("radio", { name: "Cursor" }).check();
    await expect(snippet).toBeVisible();
    await expect(tabs.getByRole("group", { name: "Claude Code", exact: true })).toBeHidden();

    await page.locator(".side pop-up.menu summary").click();
    await expect(page.getByRole("button", { name: "Sign out" })).toBeVisible();

    await page.locator("summary", { hasText: "Delete project" }).click();
    await expect(page.getByRole("textbox", { name: "Type acme-dev to confirm" })).toBeVisible();
    await expect(page.getByRole("button", { name: "Delete project" })).toBeVisible();
  });
});

test("disallowed URL is not a link", async ({ page }) => {
  await page.goto("/kit");
  await expect(page.getByRole("link", { name: "A link that is not allowed" })).toHaveAttribute("href", "about:invalid");
});

test("sign-out form has the CSRF token", async ({ page }) => {
  await page.goto("/kit");
  const form = page.locator('form[action="/logout"]');
  await expect(form).toHaveAttribute("method", "post");
  await expect(form.locator("input[name=csrf]")).toHaveValue("token");
});

test("no inline scripts or styles", async ({ page }) => {
  const answer = await page.goto("/kit");
  const html = await answer!.text();
  expect(html).not.toMatch(/<style|\sstyle=|\son[a-z]+=|javascript:/i);
  const inline = await page.locator("script:not([src])").evaluateAll((scripts) => scripts.map((script) => (script as HTMLScriptElement).type));
  expect(inline).toEqual(["application/ld+json"]);
});
