import { brotliCompressSync } from "node:zlib";

import type { Page, Response } from "@playwright/test";

/** Cost of the first load of a page. */
export interface Cost {
  requests: number;
  /** Bytes of the document. */
  html: number;
  /** Bytes of all stylesheets, each compressed with brotli. */
  css: number;
  /** Bytes of all scripts, each compressed. */
  js: number;
  /** The sum of Chromium's layout shifts, without a unit. */
  layoutShift: number;
}

/**
 * Loads path in a separate page with the session of the given page, and returns the cost.
 * A used page could still receive parts of its previous document, which don't count.
 */
export async function loadAndMeasure(signedIn: Page, path: string): Promise<Cost> {
  const page = await signedIn.context().newPage();
  try {
    const responses: Response[] = [];
    page.on("response", (response) => responses.push(response));
    await page.goto(path, { waitUntil: "load" });
    const layoutShift = await layoutShiftOf(page);
    const cost: Cost = { requests: responses.length, html: 0, css: 0, js: 0, layoutShift };
    for (const response of responses) {
      switch (response.request().resourceType()) {
        case "document":
          cost.html += (await response.body()).length;
          break;
        case "stylesheet":
          cost.css += brotliCompressSync(await response.body()).length;
          break;
        case "script":
          cost.js += brotliCompressSync(await response.body()).length;
          break;
      }
    }
    return cost;
  } finally {
    await page.close();
  }
}

/** Returns the sum of Chromium's layout shifts so far, without a unit. */
function layoutShiftOf(page: Page): Promise<number> {
  return page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let sum = 0;
        const add = (entries: PerformanceEntryList) => {
          for (const entry of entries) sum += (entry as PerformanceEntry & { value: number }).value;
        };
        const observer = new PerformanceObserver((list) => add(list.getEntries()));
        observer.observe({ type: "layout-shift", buffered: true });
        // Two frames later all layout shifts of the load have been reported.
        requestAnimationFrame(() =>
          requestAnimationFrame(() => {
            add(observer.takeRecords());
            resolve(sum);
          }),
        );
      }),
  );
}
