import type { Locator } from "@playwright/test";

/** Counts the clicks of a journey. */
export class Clicks {
  count = 0;
  async on(target: Locator): Promise<void> {
    target.page().setDefaultTimeout(15_000);
    this.count++;
    await target.click();
  }
}
