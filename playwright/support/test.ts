import { expect, test as base, type Page } from "@playwright/test";

import { type Gateway, ofOneWorker, startGateway } from "./gateway.ts";

export { expect };

/**
 * The test function of every spec. Each worker has its own gateway, and
 * every page is watched: a test fails if its page logged errors on the console,
 * violated the content security policy or sent requests to another origin.
 */
export const test = base.extend<object, { gateway: Gateway }>({
  gateway: ofOneWorker(() => startGateway()),
  baseURL: async ({ gateway }, use) => use(gateway.url),
  page: async ({ page, gateway }, use) => {
    const complaints = await watch(page, gateway.url);
    await use(page);
    expect(complaints(), "what the page complained about").toEqual([]);
  },
});

/** Watches for errors of a page, and returns a function that reports them at the end of the test. */
async function watch(page: Page, origin: string): Promise<() => string[]> {
  const complaints: string[] = [];
  const unloaded: { url: string; text: string }[] = [];
  const refused: string[] = [];
  page.on("response", (response) => {
    if (response.request().isNavigationRequest() && response.status() >= 400) refused.push(withoutFragment(response.url()));
  });
  page.on("console", (message) => {
    if (!["error", "warning"].includes(message.type())) return;
    if (message.text().startsWith("Failed to load resource")) unloaded.push({ url: message.location().url, text: message.text() });
    else complaints.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`uncaught: ${error.message}`));
  page.on("request", (request) => {
    if (new URL(request.url()).origin !== origin) complaints.push(`request to another origin: ${request.url()}`);
  });
  page.on("requestfailed", (request) => {
    // Navigating to another page aborts the previous page's requests.
    if (request.failure()?.errorText !== "net::ERR_ABORTED") complaints.push(`request failed: ${request.url()}`);
  });
  await page.exposeFunction("reportViolation", (what: string) => complaints.push(`content security policy: ${what}`));
  await page.addInitScript(() => {
    const report = (window as unknown as { reportViolation(what: string): void }).reportViolation;
    document.addEventListener("securitypolicyviolation", (event) => report(`${event.effectiveDirective} ${event.blockedURI}`));
  });
  return () => {
    // Chromium also logs error statuses of documents, which tests
    // expect, before or after the page has their URL.
    const others = unloaded.filter(({ url }) => {
      const document = refused.indexOf(withoutFragment(url));
      if (document >= 0) refused.splice(document, 1);
      return document < 0;
    });
    return [...complaints, ...others.map(({ url, text }) => `console: ${text} ${url}`)];
  };
}

/** The console shows the requested URL of a document; its response doesn't. */
function withoutFragment(url: string): string {
  return url.replace(/#.*/, "");
}
