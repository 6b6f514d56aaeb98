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
  await page.getByRole("group", { name: "Wave 2: early" }).getByLabel("Soak time").fill("");
  await expect(page.getByText("No findings")).toBeVisible();
  await canary.getByLabel("Soak time").press("Enter");
  await step(page, "Rollout");
  await expect(canary.getByLabel("Soak time"), "Enter saves and stays").toHaveValue("30m");
  await accessible(page, "the rollout");

  await toStep(page, "Review");
  const side = page.getByRole("complementary", { name: "Publish" });
  await expect(side.getByRole("heading", { name: "3 waves" })).toBeVisible();
  await expect(side.getByRole("listitem").filter({ hasText: "canary" })).toContainText("us-east-1");
  await publish(page, "waves");

  const panel = page.getByRole("region", { name: "Rollout of r1" });
  await expect(panel).toContainText("Wave 1 of 3 (canary) is operational");
  await expect(row(page, "us-east-1")).toContainText("Healthy");
  await expect(row(page, "eu-west-2")).toContainText("Pending");
  await accessible(page, "a rollout on its way");
  await panel.getByRole("button", { name: "Pause" }).click();
  await expect(panel).toContainText("Paused by demo at wave 1 of 3 (canary).");
  await panel.getByRole("button", { name: "Resume" }).click();
  await panel.getByRole("button", { name: "Promote (skip soak)" }).click();
  await expect(row(page, "eu-west-1")).toContainText("Healthy");
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
  await publish(page, "bird");
  const panel = page.getByRole("region", { name: "Rollout of r1" });
  await expect(panel).toContainText("1 of 1 cluster fails in wave canary; the limit is 0.");
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
  await page.goto("/workloads/lighthouse/edit/rollout");
  await page.getByRole("button", { name: "All at once" }).click();
  await page.goto("/workloads/lighthouse/edit/rollout");
  await expect(page.getByRole("group", { name: "Wave 1", exact: true }).getByLabel("Name", { exact: true }), "an empty row for a new wave").toHaveValue("");
  await context.close();
});
