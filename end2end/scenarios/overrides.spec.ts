// One override: a parallel edit is not lost, and the override alone is reviewed before it changes clusters.

import { accessible, addTarget, chooseAction, describe, expect, open, override, publish, remove, SAVED, step, targetPart, test, toStep, WEB_YAML } from "./kit.js";
import type { Page } from "@playwright/test";

const NAME = "differing";

test.describe.configure({ mode: "serial" });

/** Fills the form of an override of the replicas on one cluster. */
async function fill(page: Page, cluster: string, replicas: string): Promise<void> {
  await page.getByRole("navigation", { name: "Target clusters" }).getByRole("link", { name: cluster }).click();
  await expect(page.getByRole("heading", { name: cluster, exact: true })).toBeVisible();
  // The form of a new override.
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("");
  await page.getByLabel("Deployment web replicas").fill(replicas);
  await expect(page.getByRole("heading", { name: `Override for ${cluster}` })).toBeVisible();
}

/** The planned changes of this many clusters. */
function group(page: Page, clusters: number): ReturnType<Page["locator"]> {
  const head = new RegExp(`^${clusters} clusters?\\b`);
  return page.getByRole("region", { name: /^Changes/ }).locator("details").filter({ hasText: head });
}

test("after a parallel edit the input stays in the form, and the stored draft opens beside it", async ({ page, context, faults }) => {
  await describe(page, NAME, NAME, WEB_YAML);
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByText("All clusters", { exact: true }).click();
  await toStep(page, "Review");
  await publish(page, NAME);
  await expect(page.getByText("5 of 5 clusters healthy with r1")).toBeVisible();

  await open(page, `/workloads/${NAME}?tab=overrides`);
  await fill(page, "eu-west-1", "5");
  const other = await context.newPage();
  await open(other, `/workloads/${NAME}?tab=overrides`);
  await fill(other, "us-east-1", "3");
  await other.getByRole("button", { name: "Save override" }).click();
  await expect(other.getByText("Override us-east-1 saved.")).toBeVisible();

  faults.expect(/status (of )?412/);
  // The button is at the foot of a form that is longer than the window, and the error at its head.
  await page.setViewportSize({ width: 1280, height: 420 });
  await page.getByRole("button", { name: "Save override" }).click();
  await expect(page.getByRole("alert")).toContainText("Changed in the meantime");
  await expect(page.getByRole("alert")).toBeInViewport({ ratio: 1 });
  await page.setViewportSize({ width: 1280, height: 720 });
  await expect(page.getByRole("heading", { name: "Override for eu-west-1" })).toBeVisible();
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("5");
  await accessible(page, "a conflict");
  const opened = context.waitForEvent("page");
  await page.getByRole("link", { name: "Open the stored draft in a new tab" }).click();
  const stored = await opened;
  await expect(override(stored, "us-east-1")).toContainText("1 change");
  await expect(override(stored, "eu-west-1")).toHaveCount(0);
  await stored.close();

  // A removal that is based on an older draft is rejected too.
  await other.getByRole("link", { name: "New override" }).click();
  await other.getByLabel("Name", { exact: true }).fill("everywhere");
  await addTarget(other, "eu-west-2");
  await other.getByLabel("Deployment web replicas").fill("4");
  await other.getByRole("button", { name: "Save override" }).click();
  await expect(other.getByText("Override everywhere saved.")).toBeVisible();
  await open(page, `/workloads/${NAME}?tab=overrides`);
  await other.getByRole("button", { name: "Remove override everywhere" }).click();
  await expect(other.getByText("Override everywhere removed.")).toBeVisible();
  await page.getByRole("button", { name: "Remove override us-east-1" }).click();
  await expect(page.getByRole("alert")).toContainText("Changed in the meantime");
  await expect(override(other, "us-east-1")).toContainText("1 change");
  await other.getByRole("button", { name: "Remove override us-east-1" }).click();
  await expect(other.getByText("Override us-east-1 removed.")).toBeVisible();
  await other.close();
});

