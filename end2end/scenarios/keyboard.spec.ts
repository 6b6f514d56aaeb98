// Keyboard operation.

import { type Page } from "@playwright/test";
import { alive, cell, expect, open, test } from "./kit.js";

test("shortcuts lead to pages, to the search and to the list of shortcuts, and are off while the user types", async ({ page }) => {
  await open(page, "/");
  await page.keyboard.press("g");
  await page.keyboard.press("w");
  await expect(page).toHaveURL(/\/workloads$/);
  await page.keyboard.press("/");
  const search = page.getByRole("searchbox", { name: "Name" });
  await expect(search).toBeFocused();
  await page.keyboard.type("gc?");
  await expect(search).toHaveValue("gc?");
  await expect(page.getByRole("dialog", { name: "Shortcuts" })).toBeHidden();
  await search.fill("light");
  await page.keyboard.press("Enter");
  await expect(page, "only what is filled in").toHaveURL(/\/workloads\?q=light$/);

  await page.getByRole("heading", { level: 1 }).click();
  await page.keyboard.press("?");
  await expect(page.getByRole("dialog", { name: "Shortcuts" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog", { name: "Shortcuts" })).toBeHidden();
  for (const [key, path] of [["c", "/clusters"], ["i", "/incidents"], ["e", "/events"], ["f", "/"]] as const) {
    await page.keyboard.press("g");
    await page.keyboard.press(key);
    await expect(page).toHaveURL(new RegExp(`${path}$`));
  }
});

test("the first Tab focuses the skip link, and the focus is visible", async ({ page }) => {
  await open(page, "/workloads");
  await page.keyboard.press("Tab");
  const skip = page.getByRole("link", { name: "Skip to content" });
  await expect(skip).toBeFocused();
  await expect(skip).toBeInViewport();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("main")).toBeFocused();
  await page.keyboard.press("Tab");
  await expect(page.getByRole("main").getByRole("link", { name: "New workload" })).toBeFocused();
  const outline = await page.evaluate(() => {
    const style = getComputedStyle(document.activeElement!);
    return { width: parseFloat(style.outlineWidth), kind: style.outlineStyle };
  });
  expect(outline.kind).not.toBe("none");
  expect(outline.width).toBeGreaterThanOrEqual(2);
});

test("arrow keys move in the matrix, and the caption shows the focused cell", async ({ page }) => {
  await open(page, "/");
  await cell(page, "lighthouse", "eu-west-1").focus();
  await expect(page.getByText("lighthouse on eu-west-1: Healthy", { exact: true })).toBeVisible();
  await expect(page.locator(".matrix-caption"), "since when").toContainText(/Healthy\s*for .*\d/);
  await page.keyboard.press("ArrowRight");
  await expect(cell(page, "lighthouse", "eu-west-2")).toBeFocused();
  // The empty cell is skipped.
  await page.keyboard.press("ArrowRight");
  await expect(cell(page, "lighthouse", "us-east-1")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/workloads\/lighthouse\?open=us-east-1$/);
  await alive(page);
});

test("a selected theme is applied and stored", async ({ page }) => {
  await open(page, "/settings");
  const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.getByRole("button", { name: "Theme" }).click();
  await page.getByRole("button", { name: "Dark" }).click();
  await expect.poll(background).toBe("rgb(15, 20, 25)");
  await page.reload();
  expect(await background(), "painted before any script").toBe("rgb(15, 20, 25)");
  await alive(page);
  await page.getByRole("button", { name: "Theme" }).click();
  await page.getByRole("button", { name: "System" }).click();
  await expect.poll(background).toBe("rgb(255, 255, 255)");
});

test("a menu opens at its button, within the window, and closes with Esc", async ({ page }) => {
  await open(page, "/clusters/eu-west-1");
  for (const viewport of [{ width: 1440, height: 900 }, { width: 390, height: 844 }]) {
    await page.setViewportSize(viewport);
    for (const [button, entry] of [["Inject fault", "Disconnect"], ["Theme", "Light"], [/demo/, "Sign out"]] as const) {
      const opener = page.getByRole("button", { name: button });
      await opener.click();
      const choice = page.getByRole("button", { name: entry });
      await expect(choice).toBeInViewport({ ratio: 1 });
      const [from, to] = [(await opener.boundingBox())!, (await choice.boundingBox())!];
      expect(Math.abs(from.x + from.width / 2 - (to.x + to.width / 2)), "beside its button").toBeLessThan(320);
      expect(to.y, "below its button").toBeGreaterThanOrEqual(from.y + from.height - 1);
      await page.keyboard.press("Escape");
      await expect(choice).toBeHidden();
    }
  }
});

test("no menu of actions begins with one that deletes", async ({ page }) => {
  for (const path of ["/workloads/lighthouse", "/clusters/eu-west-1"]) {
    await open(page, path);
    await page.getByRole("button", { name: "More actions" }).click();
    const items = page.locator(".popover:popover-open .menu-item");
    await expect(items.filter({ hasText: "Delete…" }), path).toBeVisible();
    await expect(items.first(), path).not.toHaveText(/^(Delete|Remove|Revoke)/);
  }
});

/** What has the focus: in which part of a step it is, and how many pixels of it the bars cover. */
function readFocus(page: Page): Promise<{ part: string; html: string; covered: number }> {
  return page.evaluate(() => {
    const element = document.activeElement!;
    const parts = { foot: ".footbar", top: ".topbar", editor: ".cm-content", content: "#content" };
    const part = Object.entries(parts).find(([, selector]) => element.closest(selector) !== null)?.[0] ?? "elsewhere";
    const box = element.getBoundingClientRect();
    const first = document.querySelector(".topbar")!.getBoundingClientRect().bottom;
    const last = document.querySelector(".footbar")!.getBoundingClientRect().top;
    // A field for screen readers has one pixel, and an editor may be higher than the space between the bars.
    const fits = box.width > 1 && box.height <= last - first;
    const covered = fits ? Math.max(0, Math.round(Math.max(first - box.top, box.bottom - last))) : 0;
    return { part, html: element.outerHTML.slice(0, 120), covered };
  });
}

test("no control of a step to which Tab leads is covered by a bar", async ({ page }) => {
  await page.setViewportSize({ width: 1100, height: 480 });
  await open(page, "/workloads/lighthouse/edit/source");
  await expect(page.locator(".cm-content").first()).toBeVisible();
  await page.locator("[data-step-heading]").focus();
  let controls = 0;
  let part = "";
  for (let presses = 0; presses < 200 && part !== "foot"; presses += 1) {
    // In the editor, Tab is text until this key.
    if (part === "editor") await page.keyboard.press("Control+m");
    await page.keyboard.press("Tab");
    const focus = await readFocus(page);
    part = focus.part;
    if (part !== "content") continue;
    controls += 1;
    await expect.poll(async () => (await readFocus(page)).covered, focus.html).toBe(0);
  }
  expect(part, "the walk ends at the foot").toBe("foot");
  expect(controls).toBeGreaterThan(10);
});

test("a fold that gets the focus is not covered by the foot bar", async ({ page }) => {
  await page.setViewportSize({ width: 1280, height: 420 });
  await open(page, "/workloads/lighthouse/edit/policies");
  const folds = page.locator("#content summary:visible");
  await expect(folds.first()).toBeAttached();
  for (const fold of await folds.all()) {
    // Distance between the fold and the bar; again while the page is still laid out.
    const distance = (): Promise<number> =>
      fold.evaluate((node: HTMLElement) => {
        node.blur();
        node.focus();
        return document.querySelector(".footbar")!.getBoundingClientRect().top - node.getBoundingClientRect().bottom;
      });
    await expect.poll(distance).toBeGreaterThanOrEqual(0);
  }
});
