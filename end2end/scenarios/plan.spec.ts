// The plan of a publish: planned changes, rejection, staleness, and the limit on removals.

import { accessible, describe, expect, open, paste, publish, remove, requireLabel, row, step, test, toStep } from "./kit.js";
import type { Locator, Page } from "@playwright/test";

const SETTINGS = (colour: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {colour: ${colour}}\n`;

test.describe.configure({ mode: "serial" });

/** The group of this many clusters with the same planned changes. */
function group(page: Page, clusters: number): Locator {
  const head = new RegExp(`^${clusters} clusters?\\b`);
  return page.getByRole("region", { name: /^Changes/ }).locator("details").filter({ hasText: head });
}

/** Waits until every cluster has reported its planned changes. */
async function planned(page: Page): Promise<void> {
  await expect(page).toHaveURL(/plan=/);
  await expect(page.getByRole("button", { name: /^Publish to/ })).not.toHaveAttribute("aria-disabled", "true");
}

/** Saves another colour in the draft, in another tab. */
async function edit(page: Page, colour: string): Promise<void> {
  await open(page, "/workloads/tones/edit/source");
  await paste(page, "deploy.yaml", SETTINGS(colour));
  await page.getByRole("button", { name: "Continue to Placement" }).click();
  await step(page, "Placement");
}

test("the review shows what every cluster would change, from a dry run on the clusters", async ({ page }) => {
  await describe(page, "tones", "tones", SETTINGS("blue"));
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByText("All clusters", { exact: true }).click();
  await toStep(page, "Review");
  await planned(page);
  await expect(group(page, 5)).toContainText("identical change");
  await expect(group(page, 5)).toContainText("Partly validated");
  // With the objects that no cluster could validate, and the reason.
  await expect(group(page, 5)).toContainText(/No dry run of ConfigMap tones\/settings: \S+/);
  await expect(group(page, 5)).toContainText("ConfigMap tones/settings");
  await expect(page.getByText("5 accepted")).toBeVisible();
  await publish(page, "tones");
  await expect(page.getByText("5 of 5 clusters healthy with r1")).toBeVisible();
});

test("a change is displayed field by field, and a plan is rejected as stale after another edit", async ({ page, context, faults }) => {
  await edit(page, "green");
  await open(page, "/workloads/tones/publish");
  await planned(page);
  const change = group(page, 5);
  await expect(change).toContainText("data.colour");
  await expect(change.getByText("now blue")).toBeVisible();
  await expect(change.getByText("then green")).toBeVisible();

  const other = await context.newPage();
  await edit(other, "red");
  await other.close();
  faults.expect(/status (of )?412/);
  await page.getByRole("button", { name: "Publish to 5 clusters" }).click();
  await expect(page.getByText("The plan is stale")).toBeVisible();
  await page.getByRole("button", { name: "Plan again" }).click();
  await expect(group(page, 5).getByText("then red")).toBeVisible();
  await planned(page);
  await publish(page, "tones");
  await expect(page.getByText("5 of 5 clusters healthy with r2")).toBeVisible();
});

test("a draft that a guard rail rejects can't be published, and the button shows the reason", async ({ page }) => {
  await open(page, "/workloads/tones/edit/source");
  await paste(page, "deploy.yaml", SETTINGS("red").replace("kind: ConfigMap", "kind: Deployment"));
  await toStep(page, "Review");
  await expect(page).toHaveURL(/\/publish/);
  const button = page.getByRole("button", { name: "Publish to 5 clusters" });
  await expect(button).toHaveAttribute("aria-disabled", "true");
  await expect(button).toHaveAccessibleDescription(/to fix first: G\d+/);
  await open(page, "/workloads/tones/edit/source");
  await paste(page, "deploy.yaml", SETTINGS("red"));
  await toStep(page, "Review");
  await planned(page);
});

test("removal from most clusters has to be confirmed with the number, and a rollback deploys it again", async ({ page, faults }) => {
  await open(page, "/workloads/tones/edit/placement");
  await page.getByText("Labels", { exact: true }).click();
  await requireLabel(page, "region", "us-east");
  await toStep(page, "Review");
  await planned(page);
  await expect(page.getByText("3 of 5 clusters would lose tones")).toBeVisible();
  await expect(group(page, 3)).toContainText("lose the workload");
  await expect(page.getByRole("listitem").filter({ hasText: "G505" })).toContainText("eu-west-1");

  const button = page.getByRole("button", { name: "Publish to 2 clusters" });
  faults.expect(/status (of )?422/);
  await button.click();
  await expect(page.getByText("Type 3 to confirm, or select these clusters again.").last()).toBeVisible();
  await page.getByLabel("Type 3 to confirm").fill("2");
  await expect(page.getByText("That is not the number")).toBeVisible();
  await page.getByLabel("Type 3 to confirm").fill("3");
  await publish(page, "tones");
  await expect(page.getByText("2 of 2 clusters healthy with r3")).toBeVisible();

  // A change of the draft that is not published survives the rollback.
  await open(page, "/workloads/tones/edit/source");
  await paste(page, "deploy.yaml", SETTINGS("violet"));
  await toStep(page, "Review");
  await planned(page);

  await open(page, "/workloads/tones?tab=history");
  await expect(row(page, "r3")).toContainText("current");
  await expect(row(page, "r3")).toContainText("Healthy on 2 of 2 now");
  await expect(row(page, "r3")).toContainText("Changed: placement");
  await expect(row(page, "r3").getByRole("link", { name: /Roll back/ })).toHaveCount(0);
  await expect(row(page, "r2").first()).toContainText("Healthy on 5 of 5");
  await accessible(page, "the history");
  await row(page, "r2").getByRole("link", { name: "Roll back to r2" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("r3 → r4, back to r2");
  await planned(page);
  await expect(page.getByText("The draft stays as it is")).toContainText("changes that are not published");
  await expect(page.getByRole("button", { name: "Publish to 5 clusters" })).toBeVisible();
  await publish(page, "tones");
  await expect(page.getByText("5 of 5 clusters healthy with r4")).toBeVisible();
  await expect(page.getByText("differs from what is published")).toBeVisible();
  await open(page, "/workloads/tones?tab=history");
  await expect(row(page, "r4")).toContainText("Roll back to revision 2");
  await expect(row(page, "r4")).toContainText("Same content as r2");
  await expect(row(page, "r3")).toContainText("Rolled back by r4");
  await open(page, "/workloads/tones/edit/source");
  await expect(page.locator("textarea.editor-source").first(), "the draft is as it was").toHaveValue(/violet/);

  // Copying a revision to the draft asks first.
  await open(page, "/workloads/tones?tab=history");
  await row(page, "r3").getByRole("link", { name: "Copy to draft…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("heading")).toHaveText("Discard the changes of the draft of tones?");
  await accessible(page, "the question about the draft");
  await dialog.getByRole("link", { name: "Cancel" }).click();
  await row(page, "r3").getByRole("link", { name: "Copy to draft…" }).click();
  await dialog.getByRole("button", { name: "Discard and copy" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("r4 → r5");
  await open(page, "/workloads/tones/edit/source");
  await expect(page.locator("textarea.editor-source").first()).not.toHaveValue(/violet/);
  await remove(page, "tones");
});

test("clusters whose new objects differ are separate groups that name the difference, and a plan without changes says so", async ({ page }) => {
  const map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata:\n  region: ${{ cluster.labels.region }}\n";
  await describe(page, "regions", "regions", map);
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByText("All clusters", { exact: true }).click();
  await toStep(page, "Review");
  await planned(page);
  await expect(group(page, 3)).toContainText("ConfigMap regions/settings differs between clusters");
  await expect(group(page, 3).getByText("then eu-west")).toBeVisible();
  await expect(group(page, 2)).toContainText("then us-east");
  await publish(page, "regions");
  await expect(page.getByText("5 of 5 clusters healthy with r1")).toBeVisible();
  await open(page, "/workloads/regions/publish");
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Nothing to publish regions 5 clusters run r1 already");
  await expect(page.getByRole("heading", { name: "Changes" })).toContainText("5 clusters, no change");
  await expect(page.getByText(/^5 clusters retain their 1 object unchanged; a new revision is recorded\.$/)).toBeVisible();
  await remove(page, "regions");
});

test("what clusters reject is published only after its codes are acknowledged", async ({ page }) => {
  const web = (app: string): string =>
    `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec:\n  selector: {matchLabels: {app: ${app}}}\n` +
    `  template:\n    metadata: {labels: {app: ${app}}}\n    spec: {containers: [{name: web, image: "nginx:1.27"}]}\n`;
  await describe(page, "pinned", "pinned", web("one"));
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByText("All clusters", { exact: true }).click();
  await toStep(page, "Review");
  await planned(page);
  await publish(page, "pinned");
  await expect(page.getByText("5 of 5 clusters healthy with r1")).toBeVisible();

  await open(page, "/workloads/pinned/edit/source");
  await paste(page, "deploy.yaml", web("two"));
  await toStep(page, "Review");
  const button = page.getByRole("button", { name: "Publish to 5 clusters" });
  const force = page.getByLabel("Publish although clusters reject it: G406");
  await expect(force).toBeVisible();
  await expect(button).toHaveAttribute("aria-disabled", "true");
  await expect(button).toHaveAccessibleDescription(/to fix first: G406/);
  await button.click({ force: true });
  await expect(page).toHaveURL(/\/publish\?plan=/);
  await force.check();
  await expect(button).not.toHaveAccessibleDescription(/to fix first/);
  await expect(page.getByText(/^flotilla publish pinned .* --force G406$/)).toBeVisible();
  await publish(page, "pinned");
  await open(page, "/workloads/pinned?tab=events");
  await expect(page.getByRole("main").getByRole("listitem").filter({ hasText: /r2 published.*G406 forced/ }).first()).toBeVisible();
  await remove(page, "pinned");
});
