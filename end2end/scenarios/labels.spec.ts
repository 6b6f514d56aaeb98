// Labels of clusters and placements that select by them.

import { expect, open, requireLabel, row, SAVED, test } from "./kit.js";

test("a label set on a cluster changes the placement immediately, with the reason", async ({ page, faults }) => {
  faults.expect(/422/);
  await open(page, "/clusters/eu-west-3");
  await page.locator("summary", { hasText: "Add a label" }).click();
  await page.getByLabel("A label to add, key=value").fill("shore=north");
  await page.getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("button", { name: "Remove shore" })).toBeVisible();

  await open(page, "/workloads/lighthouse?tab=placement");
  await expect(page.getByRole("heading", { name: /^4 of 5 clusters selected/ })).toBeVisible();
  const refused = page.getByRole("table", { name: "Clusters not selected" });
  await expect(row(refused, "eu-west-3")).toContainText("env=staging");
  await requireLabel(page, "shore", "north");
  await expect(page.getByRole("heading", { name: /^1 of 5 clusters selected/ })).toBeVisible();
  await expect(row(page.getByRole("table", { name: "Selected clusters" }), "eu-west-3")).toContainText("shore=north");
  await expect(row(refused, "eu-west-1")).toContainText("set the label shore=north");

  // An invalid selector is reported.
  await page.getByLabel("Key of label 1").fill("shore in (north");
  await page.getByLabel("Values of label 1").fill("");
  await expect(page.getByRole("heading", { name: "The placement can't be read yet" })).toBeVisible();
  await page.getByLabel("Key of label 1").fill("env=prod");
  await expect(page.getByRole("heading", { name: /^4 of 5 clusters selected/ })).toBeVisible();
  await expect(page.getByText(SAVED)).toBeVisible();

  await open(page, "/clusters/eu-west-3");
  await page.getByRole("button", { name: "Remove shore" }).click();
  await expect(page.getByRole("button", { name: "Remove shore" })).toHaveCount(0);
});

test("e_6 a label removed by mistake removes no workload: the user cancels the removal, or sets the label again", async ({ page }) => {
  await open(page, "/clusters/eu-west-2");
  await page.getByRole("button", { name: "Remove env" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await expect(page.getByRole("button", { name: "Remove env" })).toHaveCount(0);
  await expect(row(page, "lighthouse").getByRole("link", { name: /^leaves in 1\d\smin$/ })).toBeVisible();

  await open(page, "/workloads/lighthouse");
  await expect(page.getByText(/^removal in 1\d\smin$/)).toBeVisible();
  await page.getByRole("button", { name: "Cancel removal of lighthouse from eu-west-2" }).click();
  await expect(page.getByText("Retained by demo although the placement no longer matches: eu-west-2.")).toBeVisible();
  await expect(row(page, "eu-west-2")).toContainText("Healthy");

  await open(page, "/clusters/eu-west-2");
  await page.locator("summary", { hasText: "Add a label" }).click();
  await page.getByLabel("A label to add, key=value").fill("env=prod");
  await page.getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("button", { name: "Remove env" })).toBeVisible();
  await open(page, "/workloads/lighthouse");
  await expect(page.getByText(/^Retained by demo/)).toHaveCount(0);
});

test("changes during the loading of the module are visible once the page is live", async ({ page, context }) => {
  let release = (): void => undefined;
  const released = new Promise<void>((done) => (release = done));
  await page.route(/\/pkg\/frontend\..*\.js$/, async (route) => {
    await released;
    await route.continue();
  });
  await page.goto("/clusters/eu-west-3", { waitUntil: "commit" });
  await expect(page.getByRole("button", { name: "Remove env" })).toBeVisible();

  const other = await context.newPage();
  await open(other, "/clusters/eu-west-3");
  await other.locator("summary", { hasText: "Add a label" }).click();
  await other.getByLabel("A label to add, key=value").fill("late=yes");
  await other.getByRole("button", { name: "Add" }).click();
  await expect(other.getByRole("button", { name: "Remove late" })).toBeVisible();

  release();
  await expect(page.getByRole("button", { name: "Remove late" })).toBeVisible();
  await other.getByRole("button", { name: "Remove late" }).click();
  await expect(page.getByRole("button", { name: "Remove late" })).toHaveCount(0);
});

test("an invalid label is rejected with the expected format", async ({ page, faults }) => {
  faults.expect(/422|400/);
  await open(page, "/clusters/eu-west-3");
  await page.locator("summary", { hasText: "Add a label" }).click();
  await page.getByLabel("A label to add, key=value").fill("-bad-/x=y");
  await page.getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("alert")).toContainText(/label/i);
});

test("clusters are filtered by label", async ({ page }) => {
  await open(page, "/clusters");
  await page.getByLabel("Labels").fill("tier=gold");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/labels=tier/);
  await expect(row(page, "eu-west-1")).toBeVisible();
  await expect(row(page, "us-east-1")).toBeVisible();
  await expect(row(page, "eu-west-2")).toHaveCount(0);
});
