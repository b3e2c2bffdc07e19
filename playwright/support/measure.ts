import { gzipSync } from "node:zlib";

import type { Page, Response } from "@playwright/test";

/** What the first load of a page costs. */
export interface Cost {
  requests: number;
  /** Bytes of the document. */
  html: number;
  /** Bytes of all stylesheets, each compressed. */
  css: number;
  /** Bytes of all scripts, each compressed. */
  js: number;
  /** The sum of Chromium's layout shifts, without a unit. */
  layoutShift: number;
}

/** Loads the page at path and returns what that costs. */
export async function loadAndMeasure(page: Page, path: string): Promise<Cost> {
  const responses: Response[] = [];
  page.on("response", (response) => responses.push(response));
  await page.goto(path, { waitUntil: "load" });
  const layoutShift = await page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        let sum = 0;
        const add = (entries: PerformanceEntryList) => {
          for (const entry of entries) sum += (entry as PerformanceEntry & { value: number }).value;
        };
        const observer = new PerformanceObserver((list) => add(list.getEntries()));
        observer.observe({ type: "layout-shift", buffered: true });
        // Two frames later everything that the load moved has been painted and reported.
        requestAnimationFrame(() =>
          requestAnimationFrame(() => {
            add(observer.takeRecords());
            resolve(sum);
          }),
        );
      }),
  );
  const cost: Cost = { requests: responses.length, html: 0, css: 0, js: 0, layoutShift };
  for (const response of responses) {
    const body = await response.body();
    switch (response.request().resourceType()) {
      case "document":
        cost.html += body.length;
        break;
      case "stylesheet":
        cost.css += gzipSync(body).length;
        break;
      case "script":
        cost.js += gzipSync(body).length;
        break;
    }
  }
  return cost;
}
