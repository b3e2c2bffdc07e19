import type { Page } from "@playwright/test";

import { expect, test } from "./support/test.ts";

interface Picture {
  file: string;
  path: string;
  use: { colorScheme: "light" | "dark"; viewport?: { width: number; height: number } };
  /** The share of pixels that may differ, if not the default. */
  tolerance?: number;
}

// Tests compare the pages with the screenshots in screenshots/.
// UPDATE_SCREENSHOTS=1 replaces them.
const pictures: Picture[] = [
  { file: "home-light", path: "/", use: { colorScheme: "light" } },
  { file: "home-dark", path: "/", use: { colorScheme: "dark" } },
  { file: "home-phone", path: "/", use: { colorScheme: "light", viewport: { width: 390, height: 844 } } },
  { file: "registry-light", path: "/registry", use: { colorScheme: "light" } },
  { file: "registry-dark", path: "/registry", use: { colorScheme: "dark" } },
  { file: "registry-phone", path: "/registry", use: { colorScheme: "light", viewport: { width: 390, height: 844 } } },
  { file: "registry-item-light", path: "/registry/asana/asana", use: { colorScheme: "light" } },
  { file: "registry-item-dark", path: "/registry/github/github", use: { colorScheme: "dark" } },
  { file: "registry-item-phone", path: "/registry/modelcontextprotocol/filesystem", use: { colorScheme: "light", viewport: { width: 390, height: 844 } } },
  { file: "docs-light", path: "/docs", use: { colorScheme: "light" } },
  { file: "docs-page-light", path: "/docs/quick-start", use: { colorScheme: "light" } },
  { file: "docs-page-dark", path: "/docs/quick-start", use: { colorScheme: "dark" } },
  { file: "docs-page-phone", path: "/docs/quick-start", use: { colorScheme: "light", viewport: { width: 390, height: 844 } } },
  // This page is nearly empty: fonts change 1% of it, a missing card 2%.
  { file: "error-light", path: "/nothing-here", use: { colorScheme: "light" }, tolerance: 0.015 },
];

/** Replaces text that differs between runs: the origin with its port, and the request id. */
async function settle(page: Page, origin: string) {
  await page.evaluate((origin) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode as Text;
      text.data = text.data
        .replaceAll(origin, "http://127.0.0.1:8080")
        .replace(/[0-9a-f]{8}-[0-9a-f-]{27}/, "01234567-89ab-4cde-8f01-23456789abcd");
    }
  }, origin);
}

for (const { file, path, use, tolerance } of pictures) {
  test.describe(file, () => {
    test.use(use);
    test("screenshot", async ({ page, gateway }) => {
      await page.goto(path);
      await settle(page, gateway.url);
      await expect(page).toHaveScreenshot(`${file}.png`, tolerance ? { maxDiffPixelRatio: tolerance } : {});
    });
  });
}
