// On a phone no page scrolls horizontally, and the bottom bar navigates.

import { expect, open, test } from "./kit.js";
import { overflowing } from "./overflow.js";

test.describe("320 px wide from the start", () => {
  test.use({ viewport: { width: 320, height: 800 } });
  // Every page is made narrow after it was loaded, in accessible.spec.ts.
  test("no page scrolls horizontally", async ({ page }) => {
    for (const path of ["/", "/workloads/lighthouse/publish", "/clusters/eu-west-1"]) {
      await open(page, path);
      expect.soft(await overflowing(page), path).toEqual([]);
    }
  });
});

test.describe("with touch", () => {
  test.use({ viewport: { width: 390, height: 844 }, hasTouch: true });

  test("the bottom bar navigates and marks the current section", async ({ page }) => {
    await open(page, "/");
    const bar = page.getByRole("navigation", { name: "Main, bottom bar" });
    for (const [section, path] of [["Workloads", "/workloads"], ["Clusters", "/clusters"], ["Incidents", "/incidents"], ["Fleet", "/"]] as const) {
      await bar.getByRole("link", { name: section }).tap();
      await expect(page).toHaveURL(path);
      await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
      await expect(bar.getByRole("link", { name: section })).toHaveAttribute("aria-current", "page");
    }
    // The other sections are in the rail, which closes when one of them is opened.
    const rail = page.getByRole("navigation", { name: "Main", exact: true });
    const more = bar.getByRole("button", { name: "More" });
    for (const [section, path] of [["Groups", "/groups"], ["Charts", "/charts"], ["Events", "/events"], ["Settings", "/settings"]] as const) {
      await more.tap();
      await rail.getByRole("link", { name: section }).tap();
      await expect(page).toHaveURL(path);
      await expect(rail).toBeHidden();
      await expect(more).toHaveAttribute("aria-current", "true");
    }
    // Also when it is the one that is open already.
    await more.tap();
    await rail.getByRole("link", { name: "Settings" }).tap();
    await expect(rail).toBeHidden();
  });

  test("an entry of the audit log has no label without a value", async ({ page }) => {
    await open(page, "/audit");
    await expect(page.getByRole("row").filter({ hasText: "sign-in" }).first()).toBeVisible();
    const blank = await page.evaluate(() =>
      [...document.querySelectorAll("td[data-label]")].flatMap((cell) => (cell.textContent?.trim() ? [] : [cell.outerHTML])),
    );
    expect(blank).toEqual([]);
  });

  test("touch targets are large enough", async ({ page }) => {
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