test("a saved override is reviewed with the change of every cluster before it is published alone", async ({ page }) => {
  await open(page, `/workloads/${NAME}?tab=overrides`);
  await fill(page, "eu-west-1", "5");
  await page.getByRole("button", { name: "Save and review rollout" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("r1 → r2, only override eu-west-1");
  await expect(page).toHaveURL(/plan=\w+&override=eu-west-1/);
  await expect(group(page, 1)).toContainText("eu-west-1");
  await group(page, 1).locator("summary").click();
  await expect(group(page, 1).getByText("now 2")).toBeVisible();
  await expect(group(page, 1).getByText("then 5")).toBeVisible();
  await expect(group(page, 4)).toContainText("unchanged");
  const button = page.getByRole("button", { name: "Publish to 5 clusters" });
  await expect(button).not.toHaveAttribute("aria-disabled", "true");
  await accessible(page, "the review of an override");
  await button.click();
  await expect(page).toHaveURL(new RegExp(`/workloads/${NAME}$`));
  await expect(page.getByText("5 of 5 clusters healthy with r2")).toBeVisible();
});

test("an override that a guard rail rejects can't be published, and the button shows the reason", async ({ page }) => {
  await open(page, `/workloads/${NAME}?tab=overrides&override=eu-west-1`);
  await page.getByText("Merges and patches of objects").click();
  const object = "{kind: Deployment, name: web}";
  await page.getByLabel("Patches as YAML").fill(`- {object: ${object}, op: set, path: /spec/replicas, value: many}\n`);
  await page.getByRole("button", { name: "Save and review rollout" }).click();
  await expect(page).toHaveURL(/\/publish\?.*override=eu-west-1/);
  const button = page.getByRole("button", { name: "Publish to 5 clusters" });
  await expect(button).toHaveAttribute("aria-disabled", "true");
  await expect(button).toHaveAccessibleDescription(/to fix first: G\d+/);
});

test("a removed override is reviewed and published alone", async ({ page }) => {
  await open(page, `/workloads/${NAME}?tab=overrides`);
  await page.getByRole("button", { name: "Remove override eu-west-1" }).click();
  await expect(page.getByText("Override eu-west-1 removed.")).toBeVisible();
  await page.getByRole("link", { name: "Review rollout" }).click();
  await group(page, 1).locator("summary").click();
  await expect(group(page, 1).getByText("now 5")).toBeVisible();
  await expect(group(page, 1).getByText("then 2")).toBeVisible();
  const button = page.getByRole("button", { name: "Publish to 5 clusters" });
  await expect(button).not.toHaveAttribute("aria-disabled", "true");
  await button.click();
  await expect(page.getByText("5 of 5 clusters healthy with r3")).toBeVisible();
});

test("the first override of a draft can be for labels instead of one cluster", async ({ page }) => {
  await open(page, `/workloads/${NAME}?tab=overrides`);
  await expect(page.getByRole("heading", { name: "No overrides" })).toBeVisible();
  // What differs on a cluster comes first: its override begins when a value is entered.
  const save = page.getByRole("button", { name: "Save override" });
  await expect(save).toHaveAttribute("aria-disabled", "true");
  await expect(save).toHaveAccessibleDescription("Nothing is changed.");
  await expect(page.getByRole("heading", { name: /^Override for/ })).toBeHidden();
  await expect(page.getByLabel("Also for")).toBeHidden();
  await accessible(page, "the fields of a cluster without an override");
  await page.getByRole("link", { name: "New override" }).click();
  await page.getByLabel("Name", { exact: true }).fill("europe");
  await addTarget(page, "region=eu-west");
  await page.getByLabel("Deployment web replicas").fill("4");
  await page.getByRole("button", { name: "Save override" }).click();
  await expect(page.getByText("Override europe saved.")).toBeVisible();
  await expect(override(page, "europe")).toContainText("labels region=eu-west");
  await page.getByRole("button", { name: "Remove override europe" }).click();
  await expect(page.getByText("Override europe removed.")).toBeVisible();
});

test("an override for a cluster is widened by what the fleet has, and what was picked is retained", async ({ page, faults }) => {
  faults.expect(/override_save/);
  faults.expect(/status (of )?422/);
  await open(page, `/workloads/${NAME}?tab=overrides`);
  await fill(page, "eu-west-1", "4");
  const also = page.getByLabel("Also for");
  await also.focus();
  const suggestions = page.getByRole("button", { name: /^Add (cluster|group|label|fact) / });
  await expect(suggestions.first()).toBeVisible();
  await expect(page.getByRole("button", { name: "Add cluster eu-west-1" }), "it is the target already").toHaveCount(0);
  await expect(page.getByRole("button", { name: "Add label region=eu-west 3 clusters" })).toBeVisible();
  await accessible(page, "the suggestions for a target");
  await also.fill("west-2");
  await expect(suggestions).toHaveCount(1);
  await suggestions.click();
  await expect(targetPart(page, "cluster eu-west-2")).toBeVisible();
  await expect(also).toBeFocused();
  await expect(also).toHaveValue("");
  // The error of a text that can't be added is gone once a suggestion is picked instead.
  await also.fill("=");
  await also.press("Enter");
  await expect(also).toHaveAttribute("aria-invalid", "true");
  await expect(also).toHaveAccessibleDescription(/is not a label key/);
  await page.getByRole("button", { name: /^Add label region=us-east / }).click();
  await expect(targetPart(page, "label region=us-east")).toBeVisible();
  await expect(also).toHaveValue("");
  await expect(also).toHaveAttribute("aria-invalid", "false");
  await expect(also).toHaveAccessibleDescription(/^Enter adds what is typed/);
  const clusters = page.getByRole("navigation", { name: "Target clusters" });
  for (const name of ["eu-west-1", "eu-west-2", "us-east-1"]) {
    await expect(clusters.getByRole("link", { name })).toContainText("1 field differs");
  }
  await expect(clusters.getByRole("link", { name: "eu-west-3" })).toContainText("same");

  // What is typed and not added is not dropped by a save.
  await also.fill("moon");
  await page.getByRole("button", { name: "Save override" }).click();
  await expect(page.getByRole("alert")).toContainText('"moon" is not a part of the target yet.');
  await expect(also).toHaveValue("moon");
  // The page is left with an invalid field, and opened again with the target.
  await also.fill("");
  await page.getByLabel("Deployment web replicas").fill("many");
  await page.getByRole("navigation", { name: "Parts of this workload" }).getByRole("link", { name: "History" }).click();
  const banner = page.getByRole("status").filter({ hasText: `Override eu-west-1 of ${NAME} is not saved.` });
  await banner.getByRole("link", { name: "Open what was typed" }).click();
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("many");
  await expect(targetPart(page, "cluster eu-west-2")).toBeVisible();
  await expect(targetPart(page, "label region=us-east")).toBeVisible();
  await page.getByLabel("Deployment web replicas").fill("4");
  await page.getByRole("button", { name: "Save override" }).click();
  await expect(page.getByText("Override eu-west-1 saved.")).toBeVisible();
  await expect(override(page, "eu-west-1")).toContainText("clusters eu-west-1, eu-west-2; labels region=us-east");

  // A stored override has its whole target as parts; a change is saved automatically.
  const address = `/workloads/${NAME}?tab=overrides&override=eu-west-1`;
  await open(page, address);
  await expect(page.getByLabel("Applies to")).toBeVisible();
  await addTarget(page, "moon-1");
  await expect(targetPart(page, "cluster moon-1")).toContainText("does not exist");
  await expect(page.getByText(/for "moon-1" has no effect: there is no such cluster/)).toBeVisible();
  await page.getByRole("button", { name: "Remove cluster moon-1" }).click();
  await expect(page.getByText(/for "moon-1" has no effect/)).toBeHidden();
  await page.getByRole("button", { name: "Remove label region=us-east" }).click();
  const stored = page.waitForResponse((response) => /priority(\]|%5D)=600/.test(response.request().postData() ?? ""));
  await page.locator("summary").filter({ hasText: /^More / }).click();
  await page.getByLabel("Priority", { exact: true }).fill("600");
  await stored;
  await expect(page.getByText(SAVED)).toBeVisible();
  await open(page, address);
  await expect(override(page, "eu-west-1")).toContainText("clusters eu-west-1, eu-west-2 · priority 600");
  await page.getByRole("button", { name: "Remove override eu-west-1" }).click();
  await expect(page.getByText("Override eu-west-1 removed.")).toBeVisible();
});

test("the first override of a draft can be for a group, which is selected like a cluster", async ({ page }) => {
  await open(page, "/new-group");
  await page.getByLabel("Name", { exact: true }).fill("pair");
  await page.getByRole("checkbox", { name: "Member by name: eu-west-1" }).check();
  await page.getByRole("checkbox", { name: "Member by name: us-east-1" }).check();
  await page.getByRole("button", { name: "Create group" }).click();
  await expect(page).toHaveURL(/\/groups\/pair$/);

  await open(page, `/workloads/${NAME}?tab=overrides`);
  await expect(page.getByRole("heading", { name: "No overrides" })).toBeVisible();
  const group = page.getByRole("navigation", { name: "Target groups" }).getByRole("link", { name: /^pair/ });
  await expect(group).toContainText("2 target clusters");
  await group.click();
  await expect(page.getByRole("heading", { name: "Override for group pair" })).toBeVisible();
  await expect(group).toHaveAttribute("aria-current", "true");
  await page.getByLabel("Deployment web replicas").fill("4");
  await accessible(page, "an override for a group");
  await page.getByRole("button", { name: "Save override" }).click();
  await expect(page.getByText("Override pair saved.")).toBeVisible();
  await expect(override(page, "pair")).toContainText("group pair");
  const clusters = page.getByRole("navigation", { name: "Target clusters" });
  await expect(clusters.getByRole("link", { name: /eu-west-1/ })).toContainText("1 field differs");
  await expect(clusters.getByRole("link", { name: /eu-west-2/ })).toContainText("same");

  // A group with an override of its own opens it.
  await clusters.getByRole("link", { name: /eu-west-2/ }).click();
  await expect(page.getByRole("heading", { name: "eu-west-2", exact: true })).toBeVisible();
  await group.click();
  await expect(page.getByRole("heading", { name: "Override pair" })).toBeVisible();
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("4");

  await remove(page, NAME);
  await open(page, "/groups/pair");
  await chooseAction(page, "Delete group");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page).toHaveURL(/\/groups$/);
});
