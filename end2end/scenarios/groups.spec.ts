// Cluster groups: create, pick members, see the effect, change, delete (S1-1, S1-2).

import { type Page } from "@playwright/test";
import { accessible, accessibleAtEverySize, chooseAction, describe, expect, open, publish, remove, row, step, test, toStep } from "./kit.js";

/** The box of a cluster in the list of members. */
const pick = (page: Page, cluster: string) => page.getByRole("checkbox", { name: `Member by name: ${cluster}` });

test("a group is created, changed only from its current revision, and deleted when no workload uses it", async ({ page, context, faults }) => {
  faults.expect(/412|409|422/);
  await open(page, "/clusters");
  await page.getByRole("navigation", { name: "Main", exact: true }).getByRole("link", { name: "Groups" }).click();
  await expect(page.getByRole("heading", { name: "No groups yet" })).toBeVisible();
  await page.getByRole("link", { name: "New group" }).click();

  await page.getByLabel("Name", { exact: true }).fill("edge");
  await pick(page, "eu-west-1").check();
  await page.getByLabel("Clusters by label").fill("region in (");
  await accessible(page, "a new group");
  await page.getByRole("button", { name: "Create group" }).click();
  await expect(page.getByRole("alert")).toContainText("region in (");
  await expect(pick(page, "eu-west-1"), "the input is retained").toBeChecked();
  await page.getByLabel("Clusters by label").fill("region=us-east");
  await page.getByRole("button", { name: "Create group" }).click();

  await expect(page).toHaveURL(/\/groups\/edge$/);
  await expect(page.getByText("3 clusters: 1 by name, 2 by label")).toBeVisible();
  await expect(row(page, "us-east-1")).toContainText("by label");
  await expect(page.getByText("No workload uses this group.", { exact: true })).toBeVisible();
  await accessibleAtEverySize(page, "a group");
  await open(page, "/groups");
  await expect(row(page, "edge")).toContainText("eu-west-1, us-east-1 and us-east-2");
  await page.goBack();

  // Members first; a search in name, region and labels.
  await expect(page.getByRole("rowheader").first()).toHaveText("eu-west-1");
  await page.getByRole("searchbox", { name: "Name, region or label" }).fill("tier=gold");
  await page.getByRole("button", { name: "Search" }).click();
  await expect(row(page, "eu-west-2")).toHaveCount(0);
  await expect(pick(page, "eu-west-1")).toBeChecked();

  // Another tab changes it in the meantime.
  const other = await context.newPage();
  await open(other, "/groups/edge");
  await pick(other, "eu-west-2").check();
  const effect = other.getByRole("complementary", { name: "Change of the members" });
  await expect(effect).toContainText("3 → 4 clusters");
  await expect(effect).toContainText("eu-west-2");
  await effect.getByRole("button", { name: "Save members" }).click();
  await expect(other.getByText("4 clusters: 2 by name, 2 by label")).toBeVisible();
  await other.close();

  // A label of the fleet is added to the selector with a click.
  await open(page, "/groups/edge");
  await page.getByRole("link", { name: /^env=staging/ }).click();
  await expect(page.getByLabel("Clusters by label")).toHaveValue("region=us-east,env=staging");
  const mine = page.getByRole("complementary", { name: "Change of the members" });
  await expect(mine.getByText(/^4 → \d clusters$/)).toBeVisible();
  await accessible(page, "a change of a group");
  await mine.getByRole("link", { name: "Discard" }).click();
  await expect(page.getByLabel("Clusters by label")).toHaveValue("region=us-east");

  await open(page, "/groups");
  await expect(row(page, "edge")).toContainText("4 clusters: 2 by name, 2 by label");
  await page.getByRole("link", { name: "edge", exact: true }).click();
  await pick(page, "us-east-1").check();
  await chooseAction(page, "Delete group");
  await page.getByRole("dialog").getByRole("link", { name: "Cancel" }).click();
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page, "the change of the members is retained").toHaveURL(/\/groups\/edge\?add=us-east-1$/);
  await page.getByRole("link", { name: "Discard" }).click();
  await expect(pick(page, "us-east-1"), "a discarded change").not.toBeChecked();
  await chooseAction(page, "Delete group");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page).toHaveURL(/\/groups$/);
  await expect(page.getByRole("heading", { name: "No groups yet" })).toBeVisible();
});

