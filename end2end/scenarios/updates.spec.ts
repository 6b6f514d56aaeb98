// Live updates of a page that somebody uses: menus and the focus stay.

import { type Page } from "@playwright/test";
import { expect, notListed, open, row, test, PATIENCE, PRELOAD_WARNING } from "./kit.js";

/** Sets or removes a label of a cluster, by which no placement selects. */
async function setLabel(page: Page, value: string | null): Promise<void> {
  const status = await page.evaluate(async (value) => {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ labels: { tide: value } });
    return (await fetch("/api/v1/clusters/eu-west-1", { method: "PATCH", headers, body })).status;
  }, value);
  expect(status).toBe(200);
}

/** Changes the label and waits until the page has read its data again, with this query, and shows it. */
async function update(page: Page, query: string, value: string): Promise<void> {
  const answer = page.waitForResponse((response) => response.url().includes(`/api/fn/${query}`));
  await setLabel(page, value);
  await (await answer).finished();
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

test.afterEach(async ({ page }) => setLabel(page, null));

test("a menu stays open while its page is updated, and its items work", async ({ page }) => {
  await open(page, "/clusters/eu-west-1");
  const fault = page.getByRole("button", { name: "Change replicas by hand" });
  await page.getByRole("button", { name: "Inject fault" }).click();
  await update(page, "cluster_read", "low");
  await expect(page.getByRole("button", { name: "Remove tide" }), "the page is updated").toBeAttached();
  await expect(fault).toBeVisible();
  await fault.click();
  await expect(page.getByText(/replicas were changed from \d to \d by hand/)).toBeVisible();
  await expect(fault, "closed by the choice").toBeHidden();

  await page.getByRole("button", { name: "Inject fault" }).click();
  await update(page, "cluster_read", "high");
  await expect(page.getByText("tide=high")).toBeVisible();
  await expect(fault, "also after a choice").toBeVisible();
  await page.keyboard.press("Escape");
  await expect(fault).toBeHidden();

  const account = page.getByRole("button", { name: "Sign out" });
  await page.getByRole("button", { name: "signed in as demo" }).click();
  await update(page, "frame_read", "low");
  await expect(account).toBeVisible();

  await open(page, "/workloads/lighthouse");
  await page.getByRole("button", { name: "More actions" }).click();
  await update(page, "workload_head_read", "high");
  await page.getByRole("link", { name: "Sync…" }).click();
  await expect(page).toHaveURL(/\?dialog=sync$/);
  await expect(page.getByRole("dialog", { name: /^Sync lighthouse/ })).toBeVisible();
});

test("what is typed in a dialog stays while its page is updated, and only the whole name deletes", async ({ page }) => {
  await open(page, "/workloads/lighthouse?dialog=delete");
  const dialog = page.getByRole("dialog", { name: /^Delete lighthouse/ });
  await dialog.getByLabel(/^Orphan/).check();
  await dialog.getByLabel(/^Type lighthouse/).fill("light");
  await expect(dialog.getByRole("button", { name: "Delete" })).toBeDisabled();
  await update(page, "workload_head_read", "low");
  await expect(dialog.getByLabel(/^Type lighthouse/)).toHaveValue("light");
  await expect(dialog.getByLabel(/^Orphan/)).toBeChecked();
  await dialog.getByLabel(/^Type lighthouse/).fill("lighthouse");
  await expect(dialog.getByRole("button", { name: "Delete" })).toBeEnabled();
  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/\/workloads\/lighthouse$/);
  await expect(page.locator("#content"), "nothing else had the focus").toBeFocused();
});

test("a page is not read again while what it shows is deleted, also if the notice arrives before the response", async ({ page, context }) => {
  const list = await context.newPage();
  await open(list, "/workloads");
  const created = await list.evaluate(async () => {
    const [headers, body] = [{ "content-type": "application/json" }, JSON.stringify({ name: "wreck", spec: { namespace: "wreck" } })];
    return (await fetch("/api/v1/projects/default/workloads", { method: "POST", headers, body })).status;
  });
  expect(created).toBe(201);
  await expect(row(list, "wreck")).toBeVisible();
  await open(page, "/workloads/wreck?dialog=delete");
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/api/fn/workload_delete*", async (route) => {
    const response = await route.fetch();
    await released;
    await route.fulfill({ response });
  });
  const dialog = page.getByRole("dialog", { name: /^Delete wreck/ });
  await dialog.getByLabel(/^Type wreck/).fill("wreck");
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(row(list, "wreck"), "the notice arrived").toHaveCount(0);
  // The other page waits as long for the next notice as this one at most waited for the one before.
  await update(list, "workloads_read", "low");
  await expect(dialog).toBeVisible();
  release();
  await expect(page).toHaveURL(/\/workloads$/);
  await notListed(page, "wreck");
  await update(page, "workloads_read", "high");
  await list.close();
});

test("the focus stays on its row while the list is updated", async ({ page }) => {
  await open(page, "/clusters");
  const link = (name: string) => page.getByRole("rowheader", { name }).getByRole("link");
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await expect(link("eu-west-2")).toBeFocused();
  await update(page, "clusters_read", "low");
  await expect(link("eu-west-2")).toBeFocused();
  await page.keyboard.press("j");
  await expect(link("eu-west-3")).toBeFocused();
});

test("every file that a page preloads is used", async ({ page }) => {
  const warnings: string[] = [];
  page.on("console", (message) => {
    if (PRELOAD_WARNING.test(message.text())) warnings.push(message.text());
  });
  // A file that nothing uses is reported after every load; one that a slow machine uses late, only after some.
  await expect(async () => {
    warnings.length = 0;
    await open(page, "/");
    // The browser reports 3 s after the load.
    await page.waitForTimeout(5_000);
    expect(warnings).toEqual([]);
  }).toPass({ timeout: PATIENCE });
});
