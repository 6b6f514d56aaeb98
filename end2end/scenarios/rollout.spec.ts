// A rollout in waves: edited in the wizard, watched and controlled on the workload's page (P29).

import { accessible, expect, fixture, describe as draft, open, publish, remove, row, step, test, toStep } from "./kit.js";
import { type Page } from "@playwright/test";

const YAML = fixture("three-tier", "web.yaml");
const THREE = ["eu-west-1", "eu-west-2", "us-east-1"] as const;

/** Creates a draft for three clusters and opens its rollout. */
async function draftForThree(page: Page, name: string, yaml: string): Promise<void> {
  await draft(page, name, name, yaml);
  await page.getByRole("button", { name: "Continue to Placement" }).click();
  await step(page, "Placement");
  for (const cluster of THREE) await page.getByRole("checkbox", { name: cluster }).check();
  await toStep(page, "Rollout");
  await step(page, "Rollout");
}

test("f4b a rollout admits its waves one after the other, after approval or soak time", async ({ page }) => {
  await draftForThree(page, "waves", YAML);
  await expect(page.getByRole("heading", { name: "3 clusters at once" })).toBeVisible();
  await page.getByRole("button", { name: "Canary first" }).click();
  await expect(page.getByRole("heading", { name: "3 clusters in 3 waves" })).toBeVisible();

  // An invalid value is reported at its field, before anything is saved.
  const canary = page.getByRole("group", { name: "Wave 1: canary" });
  await canary.getByLabel("Soak time").fill("ten minutes");
  await expect(canary.getByText(/is "ten minutes", which is not a time span/)).toBeVisible();
  await canary.getByLabel("Soak time").fill("30m");
  await canary.getByLabel("Clusters", { exact: true }).fill("us-east-1");
  const rest = page.getByRole("group", { name: "Wave 3: rest" });
  await rest.getByLabel("Requires approval").check();
  const early = page.getByRole("group", { name: "Wave 2: early" });
  await early.getByLabel("Soak time").fill("");
  await early.getByLabel("Its result requires an approval").check();
  await expect(page.getByText("No findings")).toBeVisible();
  await canary.getByLabel("Soak time").press("Enter");
  await step(page, "Rollout");
  await expect(canary.getByLabel("Soak time"), "Enter saves and stays").toHaveValue("30m");
  await accessible(page, "the rollout");

  await toStep(page, "Review");
  const side = page.getByRole("complementary", { name: "Publish" });
  await expect(side.getByRole("heading", { name: "3 waves" })).toBeVisible();
  await expect(side.getByRole("listitem").filter({ hasText: "canary" })).toContainText("us-east-1");
  await expect(side.getByRole("listitem").filter({ hasText: "early" })).toContainText("result needs approval");
  await publish(page, "waves");

  const panel = page.getByRole("region", { name: "Rollout of r1" });
  await expect(panel).toContainText("Wave 1 of 3 (canary) is operational");
  await panel.getByRole("link", { name: "Clusters by wave, and report" }).click();
  await expect(page.getByRole("heading", { name: "Rollout of waves r1" })).toBeVisible();
  const first = page.getByRole("region", { name: "Wave 1 of 3: canary" });
  await expect(first.getByRole("listitem")).toHaveText(/us-east-1\s*Operational\s*r1 applied, Healthy/);
  await expect(page.getByRole("region", { name: "Wave 3 of 3: rest" }).getByRole("listitem")).toContainText("Waiting");
  await accessible(page, "the clusters of a rollout");
  await page.getByRole("navigation", { name: "Wave" }).getByRole("link", { name: "rest" }).click();
  await expect(first).toHaveCount(0);
  const report = await page.getByRole("link", { name: "Report (CSV)" }).getAttribute("href");
  const csv = await page.request.get(report!);
  expect(csv.headers()["content-type"]).toContain("text/csv");
  expect(await csv.text()).toContain('"1","canary","us-east-1","operational"');
  await page.getByRole("link", { name: "Workload", exact: true }).click();
  await expect(row(page, "us-east-1")).toContainText("Healthy");
  await expect(row(page, "eu-west-2")).toContainText("Pending");
  await accessible(page, "a rollout on its way");
  await panel.getByRole("button", { name: "Pause" }).click();
  await expect(panel).toContainText("Paused by demo at wave 1 of 3 (canary).");
  await panel.getByRole("button", { name: "Resume" }).click();
  await panel.getByRole("button", { name: "Promote (skip soak)" }).click();
  await expect(row(page, "eu-west-1")).toContainText("Healthy");
  await expect(panel).toContainText("Wave 2 of 3 (early) is operational; its result waits for approval.");
  await panel.getByRole("button", { name: "Approve" }).click();
  await expect(panel).toContainText("result approved by demo");
  await expect(panel).toContainText("Wave 3 of 3 (rest) waits for approval.");
  await expect(row(page, "eu-west-2"), "not approved yet").toContainText("Waiting for wave 3 of 3 (rest).");
  await panel.getByRole("button", { name: "Approve" }).click();
  await expect(row(page, "eu-west-2")).toContainText("Healthy");
  await expect(panel, "the rollout is completed").toHaveCount(0);
  await open(page, "/workloads/waves?tab=events");
  await expect(page.getByRole("main").getByRole("listitem").filter({ hasText: "r1 published" }).filter({ hasText: "rollout completed" }).first()).toBeVisible();
  await remove(page, "waves");
});

