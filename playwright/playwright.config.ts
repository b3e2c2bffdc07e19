import { defineConfig } from "@playwright/test";

// Debian's Chromium is used as it is installed; Playwright downloads nothing.
// CHROMIUM names another one on machines that keep it elsewhere.
const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";

export default defineConfig({
  testMatch: "**/*.spec.ts",
  globalSetup: "./support/build.ts",
  outputDir: "results",
  reporter: [["list"]],
  workers: 2,
  fullyParallel: true,
  // A test that needs a second attempt is a defect of the test or of the page.
  retries: 0,
  forbidOnly: !!process.env.CI,
  // Ceilings for what hangs, far above what anything takes: a machine may be
  // slow and do other work besides.
  timeout: 60_000,
  globalTimeout: 900_000,
  expect: {
    timeout: 15_000,
    toHaveScreenshot: {
      // Pixels count as different from a small difference on, because the
      // fills of cards and snippets are only a little darker than the page.
      threshold: 0.02,
      // Fonts differ between machines. Another font was seen to change up to
      // 5% of a picture, a lost card, snippet or column 8% and more.
      maxDiffPixelRatio: 0.06,
    },
  },
  // The screenshots are in the repository. They are only replaced on request,
  // so that a test run leaves the work tree as it was.
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
