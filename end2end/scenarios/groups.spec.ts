// Cluster groups: made, asked for by a placement, changed, forgotten (S1-1, S1-2).

import { accessible, expect, open, row, test } from "./kit.js";

test("a group is made, used, changed only by who has seen it, and forgotten when nobody asks for it", async ({ page, context, faults }) => {
  faults.expect(/412|409|422/);
  await open(page, "/clusters");
  await page.getByRole("link", { name: "Groups" }).click();
  await expect(page.getByRole("heading", { name: "No groups yet" })).toBeVisible();

  await page.getByLabel("Name", { exact: true }).fill("edge");
  await page.getByLabel("Clusters by name").fill("eu-west-1\nnot-here");
  await page.getByLabel("And every cluster with these labels").fill("region in (");
  await page.getByRole("button", { name: "Make group" }).click();
  await expect(page.getByRole("alert")).toContainText("region in (");
  await expect(page.getByLabel("Clusters by name"), "nothing typed is lost").toHaveValue("eu-west-1\nnot-here");
  await page.getByLabel("And every cluster with these labels").fill("region=us-east");
  await page.getByRole("button", { name: "Make group" }).click();

  await expect(page).toHaveURL(/\/groups\/edge$/);
  await expect(page.getByText("Not here yet, or misspelt: not-here.")).toBeVisible();
  await expect(page.getByText("2 clusters match region=us-east now.")).toBeVisible();
  await expect(page.getByText("No workload asks for this group.")).toBeVisible();
  await accessible(page, "a group");

  // Somebody else changes it meanwhile.
  const other = await context.newPage();
  await open(other, "/groups/edge");
  await other.getByLabel("Clusters by name").fill("eu-west-1, eu-west-2");
  await other.getByRole("button", { name: "Save" }).click();
  await expect(other.getByText("Not here yet")).toHaveCount(0);
  await other.close();
  await page.getByLabel("Clusters by name").fill("eu-west-3");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByRole("alert")).toContainText("somebody changed this meanwhile");

  await open(page, "/groups");
  await expect(row(page, "edge")).toContainText("eu-west-1 and eu-west-2");
  await page.getByRole("link", { name: "edge", exact: true }).click();
  await page.getByText("Delete group").click();
  await page.getByRole("button", { name: "Delete it" }).click();
  await expect(page).toHaveURL(/\/groups$/);
  await expect(page.getByRole("heading", { name: "No groups yet" })).toBeVisible();
});