test("p29 a failing canary stops the rollout, and aborting it leaves the other clusters unchanged", async ({ page }) => {
  await draftForThree(page, "bird", fixture("bad", "image-does-not-exist.yaml"));
  await page.getByRole("button", { name: "Canary first" }).click();
  await page.getByText("Schedule, approver and failure timeout").click();
  await page.getByLabel("Failure timeout").fill("2s");
  await toStep(page, "Review");
  await expect(page.getByRole("complementary", { name: "Publish" })).toContainText("If more clusters fail than a wave allows, the rollout pauses.");
  await publish(page, "bird");
  const panel = page.getByRole("region", { name: "Rollout of r1" });
  await expect(panel).toContainText("1 of 1 cluster fails in wave canary; the limit is 0.");
  await panel.getByRole("button", { name: "Retry failing clusters" }).click();
  await expect(panel, "a retry resumes nothing").toContainText("Paused automatically at wave 1 of 3 (canary)");
  await expect(row(page, "eu-west-2")).toContainText("Waiting for wave");
  await panel.getByRole("link", { name: "Abort…" }).click();
  const question = page.getByRole("dialog", { name: "Abort the rollout of bird r1?" });
  await expect(question).toContainText("2 clusters do not get r1; those that have it stay at it.");
  await question.getByRole("button", { name: "Abort rollout" }).click();
  await expect(panel).toContainText("Aborted by demo at wave 1 of 3 (canary)");
  await expect(row(page, "eu-west-2")).toContainText("Suspended");
  await expect(panel.getByRole("link", { name: "Publish r1 again" })).toBeVisible();

  // The history says on how many clusters the revision failed, as it was when the next one was published.
  await open(page, "/workloads/bird/edit/source");
  await page.getByLabel("Image", { exact: true }).fill("nginx:1.29");
  await toStep(page, "Review");
  await publish(page, "bird");
  await expect(page.getByRole("region", { name: "Rollout of r2" })).toBeVisible();
  await open(page, "/workloads/bird?tab=history");
  await expect(row(page, "r1").first(), "the clusters that the abort left out").toContainText("2 of 3 failed");
  await remove(page, "bird");
});

