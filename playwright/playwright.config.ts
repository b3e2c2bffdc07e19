import { defineConfig } from "@playwright/test";

// Uses the installed Chromium; Playwright downloads nothing. To use another
// binary, set CHROMIUM.
const chromium = process.env.CHROMIUM ?? "/usr/bin/chromium";

export default defineConfig({
  testMatch: "**/*.spec.ts",
  globalSetup: "./support/build.ts",
  outputDir: "results",
  reporter: [["list"]],
  // Tests wait more than they compute.
  workers: 3,
  fullyParallel: true,
  // A flaky test is a defect of the test or the page.
  retries: 0,
  forbidOnly: !!process.env.CI,
  // Generous timeouts for slow and busy machines. They only stop hanging tests.
  timeout: 120_000,
  globalTimeout: 2_700_000,
  expect: {
    timeout: 30_000,
    toHaveScreenshot: {
      // A low threshold, because the backgrounds of cards and snippets are only
      // slightly darker than the page.
      threshold: 0.02,
      // Fonts differ between machines. Another font changed up to 5% of the
      // pixels; a missing card, snippet or column changed at least 8%.
      maxDiffPixelRatio: 0.06,
    },
  },
  // Screenshots are in the repository and only replaced on request, so that a
  // test run doesn't change the work tree.
  snapshotPathTemplate: "{testDir}/screenshots/{arg}{ext}",
  updateSnapshots: process.env.UPDATE_SCREENSHOTS === "1" ? "all" : "missing",
  use: {
    browserName: "chromium",
    viewport: { width: 1280, height: 800 },
    locale: "en-GB",
    timezoneId: "UTC",
    contextOptions: { reducedMotion: "reduce" },
    // Recording every step takes longer than the tests do.
    trace: process.env.TRACE === "1" ? "retain-on-failure" : "off",
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
