import type { Page } from "@playwright/test";

import { ofOneWorker, startGateway } from "./support/gateway.ts";
import { adminToken, expect, setUp, test as base } from "./support/signed-in.ts";

/** An administrator of a gateway with the demo project. */
const test = base.extend({
  gateway: ofOneWorker(() => startGateway({ env: { GATEWAY_ADMIN_TOKEN: adminToken } })),
  people: [async ({ gateway }, use) => {
    const admin = await setUp(gateway);
    await use({ admin, viewer: admin });
  }, { scope: "worker" }],
});

const code = `const zones = ["Europe/Berlin", "Asia/Tokyo", "America/New_York"];
const times = await Promise.all(zones.map((zone) => clock.current_time({ zone })));
const title = await text.change_case({ text: "here and there", case: "upper" });
console.log("asked for", times.length, "times");
return { title, zones };`;

interface Picture {
  file: string;
  use: { colorScheme: "light" | "dark"; viewport?: { width: number; height: number } };
  open(page: Page): Promise<void>;
}

// The README shows these screenshots. UPDATE_SCREENSHOTS=1 replaces them.
const pictures: Picture[] = [
  {
    file: "admin-servers-light",
    use: { colorScheme: "light" },
    open: async (page) => {
      await page.goto("/admin/projects/demo/servers");
      await expect(page.getByRole("row")).toHaveCount(3);
    },
  },
  {
    file: "admin-playground-light",
    use: { colorScheme: "light" },
    open: async (page) => {
      await page.goto("/admin/projects/demo/tools/clock__days_between");
      await page.getByRole("textbox", { name: "start" }).fill("2026-01-01");
      await page.getByRole("textbox", { name: "end" }).fill("2026-03-01");
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await expect(page.locator("#result")).toContainText("59");
      await page.evaluate(() => scrollTo(0, 0));
    },
  },
  {
    file: "admin-code-dark",
    use: { colorScheme: "dark" },
    open: async (page) => {
      await page.goto("/admin/projects/demo/code-mode/run");
      await page.getByRole("textbox", { name: "Code" }).fill(code);
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await expect(page.getByRole("group", { name: "Result", exact: true })).toContainText("HERE AND THERE");
      await page.locator("#outcome").evaluate((outcome) => outcome.scrollIntoView());
    },
  },
];

/** Replaces text that differs between runs: ports, ids, times and durations. */
async function settle(page: Page) {
  await page.evaluate(() => {
    const texts = document.createTreeWalker(document.querySelector("main")!, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode as Text;
      text.data = text.data
        .replace(/127\.0\.0\.1:\d+/g, "127.0.0.1:8081")
        .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "01234567-89ab-4cde-8f01-23456789abcd")
        .replace(/\b[\d,]+( ?)ms\b/g, "2$1ms")
        .replace(/\b[\d.]+ MiB\b/g, "28 MiB");
    }
  });
}

for (const { file, use, open } of pictures) {
  test.describe(file, () => {
    test.use(use);
    test("screenshot", async ({ page }) => {
      await open(page);
      await settle(page);
      await expect(page).toHaveScreenshot(`${file}.png`);
    });
  });
}
