// Labels decide where workloads belong.

import { expect, open, row, test } from "./kit.js";

test("a label set on a cluster is seen by the placement at once, with the because", async ({ page }) => {
  await open(page, "/clusters/eu-west-3");
  await page.getByLabel("A label to add, key=value").fill("shore=north");
  await page.getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("button", { name: "Remove shore" })).toBeVisible();

  await open(page, "/workloads/lighthouse?tab=placement");
  await expect(page.getByRole("heading", { name: /^4 of 5 clusters chosen/ })).toBeVisible();
  const refused = page.getByRole("table", { name: "Refused clusters" });
  await expect(row(refused, "eu-west-3")).toContainText("env=staging");
  await page.getByLabel("All of these labels").fill("shore=north");
  await expect(page.getByRole("heading", { name: /^1 of 5 clusters chosen/ })).toBeVisible();
  await expect(row(page.getByRole("table", { name: "Chosen clusters" }), "eu-west-3")).toContainText("shore=north");
  await expect(row(refused, "eu-west-1")).toContainText("set the label shore=north");

  // What can't be read is said at the field.
  await page.getByLabel("All of these labels").fill("shore in (north");
  await expect(page.getByRole("heading", { name: "The placement can't be read yet" })).toBeVisible();

  await open(page, "/clusters/eu-west-3");
  await page.getByRole("button", { name: "Remove shore" }).click();
  await expect(page.getByRole("button", { name: "Remove shore" })).toHaveCount(0);
});

test("e_6 a label taken away by mistake takes nothing away: a person keeps it there, or sets the label again", async ({ page }) => {
  await open(page, "/clusters/eu-west-2");
  await page.getByRole("button", { name: "Remove env" }).click();
  await expect(page.getByRole("button", { name: "Remove env" })).toHaveCount(0);

  await open(page, "/workloads/lighthouse");
  await expect(page.getByText(/^leaves in 1\d min$/)).toBeVisible();
  await page.getByRole("button", { name: "Keep lighthouse on eu-west-2" }).click();
  await expect(page.getByText("Kept by demo although it no longer matches: eu-west-2.")).toBeVisible();
  await expect(row(page, "eu-west-2")).toContainText("Healthy");

  await open(page, "/clusters/eu-west-2");
  await page.getByLabel("A label to add, key=value").fill("env=prod");
  await page.getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("button", { name: "Remove env" })).toBeVisible();
  await open(page, "/workloads/lighthouse");
  await expect(page.getByText(/^Kept by demo/)).toHaveCount(0);
});

test("what happens while the program is still on its way is seen once the page is alive", async ({ page, context }) => {
  let release = (): void => undefined;
  const held = new Promise<void>((done) => (release = done));
  await page.route(/\/pkg\/frontend\..*\.js$/, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto("/clusters/eu-west-3", { waitUntil: "commit" });
  await expect(page.getByRole("button", { name: "Remove env" })).toBeVisible();

  const other = await context.newPage();
  await open(other, "/clusters/eu-west-3");
  await other.getByLabel("A label to add, key=value").fill("late=yes");
  await other.getByRole("button", { name: "Add" }).click();
  await expect(other.getByRole("button", { name: "Remove late" })).toBeVisible();

  release();
  await expect(page.getByRole("button", { name: "Remove late" })).toBeVisible();
  await other.getByRole("button", { name: "Remove late" }).click();
  await expect(page.getByRole("button", { name: "Remove late" })).toHaveCount(0);
});

test("what is no label is refused and says how one is written", async ({ page, faults }) => {
  faults.expect(/422|400/);
  await open(page, "/clusters/eu-west-3");
  await page.getByLabel("A label to add, key=value").fill("-bad-/x=y");
  await page.getByRole("button", { name: "Add" }).click();
  await expect(page.getByRole("alert")).toContainText(/label/i);
});

test("clusters are found by name and by label", async ({ page }) => {
  await open(page, "/clusters");
  await page.getByLabel("Labels").fill("tier=gold");
  await page.getByRole("button", { name: "Filter" }).click();
  await expect(page).toHaveURL(/labels=tier/);
  await expect(row(page, "eu-west-1")).toBeVisible();
  await expect(row(page, "us-east-1")).toBeVisible();
  await expect(row(page, "eu-west-2")).toHaveCount(0);
});
