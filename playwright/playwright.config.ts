import { defineConfig } from "@playwright/test";

// Tests use Debian's Chromium; Playwright downloads nothing.
// CHROMIUM is the path of another one.
const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";

export default defineConfig({
  testMatch: "**/*.spec.ts",
  globalSetup: "./support/build.ts",
  outputDir: "results",
  reporter: [["list"]],
  workers: 2,
  fullyParallel: true,
  // A flaky test is a defect of the test or of the page.
  retries: 0,
  forbidOnly: !!process.env.CI,
  // Limits for hangs, far above normal durations: a machine may be
  // slow or busy.
  timeout: 60_000,
  globalTimeout: 900_000,
  expect: {
    timeout: 15_000,
    toHaveScreenshot: {
      // Small differences of a pixel count, because the
      // backgrounds of cards and snippets are only slightly darker than the page.
      threshold: 0.02,
      // Fonts differ between machines. Another font changes up to
      // 5% of a screenshot; a missing card, snippet or column at least 8%.
      maxDiffPixelRatio: 0.06,
    },
  },
  // The screenshots are in the repository. They are only replaced on request,
  // so that a test run doesn't change the work tree.
  snapshotPathTemplate: "{testDir}/screenshots/{arg}{ext}",
  updateSnapshots: process.env.UPDATE_SCREENSHOTS === "1" ? "all" : "missing",
  use: {
    browserName: "chromium",
    viewport: { width: 1280, height: 800 },
    locale: "en-GB",
    timezoneId: "UTC",
    contextOptions: { reducedMotion: "reduce" },
    trace: "retain-on-failure",
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: chromium,
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
});
