import AxeBuilder from "@axe-core/playwright";
import { expect, test, type Page } from "@playwright/test";

/** The appearances in which every page is checked: both colour schemes and both widths. */
export const looks = [
  { name: "in light", use: { colorScheme: "light" } },
  { name: "on a phone in dark", use: { colorScheme: "dark", viewport: { width: 390, height: 844 } } },
] as const;

/** An appearance: the colours and, unless it is the default, the size of the window. */
export interface Look {
  name: string;
  use: { colorScheme: "light" | "dark"; viewport?: { width: number; height: number } };
}

/** Runs check in each look in turn. It must load the page, and is quicker with a page's files in the browser's cache. */
export async function inEach(all: readonly Look[], page: Page, check: () => Promise<void>): Promise<void> {
  const size = page.viewportSize()!;
  for (const { name, use } of all) {
    await test.step(name, async () => {
      await page.setViewportSize(use.viewport ?? size);
      await page.emulateMedia({ colorScheme: use.colorScheme });
      await check();
    });
  }
}

/**
 * Expects that the page has no violations of axe's rules and doesn't scroll sideways. `part` limits
 * the rules, not the width, to a part of the page; `without` names a rule that is not checked.
 */
export async function expectAccessible(page: Page, { part, without }: { part?: string; without?: string } = {}): Promise<void> {
  const { pathname } = new URL(page.url());
  const width = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(width, `${pathname}: pixels that the page is wider than the window`).toBe(0);
  // The pages have no frames of other origins, for which axe would open a separate window.
  const axe = new AxeBuilder({ page }).setLegacyMode();
  if (part) axe.include(part);
  if (without) axe.disableRules(without);
  const { violations } = await axe.analyze();
  expect(violations.map(({ id, nodes }) => ({ id, where: nodes.map((node) => node.html) })), pathname).toEqual([]);
}

/** Expects that the open page is accessible in each look, without loading it again. */
export async function expectAccessibleInEach(page: Page): Promise<void> {
  const size = page.viewportSize()!;
  await inEach(looks, page, () => expectAccessible(page));
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: null });
}
