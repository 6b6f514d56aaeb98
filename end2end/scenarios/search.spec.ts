// The palette and the search page: the same results, with the keyboard, without script and on a phone.

import { type Locator, type Page } from "@playwright/test";
import { accessible, alive, describe, expect, fixture, open, remove, step, test, toStep } from "./kit.js";

const palette = (page: Page): Locator => page.getByRole("dialog", { name: "Search and actions" });
const field = (page: Page): Locator => page.getByRole("combobox", { name: "Search and actions" });
const option = (page: Page, name: string | RegExp): Locator => palette(page).getByRole("option", { name });

/** Opens the palette and waits until its first results are displayed. */
async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press("Control+k");
  await expect(field(page)).toBeFocused();
  await expect(option(page, "Fleet")).toBeVisible();
}

/** Types a text and waits for the results of it. */
async function type(page: Page, text: string, first: string | RegExp): Promise<void> {
  await page.keyboard.type(text);
  await expect(option(page, first).first()).toBeVisible();
  await expect(palette(page).locator(".palette-list")).toHaveAttribute("aria-busy", "false");
}

test("the palette opens with Ctrl K, is moved through with keys only, and opens what is selected", async ({ page }) => {
  await open(page, "/clusters");
  await page.getByRole("link", { name: "Join a cluster" }).focus();
  await openPalette(page);
  await type(page, "lightho", /^lighthouse r\d/);
  const active = (): Promise<string> =>
    page.evaluate(() => document.getElementById(document.activeElement!.getAttribute("aria-activedescendant")!)!.textContent!);
  expect(await active(), "the first option").toContain("lighthouse");
  await page.keyboard.press("End");
  const last = await palette(page).getByRole("option").last().textContent();
  expect(await active()).toBe(last);
  await page.keyboard.press("ArrowDown");
  await expect(palette(page).getByRole("option").first(), "from the last to the first").toHaveAttribute("aria-selected", "true");
  await page.keyboard.press("PageDown");
  await page.keyboard.press("Home");
  await expect(palette(page).getByRole("option").first()).toHaveAttribute("aria-selected", "true");
  await expect(field(page), "the focus stays in the field").toBeFocused();

  await page.keyboard.press("Escape");
  await expect(palette(page)).toHaveCount(0);
  await expect(page.getByRole("link", { name: "Join a cluster" }), "the focus is where it was").toBeFocused();

  await openPalette(page);
  await type(page, "lightho", /^lighthouse r\d/);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/workloads\/lighthouse$/);
  await expect(palette(page)).toHaveCount(0);
  await expect(page.getByRole("main"), "the next Tab is in the page").toBeFocused();
});

test("Enter before the answer arrives opens the first result of the text", async ({ page }) => {
  await open(page, "/");
  await openPalette(page);
  await page.keyboard.type("eu-west-3");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/clusters\/eu-west-3$/);
});

test("an action leads to the dialog that asks, and one that is not possible says why", async ({ page }) => {
  await open(page, "/");
  await openPalette(page);
  await type(page, "sync lighthouse", /^Sync lighthouse…/);
  await expect(option(page, /^Delete/), "other actions").toHaveCount(0);
  await option(page, /^Sync lighthouse…/).click();
  await expect(page).toHaveURL(/\/workloads\/lighthouse\?dialog=sync$/);
  await expect(page.getByRole("dialog", { name: /^Sync lighthouse/ })).toBeVisible();
  await page.keyboard.press("Control+k");
  await expect(palette(page), "not over a question").toHaveCount(0);
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/\/workloads\/lighthouse$/);

  await openPalette(page);
  await type(page, "roll lighthouse", /^Roll back…/);
  const refused = option(page, /^Roll back…/);
  await expect(refused).toHaveAttribute("aria-disabled", "true");
  await expect(refused).toContainText("lighthouse has no earlier revision.");
  // It is disabled, and a click on it opens nothing.
  await refused.click({ force: true });
  await expect(palette(page), "nothing is opened").toBeVisible();
});

test("the command of an action is copied with Ctrl C and with the button", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await open(page, "/");
  await openPalette(page);
  await type(page, "cordon eu-west-1", /^Cordon eu-west-1…/);
  await option(page, /^Cordon eu-west-1…/).hover();
  const command = "flotilla cluster cordon eu-west-1";
  await expect(palette(page).getByText(command)).toBeVisible();
  await page.keyboard.press("Control+c");
  await expect(page.getByText("The command is copied.")).toBeAttached();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(command);
  await page.evaluate(() => navigator.clipboard.writeText(""));
  await palette(page).getByRole("button", { name: "Copied" }).click();
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(command);
});

test("without a clipboard, as on a page without TLS, nothing claims to have copied and the page stays alive", async ({ page }) => {
  await page.addInitScript(() => Object.defineProperty(Navigator.prototype, "clipboard", { get: () => undefined }));
  await open(page, "/");
  await openPalette(page);
  await type(page, "cordon eu-west-1", /^Cordon eu-west-1…/);
  await option(page, /^Cordon eu-west-1…/).hover();
  await page.keyboard.press("Control+c");
  await palette(page).getByRole("button", { name: "Copy", exact: true }).click();
  await expect(palette(page).getByRole("button", { name: "Copied" })).toHaveCount(0);
  await field(page).fill("");
  await type(page, "groups", "Groups");
  await expect(palette(page).getByText("flotilla cluster cordon eu-west-1")).toHaveCount(0);
});

