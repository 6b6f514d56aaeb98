// Cluster groups: create, change, delete (S1-1, S1-2).

import { accessible, expect, open, row, test } from "./kit.js";

test("a group is created, changed only from its current revision, and deleted when no workload uses it", async ({ page, context, faults }) => {
  faults.expect(/412|409|422/);
  await open(page, "/clusters");
  await page.getByRole("link", { name: "Groups" }).click();
  await expect(page.getByRole("heading", { name: "No groups yet" })).toBeVisible();

  await page.getByLabel("Name", { exact: true }).fill("edge");
  await page.getByLabel("Clusters by name").fill("eu-west-1\nnot-here");
  await page.getByLabel("Clusters by label").fill("region in (");
  await page.getByRole("button", { name: "Create group" }).click();
  await expect(page.getByRole("alert")).toContainText("region in (");
  await expect(page.getByLabel("Clusters by name"), "the input is retained").toHaveValue("eu-west-1\nnot-here");
  await page.getByLabel("Clusters by label").fill("region=us-east");
  await page.getByRole("button", { name: "Create group" }).click();

  await expect(page).toHaveURL(/\/groups\/edge$/);
  await expect(page.getByText("No cluster has this name yet: not-here. Check the spelling.")).toBeVisible();
  await expect(page.getByText("2 clusters match region=us-east now.")).toBeVisible();
  await expect(page.getByText("No workload uses this group.", { exact: true })).toBeVisible();
  await accessible(page, "a group");

  // Another tab changes it in the meantime.
  const other = await context.newPage();
  await open(other, "/groups/edge");
  await other.getByLabel("Clusters by name").fill("eu-west-1, eu-west-2");
  await other.getByRole("button", { name: "Save" }).click();
  await expect(other.getByText("No cluster has this name yet")).toHaveCount(0);
  await other.close();
  await page.getByLabel("Clusters by name").fill("eu-west-3");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert")).toContainText("somebody else changed this in the meantime");

  await open(page, "/groups");
  await expect(row(page, "edge")).toContainText("eu-west-1 and eu-west-2");
  await page.getByRole("link", { name: "edge", exact: true }).click();
  await page.getByText("Delete group").click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page).toHaveURL(/\/groups$/);
  await expect(page.getByRole("heading", { name: "No groups yet" })).toBeVisible();
});
