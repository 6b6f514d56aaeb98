// On a phone nothing scrolls sideways but what may, and the rooms are at hand.

import { type Page } from "@playwright/test";
import { expect, open, test } from "./kit.js";
import { PAGES } from "./pages.js";

/** What stands out at the right although nothing around it scrolls. */
function overflowing(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const scrolls = (element: Element | null): boolean => {
      for (let at = element; at !== null && at !== document.body; at = at.parentElement) {
        if (/auto|scroll|hidden|clip/.test(getComputedStyle(at).overflowX)) return true;
      }
      return false;
    };
    const wide = [...document.body.querySelectorAll("*")].filter((element) => {
      const box = element.getBoundingClientRect();
      return box.width > 1 && box.height > 1 && box.right > innerWidth + 1 && !scrolls(element.parentElement) && !element.closest("[popover]:not(:popover-open)");
    });
    const found = wide.map((element) => element.outerHTML.slice(0, 120));
    const page = document.documentElement.scrollWidth - innerWidth;
    return page > 0 ? [`the page by ${page} px`, ...found] : found;
  });
}

for (const width of [390, 320]) {
  test.describe(`${width} px wide`, () => {
    test.use({ viewport: { width, height: 800 } });
    test("no page scrolls sideways", async ({ page }) => {
      for (const [name, path] of PAGES) {
        await open(page, path);
        expect.soft(await overflowing(page), name).toEqual([]);
      }
    });
  });
}

test.describe("with a thumb", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true });

  test("the bottom bar leads through the rooms and says where one is", async ({ page }) => {
    await open(page, "/");
    const bar = page.getByRole("navigation", { name: "Rooms, at hand" });
    for (const [room, heading] of [["Workloads", "Workloads"], ["Clusters", "Clusters"], ["Events", /^Events/], ["Settings", /^Settings/], ["Fleet", /healthy/]] as const) {
      await bar.getByRole("link", { name: room }).tap();
      await expect(page.getByRole("heading", { level: 1, name: heading })).toBeVisible();
      await expect(bar.getByRole("link", { name: room })).toHaveAttribute("aria-current", "page");
    }
  });

  test("what can be touched is large enough", async ({ page }) => {
    for (const path of ["/", "/workloads", "/workloads/lighthouse", "/workloads/lighthouse/publish", "/clusters/eu-west-1"]) {
      await open(page, path);
      const small = await page.evaluate(() =>
        [...document.querySelectorAll("button, a.btn, .bottombar-item, summary")].flatMap((element) => {
          const box = element.getBoundingClientRect();
          const shown = box.width > 1 && box.height > 1;
          return shown && (box.width < 24 || box.height < 24) ? [`${element.textContent?.trim() || element.getAttribute("aria-label")} ${box.width}×${box.height}`] : [];
        }),
      );
      expect.soft(small, path).toEqual([]);
    }
  });
});