test("f4b a failing canary is rolled back to the revision that it had", async ({ page }) => {
  await draftForThree(page, "back", YAML);
  await toStep(page, "Review");
  await publish(page, "back");
  await expect(row(page, "us-east-1")).toContainText("Healthy");
  await open(page, "/workloads/back/edit/source");
  await page.getByLabel("Image", { exact: true }).fill("registry.invalid/does-not-exist:1.0");
  await toStep(page, "Rollout");
  await page.getByRole("button", { name: "Canary first" }).click();
  await page.getByText("Schedule, approver and failure timeout").click();
  await page.getByLabel("Failure timeout").fill("2s");
  await page.getByLabel("On failure").selectOption({ label: "Roll back the wave" });
  await toStep(page, "Review");
  await expect(page.getByRole("complementary", { name: "Publish" })).toContainText("that wave and those after it are rolled back");
  await publish(page, "back");
  const panel = page.getByRole("region", { name: "Rollout of r2" });
  await expect(panel).toContainText("Rolled back wave 1 of 3 (canary): 1 of 1 cluster fails in wave canary; the limit is 0.");
  await expect(panel).toContainText("1 rolled back");
  await expect(panel.getByRole("link", { name: "Publish r2 again" })).toBeVisible();
  await accessible(page, "a rollout that was rolled back");
  await open(page, "/workloads/back?tab=events");
  await expect(page.getByRole("main")).toContainText("The rollout of back was rolled back");
  await remove(page, "back");
});

