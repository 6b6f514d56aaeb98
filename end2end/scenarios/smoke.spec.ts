// The first page arrives, is dressed, comes alive and has no accessibility fault in either theme.

import AxeBuilder from "@axe-core/playwright";
import { expect, test } from "./kit.js";

// Nobody has signed in yet.
test.use({ storageState: { cookies: [], origins: [] } });

for (const theme of ["light", "dark"] as const) {
  test(`the first page is alive and accessible in the ${theme} theme`, async ({ page }) => {
    await page.emulateMedia({ colorScheme: theme, reducedMotion: "reduce" });
    const answer = await page.goto("/");
    expect(answer?.status()).toBe(200);
    await expect(page).toHaveTitle(/Flotilla/);
    await expect(page.getByRole("heading", { level: 1 })).toBeVisible();

    const ground = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    expect(ground, "the style sheet is there").toBe(theme === "light" ? "rgb(255, 255, 255)" : "rgb(15, 20, 25)");

    await page.waitForLoadState("load");
    const report = await new AxeBuilder({ page }).analyze();
    expect(report.violations.map((fault) => `${fault.id}: ${fault.nodes.map((node) => node.target).join(", ")}`)).toEqual([]);
  });
}
