import type { Page } from "@playwright/test";

/** One tab stop. */
export interface Stop {
  /** Description of the focused element for messages: its tag and its name or text. */
  what: string;
  insideMain: boolean;
  /** Whether it is in the window and has an outline of at least 2 pixels. */
  visible: boolean;
}

/** Maximum number of tab stops. More mean that the focus cycles. */
const mostStops = 500;

/** Presses Tab once and returns the focused element, or undefined if the focus left the page. */
export async function tab(page: Page): Promise<Stop | undefined> {
  // In an editor of code Tab indents; after Escape it moves the focus.
  if (await page.evaluate(() => !!document.activeElement?.closest("code-editor"))) await page.keyboard.press("Escape");
  await page.keyboard.press("Tab");
  return page.evaluate(() => {
    const focused = document.activeElement;
    if (!focused || focused === document.body) return undefined;
    const box = focused.getBoundingClientRect();
    const style = getComputedStyle(focused);
    const name = focused.getAttribute("aria-label") ?? focused.textContent?.trim() ?? "";
    const inWindow = box.width > 0 && box.bottom > 0 && box.right > 0 && box.top < innerHeight && box.left < innerWidth;
    return {
      what: `${focused.localName} "${name.slice(0, 60)}"`,
      insideMain: !!focused.closest("main"),
      visible: inWindow && style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
    };
  });
}

/** Presses Tab from the top of the page to its end and returns every stop. */
export async function tabThrough(page: Page): Promise<Stop[]> {
  const stops: Stop[] = [];
  for (let stop = await tab(page); stop; stop = await tab(page)) {
    stops.push(stop);
    if (stops.length > mostStops) throw new Error(`the focus did not leave the page after ${mostStops} stops`);
  }
  return stops;
}
