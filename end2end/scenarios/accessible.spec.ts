// Every page, in desktop and phone size, in both themes, without an accessibility violation (WCAG 2.2 A and AA), and on a small
// screen without a horizontal scroll bar.

import AxeBuilder from "@axe-core/playwright";
import { type Page } from "@playwright/test";
import { TAGS, atRest, expect, open, test } from "./kit.js";
import { overflowing } from "./overflow.js";
import { PAGES } from "./pages.js";

const BACKGROUND = { light: "rgb(255, 255, 255)", dark: "rgb(15, 20, 25)" };
const SIZES = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

test.use({ reducedMotion: "reduce" });

/** Checks the current page: all rules in the light theme, and in the dark theme the contrasts, which depend on the theme. */
async function check(page: Page): Promise<void> {
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    await setTheme(page, "light");
    expect.soft(await violationsOf(new AxeBuilder({ page }).withTags(TAGS)), `on a ${size}`).toEqual([]);
    await setTheme(page, "dark");
    expect.soft(await violationsOf(new AxeBuilder({ page }).withRules(["color-contrast"])), `on a ${size}, dark`).toEqual([]);
  }
}

/** Checks that the current page does not scroll horizontally on small screens. */
async function checkNarrow(page: Page): Promise<void> {
  for (const width of [390, 320]) {
    await page.setViewportSize({ width, height: 800 });
    await atRest(page);
    expect.soft(await overflowing(page), `${width} px wide`).toEqual([]);
  }
}

/** Sets the theme and waits until the page is painted with it. */
async function setTheme(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await expect.poll(() => page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(BACKGROUND[colorScheme]);
  await atRest(page);
}

async function violationsOf(axe: AxeBuilder): Promise<string[]> {
  const { violations } = await axe.analyze();
  return violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)}`));
}

for (const [name, path] of PAGES) {
  test(`${name}: no accessibility violation at any size, in either theme, and no horizontal scrolling`, async ({ page }) => {
    await open(page, path);
    // The review is checked after every cluster has reported its dry run: before that the page is incomplete.
    await expect(page.locator("[aria-describedby=why-publish]")).toHaveCount(0);
    await check(page);
    // Buttons of a dialog are beside those of the page below it.
    const primary = await page.locator("main .btn-primary:visible").count();
    const ofDialog = await page.locator("main dialog .btn-primary:visible").count();
    expect.soft(primary - ofDialog, "main actions of the page").toBeLessThanOrEqual(1);
    await checkNarrow(page);
  });
}

test.describe("without a session", () => {
  test.use({ storageState: { cookies: [], origins: [] } });
  test("the sign-in page: no accessibility violation at any size, in either theme", async ({ page }) => {
    await page.goto("/sign-in");
    await check(page);
  });
});