test("answers to an earlier text are dropped, and a failed search says so", async ({ page, faults }) => {
  faults.expect(/search_read|Failed to load resource/);
  await open(page, "/");
  await openPalette(page);
  let release = (): void => {};
  const held = new Promise<void>((done) => (release = done));
  await page.route(/search_read\?.*q=eu-west/, async (route) => {
    await held;
    await route.continue();
  });
  await page.keyboard.type("eu-west");
  await page.waitForRequest(/search_read\?.*q=eu-west/);
  await field(page).fill("us-east-1");
  await expect(option(page, /^us-east-1/)).toBeVisible();
  const late = page.waitForResponse(/search_read\?.*q=eu-west/);
  release();
  await late;
  await expect(option(page, /^us-east-1/)).toBeVisible();
  await expect(option(page, /^eu-west/)).toHaveCount(0);

  await page.route(/search_read\?.*q=broken/, (route) => route.abort());
  await field(page).fill("broken");
  await expect(palette(page).getByRole("alert")).toContainText("The server did not respond");
  await page.unroute(/search_read\?.*q=broken/);
  await palette(page).getByRole("button", { name: "Try again" }).click();
  await expect(palette(page).getByText("Nothing has a name with “broken”.")).toBeVisible();
});

test("a workload is switched at its name, and the tab stays", async ({ page }) => {
  await describe(page, "switch-target", "switch", fixture("jobs", "jobs.yaml"));
  await toStep(page, "Placement");
  await step(page, "Placement");
  await open(page, "/workloads/lighthouse?tab=history");
  await page.getByRole("link", { name: "Switch workload" }).click();
  const dialog = page.getByRole("dialog", { name: "Switch workload" });
  await expect(dialog.getByRole("option", { name: /^lighthouse/ })).toBeVisible();
  await page.keyboard.type("switch");
  await expect(dialog.getByRole("option")).toHaveCount(1);
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/workloads\/switch-target\?tab=history$/);
  await remove(page, "switch-target");
});

test("j and k move over the rows, Enter opens, and one-key shortcuts can be turned off", async ({ page }) => {
  await open(page, "/clusters");
  await page.keyboard.press("j");
  const link = (name: string): Locator => page.getByRole("rowheader", { name }).getByRole("link");
  await expect(link("eu-west-1")).toBeFocused();
  await page.keyboard.press("j");
  await expect(link("eu-west-2")).toBeFocused();
  await page.keyboard.press("ArrowDown");
  await expect(link("eu-west-3")).toBeFocused();
  await page.keyboard.press("k");
  await expect(link("eu-west-2")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/clusters\/eu-west-2$/);
  await page.keyboard.press("/");
  await expect(field(page), "no filter on this page").toBeFocused();
  await page.keyboard.press("Escape");

  await page.keyboard.press("?");
  const help = page.getByRole("dialog", { name: "Shortcuts" });
  await help.getByRole("button", { name: "Turn one-key shortcuts off" }).click();
  await expect(help.getByRole("button", { name: "Turn one-key shortcuts on" })).toBeVisible();
  await help.getByRole("button", { name: "Close" }).click();
  await open(page, "/clusters");
  for (const key of ["?", "j", "/"]) await page.keyboard.press(key);
  await expect(help).toBeHidden();
  await expect(page.locator(":focus")).toHaveCount(0);
  await page.keyboard.press("Control+k");
  await expect(field(page)).toBeFocused();
  await page.keyboard.press("Escape");
  await open(page, "/settings?tab=appearance");
  await page.getByRole("main").getByRole("button", { name: "Turn one-key shortcuts on" }).click();
  await expect(page.getByRole("main").getByRole("button", { name: "Turn one-key shortcuts off" })).toBeVisible();
  await page.keyboard.press("Tab");
  await page.getByRole("heading", { level: 1 }).click();
  await page.keyboard.press("?");
  await expect(help).toBeVisible();
});

for (const [size, viewport] of [["desktop", { width: 1440, height: 900 }], ["phone", { width: 390, height: 844 }]] as const) {
  test(`the palette has no accessibility violation on a ${size}`, async ({ page }) => {
    await page.setViewportSize(viewport);
    await open(page, "/workloads");
    if (size === "phone") await page.getByRole("link", { name: "Search", exact: true }).click();
    else await page.getByRole("searchbox", { name: "Search everything" }).click();
    await expect(option(page, "Fleet")).toBeVisible();
    await accessible(page, "without a text");
    await field(page).fill("lighthouse");
    await expect(option(page, /^Delete lighthouse…/)).toBeAttached();
    await accessible(page, "with results");
    if (size === "phone") {
      const box = (await palette(page).boundingBox())!;
      expect([box.x, box.y, box.width, box.height], "the whole screen").toEqual([0, 0, 390, 844]);
    }
    await palette(page).getByRole("button", { name: "Close" }).click();
    await expect(palette(page)).toHaveCount(0);
    await alive(page);
  });
}

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });

  test("the field of the top bar leads to the page with the same results", async ({ page }) => {
    await page.goto("/");
    await page.getByRole("searchbox", { name: "Search everything" }).fill("lighthouse");
    await page.keyboard.press("Enter");
    await expect(page).toHaveURL(/\/search\?q=lighthouse$/);
    for (const heading of ["Workloads", "Actions on lighthouse", "Go to"]) {
      await expect(page.getByRole("heading", { name: heading, exact: true })).toBeVisible();
    }
    await expect(page.getByText("flotilla unpublish lighthouse")).toBeVisible();
    await page.getByRole("link", { name: /^Unpublish lighthouse…/ }).click();
    await expect(page.getByRole("dialog")).toContainText("Unpublish lighthouse from");
    await page.goto("/workloads/lighthouse?tab=history");
    await page.getByRole("link", { name: "Switch workload" }).click();
    await page.getByRole("main").getByRole("link", { name: /^lighthouse/ }).click();
    await expect(page).toHaveURL(/\/workloads\/lighthouse\?tab=history$/);
  });
});