test("f4b without script and on a phone the clusters of a rollout are filtered and have links to their releases", async ({ browser, demo, signedIn, page }) => {
  await draftForThree(page, "grid", YAML);
  await page.getByRole("button", { name: "Canary first" }).click();
  await toStep(page, "Review");
  await publish(page, "grid");
  await expect(page.getByRole("region", { name: "Rollout of r1" })).toContainText("Wave 1 of 3 (canary) is operational");
  const context = await browser.newContext({ baseURL: demo.address, storageState: signedIn, javaScriptEnabled: false, viewport: { width: 390, height: 800 } });
  const plain = await context.newPage();
  await plain.goto("/workloads/grid/rollout");
  await expect(plain.getByRole("heading", { name: "Rollout of grid r1" })).toBeVisible();
  await expect(plain.getByRole("region", { name: /^Wave/ })).toHaveCount(3);
  expect(await plain.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
  await plain.getByRole("searchbox", { name: "Cluster" }).fill("us-east");
  await plain.getByRole("button", { name: "Filter" }).click();
  await expect(plain.getByRole("region", { name: /^Wave/ })).toHaveCount(1);
  await plain.getByRole("link", { name: "us-east-1" }).click();
  await expect(plain).toHaveURL(/\/workloads\/grid\?open=us-east-1/);
  await context.close();
  await remove(page, "grid");
});

test("g511 without script a rollout is a plain form, and a wave without clusters is reported in the review", async ({ browser, demo, signedIn }) => {
  const context = await browser.newContext({ baseURL: demo.address, storageState: signedIn, javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto("/workloads/lighthouse/edit/rollout");
  await page.getByRole("button", { name: "Canary first" }).click();
  await expect(page.getByRole("group", { name: "Wave 1: canary" })).toBeVisible();
  await page.getByRole("group", { name: "Wave 1: canary" }).getByLabel("Clusters", { exact: true }).fill("nowhere-1");
  await page.getByRole("button", { name: "Continue to Policies" }).click();
  await expect(page).toHaveURL(/\/edit\/policies$/);
  await page.goto("/workloads/lighthouse/publish");
  await expect(page.getByText('The wave "canary" contains none of the selected clusters').first()).toBeVisible();
  // A time zone is looked up by the server.
  await page.goto("/workloads/lighthouse/edit/rollout");
  await page.locator("summary", { hasText: "Schedule, approver and failure timeout" }).click();
  await page.getByLabel("From", { exact: true }).fill("00:00");
  await page.getByLabel("To", { exact: true }).fill("24:00");
  await page.getByLabel("Time zone", { exact: true }).fill("Europe/Berln");
  await page.getByRole("button", { name: "Continue to Policies" }).click();
  await expect(page).toHaveURL(/\/edit\/policies$/);
  await page.goto("/workloads/lighthouse/publish");
  await expect(page.getByText('There is no time zone "Europe/Berln".').first()).toBeVisible();
  await page.goto("/workloads/lighthouse/edit/rollout");
  for (const field of ["From", "To", "Time zone"]) {
    await page.getByLabel(field, { exact: true }).fill("");
  }
  await page.getByRole("button", { name: "Continue to Policies" }).click();
  await expect(page).toHaveURL(/\/edit\/policies$/);
  await page.goto("/workloads/lighthouse/edit/rollout");
  await page.getByRole("button", { name: "All at once" }).click();
  await page.goto("/workloads/lighthouse/edit/rollout");
  await expect(page.getByRole("group", { name: "Wave 1", exact: true }).getByLabel("Name", { exact: true }), "an empty row for a new wave").toHaveValue("");
  await context.close();
});

test("s2_5 a publish without waves waits for another user than its publisher if the project requires it", async ({ page }) => {
  await open(page, "/settings?tab=project");
  await page.getByLabel("Approval of publishes").selectOption({ label: "Required, by another user than the publisher" });
  await page.getByRole("button", { name: "Save project" }).click();
  await expect(page.getByLabel("Approval of publishes")).toHaveValue("anotherUser");
  await accessible(page, "the settings of the project");
  await draftForThree(page, "gate", YAML);
  await toStep(page, "Review");
  const side = page.getByRole("complementary", { name: "Publish" });
  await expect(side.getByRole("listitem").filter({ hasText: "needs approval" })).toContainText("all");
  await publish(page, "gate");
  const panel = page.getByRole("region", { name: "Rollout of r1" });
  await expect(panel).toContainText("Wave 1 of 1 (all) waits for the approval of a user other than demo.");
  await expect(row(page, "eu-west-1")).toContainText("Waiting for wave 1 of 1 (all).");
  await expect(panel.getByRole("button", { name: "Approve" })).toBeDisabled();
  await expect(panel).toContainText("requires the approval of another user");

  await open(page, "/settings?tab=project");
  await page.getByLabel("Approval of publishes").selectOption({ label: "Not required" });
  await page.getByRole("button", { name: "Save project" }).click();
  await expect(page.getByLabel("Approval of publishes")).toHaveValue("none");
  await remove(page, "gate");
});

test("s1_10 clusters on which a revision fails are rolled back when the rollout says so", async ({ page }) => {
  await draftForThree(page, "atomic", fixture("bad", "image-does-not-exist.yaml"));
  const choice = page.getByLabel("On failure");
  await choice.selectOption({ label: "Roll back each cluster" });
  await expect(page.getByRole("heading", { name: "3 clusters in 1 wave" })).toBeVisible();
  await expect(page.getByRole("button", { name: "All at once" }), "the wave is none of the form").toHaveAttribute("aria-pressed", "true");
  await page.getByText("Schedule, approver and failure timeout").click();
  await page.getByLabel("Failure timeout").fill("2s");
  await toStep(page, "Review");
  await publish(page, "atomic");
  await expect(page.getByRole("region", { name: "Rollout of r1" })).toContainText(/fails? in wave all-at-once; the limit is 0\./);
  await open(page, "/workloads/atomic?tab=events");
  await expect(page.getByRole("main").getByText(/its first installation was rolled back/).first()).toBeVisible();

  // A corrected revision is delivered, and the one after it returns to that.
  await open(page, "/workloads/atomic/edit/source");
  await page.getByLabel("Image", { exact: true }).fill("nginx:1.29");
  await toStep(page, "Review");
  await publish(page, "atomic");
  await expect(row(page, "us-east-1")).toContainText("Healthy");
  await open(page, "/workloads/atomic/edit/rollout");
  await expect(choice, "it is part of the draft").toHaveValue("rollbackCluster");
  await open(page, "/workloads/atomic/edit/source");
  await page.getByLabel("Image", { exact: true }).fill("nginx:9.9");
  await toStep(page, "Review");
  await publish(page, "atomic");
  await expect(row(page, "us-east-1")).toContainText("rolled back to revision 2");
  await expect(row(page, "us-east-1")).toContainText("Failed");
  await remove(page, "atomic");
});
