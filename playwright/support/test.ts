import { expect, test as base, type Page } from "@playwright/test";

import { startGateway, type Gateway } from "./gateway.ts";

export { expect };

/**
 * The test function of every spec. Each worker has a gateway of its own, and
 * every page is watched: a test fails when its page complained on the console,
 * met the content security policy or asked another origin for anything.
 */
export const test = base.extend<object, { gateway: Gateway }>({
  gateway: [
    async ({}, use) => {
      const gateway = await startGateway();
      await use(gateway);
      await gateway.stop();
    },
    { scope: "worker" },
  ],
  baseURL: async ({ gateway }, use) => use(gateway.url),
  page: async ({ page, gateway }, use) => {
    const complaints = await watch(page, gateway.url);
    await use(page);
    expect(complaints, "what the page complained about").toEqual([]);
  },
});

/** Returns the list that fills with everything a good page does not do. */
async function watch(page: Page, origin: string): Promise<string[]> {
  const complaints: string[] = [];
  page.on("console", (message) => {
    // Chromium also logs the status of the document itself, which tests expect.
    const aboutDocument = message.location().url === page.url() && message.text().startsWith("Failed to load resource");
    if (["error", "warning"].includes(message.type()) && !aboutDocument) complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`uncaught: ${error.message}`));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`request to another origin: ${request.url()}`);
  });
  page.on("requestfailed", (request) => {
    // Going on to another page aborts what the last one still loads.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") complaints.push(`request failed: ${request.url()}`);
  });
  await page.exposeFunction("reportViolation", (what: string) => complaints.push(`content security policy: ${what}`));
  await page.addInitScript(() => {
    const report = (window as unknown as { reportViolation(what: string): void }).reportViolation;
    document.addEventListener("securitypolicyviolation", (event) => report(`${event.effectiveDirective} ${event.blockedURI}`));
  });
  return complaints;
}
