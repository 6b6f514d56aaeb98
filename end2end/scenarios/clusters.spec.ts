// Actions on clusters and groups: cordon, taints, annotations, values, deletion, join tokens, features of a group (S0-3, S4-7).

import { accessible, chooseAction, expect, open, packChart, remove, row, signIn, test } from "./kit.js";
import { Server } from "./server.js";

/** The tabs of a cluster: the name, the tab in the address, and a region that only this tab has. */
const TABS = [
  ["Workloads", "workloads", "Helm releases"],
  ["Resources", "resources", "API and classes"],
  ["Config", "config", "Annotations"],
  ["Access", "access", "What the server may write"],
] as const;

test("s0_3 every tab of a cluster has an address, and Back returns to the former one", async ({ page }) => {
  await open(page, "/clusters/eu-west-1");
  const tabs = page.getByRole("navigation", { name: "Parts of this cluster" });
  await expect(page.getByRole("region", { name: "Conditions" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Capacity" })).toContainText(/\d of \d+ schedulable/);
  await expect(page.getByRole("region", { name: "Capacity" }), "what is not reported is not zero").toContainText("use not reported");
  await expect(page.getByRole("region", { name: "Credentials" })).toContainText("no certificate");
  for (const [name, tab, region] of TABS) {
    await tabs.getByRole("link", { name }).click();
    await expect(page).toHaveURL(new RegExp(`/clusters/eu-west-1\\?tab=${tab}$`));
    await expect(tabs.getByRole("link", { name })).toHaveAttribute("aria-current", "page");
    await expect(page.getByRole("region", { name: region })).toBeVisible();
    await expect(page.getByRole("region", { name: "Conditions" })).toHaveCount(0);
  }
  await page.goBack();
  await expect(page.getByRole("region", { name: "Annotations" })).toBeVisible();
  await tabs.getByRole("link", { name: "Events" }).click();
  await expect(page.getByRole("link", { name: "All events of this cluster" })).toHaveAttribute("href", "/events?cluster=eu-west-1");

  // The filter by state belongs to the tab of the workloads.
  await tabs.getByRole("link", { name: "Workloads" }).click();
  const workloads = page.getByRole("region", { name: "Workloads on this cluster" });
  await expect(row(workloads, "lighthouse")).toContainText("Healthy");
  await workloads.getByRole("link", { name: /^\d+ Healthy$/ }).click();
  await expect(page).toHaveURL(/\?tab=workloads&state=healthy$/);
  await expect(row(workloads, "lighthouse")).toBeVisible();
  await tabs.getByRole("link", { name: "Overview" }).click();
  await expect(page).toHaveURL(/\/clusters\/eu-west-1$/);
  await expect(row(page, "lighthouse")).toBeVisible();

  // A part of the first tab is in sight also when the link is followed on another tab.
  await tabs.getByRole("link", { name: "Access" }).click();
  await expect(page.getByRole("region", { name: "What the server may write" })).toContainText(/All \d+ kinds of the cluster, in every namespace\./);
  await page.setViewportSize({ width: 1280, height: 420 });
  await chooseAction(page, "Edit labels");
  await expect(page).toHaveURL(/\/clusters\/eu-west-1#labels$/);
  await expect(page.getByRole("heading", { name: "Labels" })).toBeInViewport();

  // On a phone the row of tabs scrolls to the current one.
  await page.setViewportSize({ width: 390, height: 844 });
  await open(page, "/clusters/eu-west-1?tab=events");
  await expect(tabs.getByRole("link", { name: "Events" })).toBeInViewport({ ratio: 1 });
});

test("s0_3 a cluster is cordoned and uncordoned, and the page says what that means", async ({ page }) => {
  await open(page, "/clusters/us-east-2");
  const scheduling = page.getByRole("region", { name: "Scheduling" });
  await expect(scheduling).toContainText("A cordon keeps new workloads away.");
  await scheduling.getByRole("button", { name: "Cordon" }).click();
  await expect(scheduling).toContainText("Cordoned: no new workload is placed on this cluster. Those on it stay and are updated.");
  await expect(row(page, "lighthouse"), "what runs there stays").toContainText("Healthy");
  await accessible(page, "a cordoned cluster");
  await scheduling.getByRole("button", { name: "Uncordon" }).click();
  await expect(scheduling.getByRole("button", { name: "Cordon", exact: true })).toBeVisible();
});

test("s0_3 a taint by which a workload would leave is confirmed first, and the page then shows when it leaves", async ({ page, faults }) => {
  faults.expect(/422/);
  await open(page, "/clusters/us-east-2");
  const taints = page.getByRole("region", { name: "Taints" });
  const key = taints.getByLabel("A taint to set, key or key=value");
  await taints.getByText("Set a taint").click();
  await key.fill("not a key");
  await taints.getByLabel("Effect").selectOption("NoSelectIfNew");
  await taints.getByRole("button", { name: "Set" }).click();
  await expect(taints.getByRole("alert")).toContainText("is not the key of a taint");
  await expect(key, "the input is retained").toHaveValue("not a key");

  // Nothing leaves, so nothing is asked.
  await key.fill("dedicated=gpu");
  await taints.getByRole("button", { name: "Set" }).click();
  await expect(taints.getByText("dedicated=gpu:NoSelectIfNew")).toBeVisible();
  await expect(page.getByRole("dialog")).toHaveCount(0);

  await key.fill("dedicated=gpu");
  await taints.getByLabel("Effect").selectOption("NoSelect");
  await taints.getByRole("button", { name: "Set" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Set the taint dedicated=gpu:NoSelect on us-east-2?");
  await expect(dialog).toContainText(/workloads? would leave:/);
  await expect(dialog).toContainText("lighthouse");
  await accessible(page, "the question about a taint");
  await dialog.getByRole("link", { name: "Cancel" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(taints.getByText("dedicated=gpu:NoSelect", { exact: true })).toHaveCount(0);

  await key.fill("dedicated=gpu");
  await taints.getByLabel("Effect").selectOption("NoSelect");
  await taints.getByRole("button", { name: "Set" }).click();
  await dialog.getByRole("button", { name: "Set" }).click();
  await expect(taints.getByText("dedicated=gpu:NoSelect", { exact: true })).toBeVisible();
  await expect(dialog).toHaveCount(0);
  const leaving = row(page, "lighthouse").getByRole("link", { name: /^leaves in 1\d\smin$/ });
  await expect(leaving).toBeVisible();
  await accessible(page, "a cluster that a workload is about to leave");

  for (const effect of ["NoSelect", "NoSelectIfNew"]) {
    await taints.getByRole("button", { name: `Remove the taint dedicated=gpu:${effect}`, exact: true }).click();
    await expect(taints.getByText(`dedicated=gpu:${effect}`, { exact: true })).toHaveCount(0);
  }
  await expect(leaving).toHaveCount(0);
});

test("s4_7 annotations and values are set, and an error in the values names its line and loses nothing", async ({ page, context, faults }) => {
  faults.expect(/409|412|422/);
  await open(page, "/clusters/us-east-2?tab=config");
  const annotations = page.getByRole("region", { name: "Annotations" });
  await annotations.getByText("Set an annotation").click();
  await annotations.getByLabel("Key of an annotation to set").fill("example.com/owner");
  await annotations.getByLabel("Value of the annotation").fill("team a");
  await annotations.getByRole("button", { name: "Set" }).click();
  await expect(row(annotations, "example.com/owner")).toContainText("team a");
  await annotations.getByLabel("Key of an annotation to set").fill("not a key");
  await annotations.getByRole("button", { name: "Set" }).click();
  await expect(annotations.getByRole("alert")).toContainText("is not an annotation key");
  await expect(annotations.getByLabel("Key of an annotation to set")).toHaveValue("not a key");

  const values = page.getByRole("region", { name: "Values", exact: true });
  const editor = values.locator(".cm-content");
  await values.getByText("Edit values").click();
  await editor.fill("net:\n  cidr: [10.0.0.0/8\n");
  await values.getByRole("button", { name: "Save values" }).click();
  await expect(values.getByRole("alert")).toContainText(/not valid YAML.*at line \d/);
  await expect(editor, "the input is retained").toContainText("cidr: [10.0.0.0/8");
  await editor.fill('{"net": {"cidr": "10.0.0.0/8"}}');
  await values.getByRole("button", { name: "Save values" }).click();
  await expect(values.getByText("Values saved.")).toBeVisible();
  await accessible(page, "a cluster with annotations and values");

  // Another tab changes the values in the meantime; a change of something else is no conflict.
  const other = await context.newPage();
  await open(other, "/clusters/us-east-2?tab=config");
  await expect(other.getByRole("region", { name: "Values", exact: true }).locator(".cm-content")).toContainText('cidr: "10.0.0.0/8"');
  await other.getByRole("region", { name: "Annotations" }).getByRole("button", { name: "Remove the annotation example.com/owner" }).click();
  await expect(row(annotations, "example.com/owner")).toHaveCount(0);
  await editor.fill("zone: a\n");
  await values.getByRole("button", { name: "Save values" }).click();
  await expect(values.getByText("Values saved.")).toBeVisible();
  const theirs = other.getByRole("region", { name: "Values", exact: true });
  await theirs.locator(".cm-content").fill("zone: b\n");
  await theirs.getByRole("button", { name: "Save values" }).click();
  await expect(theirs.getByRole("alert")).toContainText("somebody else changed this in the meantime");
  await expect(theirs.locator(".cm-content")).toContainText("zone: b");
  await other.close();
});

test("s0_3 the Helm releases that an agent reports are listed with the workload that manages them", async ({ page }) => {
  await open(page, "/clusters/eu-west-3?tab=workloads");
  const releases = page.getByRole("region", { name: "Helm releases" });
  await expect(releases).toContainText("No Helm release in any namespace.");

  await open(page, "/charts");
  const template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: buoy}\ndata: {colour: red}\n";
  const chart = packChart("buoy", { "Chart.yaml": "apiVersion: v2\nname: buoy\nversion: 1.0.0\n", "templates/config.yaml": template });
  await page.locator("input[type=file]").setInputFiles({ name: "buoy-1.0.0.tgz", mimeType: "application/gzip", buffer: chart });
  await expect(page.getByText("local/buoy 1.0.0 uploaded.")).toBeVisible();
  const statuses = await page.evaluate(async () => {
    const post = async (path: string, body: object): Promise<number> => {
      const headers = { "content-type": "application/json" };
      return (await fetch(`/api/v1/projects/default/workloads${path}`, { method: "POST", headers, body: JSON.stringify(body) })).status;
    };
    const spec = {
      namespace: "buoy",
      source: { type: "chart", chart: "local/buoy", version: "1.0.0" },
      placement: { predicates: [{ names: ["eu-west-3"] }] },
      policies: { helmRelease: "record" },
    };
    return [await post("", { name: "buoy", spec }), await post("/buoy:publish", {})];
  });
  expect(statuses.map((status) => Math.floor(status / 100))).toEqual([2, 2]);
  await open(page, "/clusters/eu-west-3?tab=workloads");
  await expect(row(releases, "buoy")).toContainText("deployed");
  await expect(row(releases, "buoy").getByRole("link", { name: "buoy" })).toHaveAttribute("href", "/workloads/buoy");
  await accessible(page, "a cluster with a Helm release");
  await remove(page, "buoy");
});

test("s0_3 a label is removed only after the question which workloads would leave", async ({ page }) => {
  await open(page, "/clusters/us-east-2");
  await page.getByRole("button", { name: "Remove env" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Remove the label env from us-east-2?");
  await expect(dialog).toContainText(/workloads? would leave:/);
  await dialog.getByRole("link", { name: "Cancel" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole("button", { name: "Remove env" })).toBeVisible();
});

test("s0_3 a cluster with a workload is deleted only by its name and with the consequence confirmed", async ({ browser, faults }) => {
  faults.expect(/404|422/);
  const demo = await Server.startDemo("deleted-cluster");
  const context = await browser.newContext({ baseURL: demo.address });
  try {
    const page = await context.newPage();
    await signIn(page, demo.password());
    await open(page, "/clusters/us-east-2");
    await expect(row(page, "lighthouse")).toContainText("Healthy");
    await expect(page.getByRole("link", { name: "Revoke certificates…" }), "the server serves it").toHaveCount(0);
    await chooseAction(page, "Edit labels");
    await expect(page).toHaveURL(/us-east-2#labels$/);
    await chooseAction(page, "Delete…");
    const dialog = page.getByRole("dialog");
    await expect(dialog).toContainText("Delete us-east-2 with 1 workload?");
    await expect(dialog).toContainText("1 workload has a release there:");
    await expect(dialog).toContainText("Their objects are left running.");
    await accessible(page, "the question about a deletion");
    await expect(dialog.getByRole("button", { name: "Delete" })).toBeDisabled();
    await dialog.getByLabel(/^Type us-east-2/).fill("us-east-2");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(dialog, "the browser requires the tick too").toBeVisible();
    await dialog.getByLabel("Delete it anyway").check();
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page).toHaveURL(/\/clusters$/);
    await expect(row(page, "us-east-1")).toBeVisible();
    await expect(row(page, "us-east-2")).toHaveCount(0);
  } finally {
    await context.close();
    await demo.stop();
  }
});

test("s0_3 a join token is created, shown once, listed, and revoked after a question", async ({ page, faults }) => {
  faults.expect(/422/);
  await open(page, "/join");
  const tokens = page.getByRole("region", { name: "Join tokens" });
  await tokens.getByText("Create a token").click();
  await tokens.getByLabel("Only for the cluster").fill("edge-7");
  await tokens.getByLabel("Uses", { exact: true }).fill("2");
  await tokens.getByRole("button", { name: "Create token" }).click();
  await expect(tokens.getByRole("alert")).toContainText("can be used only once");
  await expect(tokens.getByLabel("Only for the cluster"), "the input is retained").toHaveValue("edge-7");
  await tokens.getByLabel("Uses", { exact: true }).fill("1");
  await tokens.getByRole("button", { name: "Create token" }).click();
  await expect(tokens.getByText("Copy the token now.")).toBeVisible();
  await expect(row(tokens, "edge-7")).toContainText("1 of 1");
  await expect(row(tokens, "edge-7")).toContainText("demo");
  await accessible(page, "a new join token");

  await open(page, "/join");
  await expect(tokens.getByText("Copy the token now.")).toHaveCount(0);
  await row(tokens, "edge-7").getByRole("link", { name: /^Revoke the token/ }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Revoke the join token for edge-7?");
  await expect(dialog).toContainText("No cluster has joined with it.");
  await accessible(page, "the question about a join token");
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(row(tokens, "edge-7")).toContainText("revoked");
});

test("s1_2 the features of a group are enabled, changed and disabled, and a lock rejects a change of the members", async ({ page, faults }) => {
  faults.expect(/409|422/);
  await open(page, "/new-group");
  await page.getByLabel("Name", { exact: true }).fill("shore");
  await page.getByRole("checkbox", { name: "Member by name: eu-west-1" }).check();
  await page.getByRole("button", { name: "Create group" }).click();
  await expect(page).toHaveURL(/\/groups\/shore$/);
  const lock = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "Membership lock" }) });
  await expect(lock).toContainText("Disabled");
  await lock.getByText("Properties", { exact: true }).first().click();
  await lock.getByLabel("Properties of Membership lock").fill("owner: [");
  await lock.getByRole("button", { name: "Enable: Membership lock" }).click();
  await expect(page.getByRole("region", { name: "Features" }).getByRole("alert")).toContainText(/at line \d/);
  await lock.getByLabel("Properties of Membership lock").fill("owner: sre");
  await lock.getByRole("button", { name: "Enable: Membership lock" }).click();
  await expect(lock).toContainText("Enabled");
  await expect(page.getByText("The members are locked.")).toBeVisible();
  await accessible(page, "a group with a lock");

  await page.getByRole("checkbox", { name: "Member by name: eu-west-2" }).check();
  await page.getByRole("button", { name: "Save members" }).click();
  await expect(page.getByRole("complementary").getByRole("alert")).toContainText("feature membershipLock of group \"shore\" is enabled");
  await expect(page.getByRole("checkbox", { name: "Member by name: eu-west-2" }), "the input is retained").toBeChecked();
  await page.getByRole("link", { name: "Discard" }).click();
  await lock.getByRole("button", { name: "Disable: Membership lock" }).click();
  await expect(lock).toContainText("Disabled");
  await expect(page.getByText("The members are locked.")).toHaveCount(0);

  await page.getByRole("button", { name: "Disable: Deployments" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("The group has no deployments.");
  await accessible(page, "the question about a feature");
  await dialog.getByRole("button", { name: "Disable" }).click();
  await expect(dialog).toHaveCount(0);
  const deployment = page.getByRole("listitem").filter({ has: page.getByRole("heading", { name: "Deployments" }) });
  await expect(deployment).toContainText("Disabled");

  await chooseAction(page, "Delete group");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page).toHaveURL(/\/groups$/);
});

test.describe("without script", () => {
  test.use({ javaScriptEnabled: false });

  test("s0_3 every tab of a cluster is a link to a complete page", async ({ page }) => {
    await page.goto("/clusters/eu-west-1");
    const tabs = page.getByRole("navigation", { name: "Parts of this cluster" });
    for (const [name, tab, region] of TABS) {
      await tabs.getByRole("link", { name }).click();
      await expect(page).toHaveURL(new RegExp(`\\?tab=${tab}$`));
      await expect(page.getByRole("region", { name: region })).toBeVisible();
    }
    await tabs.getByRole("link", { name: "Events" }).click();
    await expect(page.getByRole("link", { name: "All events of this cluster" })).toBeVisible();
  });

  test("s0_3 a cordon, a taint with its question and a rejected annotation are plain form posts", async ({ page }) => {
    await page.goto("/clusters/eu-west-3");
    await page.getByRole("button", { name: "Cordon" }).click();
    await expect(page.getByText("Cordoned: no new workload is placed on this cluster.")).toBeVisible();
    await page.getByRole("button", { name: "Uncordon" }).click();
    await expect(page.getByRole("button", { name: "Cordon", exact: true })).toBeVisible();

    await page.goto("/clusters/eu-west-3?tab=config");
    await page.getByText("Set an annotation").click();
    await page.getByLabel("Key of an annotation to set").fill("not a key");
    await page.getByRole("region", { name: "Annotations" }).getByRole("button", { name: "Set" }).click();
    await expect(page.getByRole("alert")).toContainText("is not an annotation key");

    await page.goto("/clusters/eu-west-3?tab=config");
    await page.getByText("Set an annotation").click();
    await page.getByLabel("Key of an annotation to set").fill("example.com/owner");
    await page.getByRole("region", { name: "Annotations" }).getByRole("button", { name: "Set" }).click();
    await expect(page, "a form leads back to its tab").toHaveURL(/\/clusters\/eu-west-3\?tab=config$/);
    await page.getByRole("button", { name: "Remove the annotation example.com/owner" }).click();
    await expect(page.getByRole("button", { name: "Remove the annotation example.com/owner" })).toHaveCount(0);

    await page.goto("/clusters/us-east-1");
    await page.getByText("Set a taint").click();
    await page.getByLabel("A taint to set, key or key=value").fill("dedicated");
    await page.getByRole("region", { name: "Taints" }).getByRole("button", { name: "Set" }).click();
    await expect(page.getByText(/workloads? would leave:/)).toBeVisible();
    await page.getByRole("link", { name: "Cancel" }).click();
    await expect(page.getByText(/workloads? would leave:/)).toHaveCount(0);

    await page.goto("/clusters/eu-west-3?dialog=delete");
    await expect(page.getByRole("heading", { name: /^Delete eu-west-3/ })).toBeVisible();
  });
});
