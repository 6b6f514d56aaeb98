// Ways to leave a page with a form within the document.

import { type Page } from "@playwright/test";
import { expect } from "./kit.js";

/** Follows the link to the history, within the page. */
export async function followHistory(page: Page): Promise<void> {
  await page.getByRole("navigation", { name: "Parts of this workload" }).getByRole("link", { name: "History" }).click();
  await expect(page.getByRole("heading", { name: "Never published" })).toBeVisible();
}

/** Opens an address of the console within the document. */
export async function navigateTo(page: Page, address: string): Promise<void> {
  await page.evaluate((address) => {
    const link = document.createElement("a");
    link.href = address;
    document.body.append(link);
    link.click();
    link.remove();
  }, address);
  await expect(page).toHaveURL(address);
}

/** The response to the next save. To be called before the input: a save may come at any time after it. */
export async function nextSave(page: Page): Promise<void> {
  await page.waitForResponse((response) => /\/api\/fn\/\w*save/.test(response.url()));
}

/** Enters something, leaves the tab for the history, within the page, and waits until the input is stored. */
export async function leaveForHistory(page: Page, enter: () => Promise<void>): Promise<void> {
  const saved = nextSave(page);
  await enter();
  await followHistory(page);
  // A document that is opened before the response would end the request.
  await saved;
}
