// Every page, on a desk and on a phone, in both themes, without an accessibility fault (WCAG 2.2 A and AA).

import AxeBuilder from "@axe-core/playwright";
import { type Page } from "@playwright/test";
import { TAGS, atRest, expect, open, test } from "./kit.js";
import { PAGES } from "./pages.js";

const GROUND = { light: "rgb(255, 255, 255)", dark: "rgb(15, 20, 25)" };
const SIZES = { desk: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };

test.use({ reducedMotion: "reduce" });

/** Looks at the page as it stands: everything in the light, and in the dark what a theme can change, the contrasts. */
async function check(page: Page): Promise<void> {
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    await dress(page, "light");
    expect.soft(await faults(new AxeBuilder({ page }).withTags(TAGS)), `on a ${size}`).toEqual([]);
    await dress(page, "dark");
    expect.soft(await faults(new AxeBuilder({ page }).withRules(["color-contrast"])), `on a ${size}, dark`).toEqual([]);
  }
}

/** Puts the page into a theme and waits until all of it is painted so. */
async function dress(page: Page, colorScheme: "light" | "dark"): Promise<void> {
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await expect.poll(() => page.evaluate(() => getComputedStyle(document.body).backgroundColor)).toBe(GROUND[colorScheme]);
  await atRest(page);
}

async function faults(axe: AxeBuilder): Promise<string[]> {
  const { violations } = await axe.analyze();
  return violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)}`));
}

for (const [name, path] of PAGES) {
  test(`${name}: no accessibility fault at any size, in either theme`, async ({ page }) => {
    await open(page, path);
    // The review is looked at when every cluster has answered: before, less of it stands there.
    await expect(page.locator("[aria-describedby=why-publish]")).toHaveCount(0, { timeout: 25_000 });
    await check(page);
  });
}

test.describe("a stranger", () => {
  test.use({ storageState: { cookies: [], origins: [] } });
  test("the way in: no accessibility fault at any size, in either theme", async ({ page }) => {
    await page.goto("/sign-in");
    await check(page);
  });
});
