import type { Page } from "@playwright/test";

import { furnish, type World } from "./support/catalog-world.ts";
import { expect, pageOf, test as base } from "./support/signed-in.ts";

const test = base.extend<object, { world: World }>({
  world: [
    async ({ gateway, people }, use) => {
      expect(people.admin.cookies).not.toEqual([]);
      const world = await furnish(gateway);
      await use(world);
      await world.site.stop();
    },
    { scope: "worker" },
  ],
});

// One world for the file.
test.describe.configure({ mode: "default" });

const phone = { width: 390, height: 844 };

interface Picture {
  file: string;
  path: (world: World) => string;
  use: { colorScheme: "light" | "dark"; viewport?: { width: number; height: number } };
  /** Whether the member opens it. */
  member?: boolean;
  /** What to do before the screenshot. */
  then?: (page: Page) => Promise<void>;
}

// Tests compare the pages with the screenshots in screenshots/.
// UPDATE_SCREENSHOTS=1 replaces them.
const pictures: Picture[] = [
  { file: "catalog-editors-light", path: () => "/admin/catalog/views", use: { colorScheme: "light" } },
  { file: "catalog-editors-phone", path: () => "/admin/catalog/views", use: { colorScheme: "light", viewport: phone } },
  { file: "catalog-list-dark", path: () => "/admin/catalog/views/engineering", use: { colorScheme: "dark" } },
  { file: "catalog-requests-light", path: () => "/admin/catalog/requests", use: { colorScheme: "light" } },
  { file: "catalog-sources-phone", path: () => "/admin/catalog", use: { colorScheme: "light", viewport: phone } },
  { file: "catalog-source-dark", path: ({ source }) => `/admin/catalog/sources/${source}`, use: { colorScheme: "dark" } },
  {
    file: "catalog-rows-light", path: () => "/admin/catalog/rows?query=publisher:example", use: { colorScheme: "light" },
    then: (page) => page.getByRole("checkbox", { name: "Select example/orders", exact: true }).check(),
  },
  { file: "catalog-entry-phone", path: ({ row }) => `/admin/catalog/${row}`, use: { colorScheme: "light", viewport: phone } },
  { file: "catalog-duplicates-dark", path: () => "/admin/catalog/duplicates", use: { colorScheme: "dark" } },
  { file: "catalog-own-light", path: () => "/registry/localhost/support", use: { colorScheme: "light" }, member: true },
  { file: "catalog-closest-light", path: () => "/registry?query=posgres&works=1", use: { colorScheme: "light" }, member: true },
  { file: "my-requests-phone", path: () => "/me/requests", use: { colorScheme: "light", viewport: phone }, member: true },
];

/** Replaces text that differs between runs: ports, times, and the start of keys. */
async function settle(page: Page) {
  await page.evaluate(() => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode as Text;
      text.data = text.data.replace(/\b1:\d{4,5}\b/g, "1:8080").replace(/gwr_\w{4}/g, "gwr_abcd");
      if (text.parentElement!.closest("time")) text.data = "1 min ago";
    }
  });
}

for (const { file, path, use, member, then } of pictures) {
  test.describe(file, () => {
    test.use(use);
    test("screenshot", async ({ page, world, browser, gateway }) => {
      const shown = member ? await pageOf(browser, gateway, world.member, use) : page;
      await shown.goto(path(world));
      await then?.(shown);
      await settle(shown);
      await expect(shown).toHaveScreenshot(`${file}.png`);
      if (member) await shown.context().close();
    });
  });
}