test("e_6 a change of a group shows which workloads would leave and come, and leaving has to be confirmed", async ({ page }) => {
  await open(page, "/new-group");
  await page.getByLabel("Name", { exact: true }).fill("pair");
  await pick(page, "eu-west-1").check();
  await pick(page, "eu-west-3").check();
  await page.getByRole("button", { name: "Create group" }).click();
  await expect(page).toHaveURL(/\/groups\/pair$/);
  await describe(page, "paired", "paired", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings, namespace: paired}\n");
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByText("Group", { exact: true }).click();
  await page.getByRole("checkbox", { name: "pair" }).check();
  await toStep(page, "Review");
  await publish(page, "paired");
  // Placed before the group changes: a cluster that it was never on can't lose it.
  await expect(row(page, "eu-west-3")).toContainText("Healthy");

  await open(page, "/groups/pair");
  await pick(page, "eu-west-3").uncheck();
  await pick(page, "us-east-1").check();
  const effect = page.getByRole("complementary", { name: "Change of the members" });
  await expect(effect).toContainText("2 → 2 clusters");
  await expect(effect).toContainText("would leave 1 cluster in 15 min: eu-west-3");
  await expect(effect).toContainText("would come to 1 cluster with its next publish: us-east-1");
  await expect(page.getByRole("img", { name: /healthy/ }), "the releases of its clusters").toBeVisible();
  await effect.getByLabel("Let 1 workload leave these clusters").check();
  await effect.getByRole("button", { name: "Save members" }).click();
  await expect(page).toHaveURL(/\/groups\/pair$/);
  await expect(effect).toContainText("Nothing is changed yet.");
  await open(page, "/workloads/paired");
  await expect(page.getByText(/^removal in 1\d\smin$/)).toBeVisible();
  await open(page, "/clusters/eu-west-3");
  await expect(row(page, "paired").getByRole("link", { name: /^leaves in 1\d\smin$/ })).toBeVisible();
  await remove(page, "paired");
  await open(page, "/groups/pair");
  await chooseAction(page, "Delete group");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page).toHaveURL(/\/groups$/);
});

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });

  test("members are picked over a search, with the effect before it is saved", async ({ page }) => {
    await page.goto("/new-group");
    await page.getByLabel("Name", { exact: true }).fill("plain");
    await pick(page, "eu-west-1").check();
    await page.getByRole("button", { name: "Create group" }).click();
    await expect(page).toHaveURL(/\/groups\/plain$/);

    await pick(page, "eu-west-1").uncheck();
    await page.getByRole("searchbox", { name: "Name, region or label" }).fill("us-east");
    await page.getByRole("button", { name: "Search" }).click();
    await pick(page, "us-east-2").check();
    await page.getByRole("button", { name: "Show the effect" }).click();
    const effect = page.getByRole("complementary", { name: "Change of the members" });
    await expect(effect).toContainText("1 → 1 cluster");
    await effect.getByRole("button", { name: "Save members" }).click();
    await expect(page).toHaveURL(/\/groups\/plain$/);
    await expect(pick(page, "us-east-2")).toBeChecked();
    await expect(pick(page, "eu-west-1")).not.toBeChecked();

    await chooseAction(page, "Delete group");
    await page.getByRole("button", { name: "Delete", exact: true }).click();
    await expect(page).toHaveURL(/\/groups$/);
  });
});

test("g502 a change of members and a label that an exclusive group rejects are announced before they are saved", async ({ page, faults }) => {
  faults.expect(/422/);
  await open(page, "/groups");
  const send = (method: string, path: string, body?: object): Promise<number> =>
    page.evaluate(async (request) => {
      const headers = { "content-type": "application/json" };
      const sent = request.body === undefined ? { method: request.method } : { method: request.method, headers, body: JSON.stringify(request.body) };
      return (await fetch(`/api/v1/cluster-groups${request.path}`, sent)).status;
    }, { method, path, body });
  expect(await send("POST", "", { name: "core", members: ["eu-west-1"], exclusive: true })).toBe(201);
  expect(await send("POST", "", { name: "spare", selector: "spare=yes" })).toBe(201);

  await open(page, "/groups/spare");
  await pick(page, "eu-west-1").check();
  const effect = page.getByRole("complementary", { name: "Change of the members" });
  await expect(effect).toContainText("The change would be rejected:");
  await expect(effect).toContainText("core has eu-west-1");
  await accessible(page, "a change of a group that would be rejected");

  await open(page, "/clusters/eu-west-1?dialog=label&set=spare%3Dyes");
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("The change would be rejected:");
  await expect(dialog).toContainText("the groups core and spare");
  await dialog.getByRole("link", { name: "Cancel" }).click();

  expect(await send("DELETE", "/spare")).toBe(204);
  expect(await send("DELETE", "/core")).toBe(204);
});
