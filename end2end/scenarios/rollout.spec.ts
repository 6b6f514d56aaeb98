// A publish that goes in waves: described in the wizard, watched and steered on the workload's page (F.4b, P29).

import { accessible, expect, fixture, describe as draft, open, publish, remove, row, step, test, toStep } from "./kit.js";
import { type Page } from "@playwright/test";

const YAML = fixture("three-tier", "web.yaml");
const THREE = ["eu-west-1", "eu-west-2", "us-east-1"] as const;

/** A draft for three clusters, in the step for its rollout. */
async function begin(page: Page, name: string, yaml: string): Promise<void> {
  await draft(page, name, name, yaml);
  await page.getByRole("button", { name: "Continue to Placement" }).click();
  await step(page, "Placement");
  for (const cluster of THREE) await page.getByRole("checkbox", { name: cluster }).check();
  await toStep(page, "Rollout");
  await step(page, "Rollout");
}

test("f4b a publish goes in waves, each after somebody or the clock has let it", async ({ page }) => {
  test.setTimeout(240_000);
  await begin(page, "waves", YAML);
  await expect(page.getByRole("heading", { name: "3 clusters at once" })).toBeVisible();
  await page.getByRole("button", { name: "Canary first" }).click();
  await expect(page.getByRole("heading", { name: "3 clusters in 3 waves" })).toBeVisible();

  // A slip is told at its field, before anything is stored.
  const canary = page.getByRole("group", { name: "Wave 1: canary" });
  await canary.getByLabel("Soak time").fill("ten minutes");
  await expect(canary.getByText(/is "ten minutes", which is no time span/)).toBeVisible();
  await canary.getByLabel("Soak time").fill("30m");
  await canary.getByLabel("Clusters", { exact: true }).fill("us-east-1");
  const rest = page.getByRole("group", { name: "Wave 3: rest" });
  await rest.getByLabel("Somebody has to approve").check();
  await page.getByRole("group", { name: "Wave 2: early" }).getByLabel("Soak time").fill("");
  await expect(page.getByText("No findings")).toBeVisible();
  await canary.getByLabel("Soak time").press("Enter");
  await step(page, "Rollout");
  await expect(canary.getByLabel("Soak time"), "Enter stores and stays").toHaveValue("30m");
  await accessible(page, "the rollout");

  await toStep(page, "Review");
  const side = page.getByRole("complementary", { name: "Publish" });
  await expect(side.getByRole("heading", { name: "3 waves" })).toBeVisible();
  await expect(side.getByRole("listitem").filter({ hasText: "canary" })).toContainText("us-east-1");
  await publish(page, "waves");

  const panel = page.getByRole("region", { name: "Rollout of r1" });
  await expect(panel).toContainText("Wave 1 of 3 (canary) is operational", { timeout: 40_000 });
  await expect(row(page, "us-east-1")).toContainText("Healthy");
  await expect(row(page, "eu-west-2")).toContainText("Pending");
  await accessible(page, "a rollout on its way");
  await panel.getByRole("button", { name: "Pause" }).click();
  await expect(panel).toContainText("Paused by demo at wave 1 of 3 (canary).");
  await panel.getByRole("button", { name: "Resume" }).click();
  await panel.getByRole("button", { name: "Go on now" }).click();
  await expect(row(page, "eu-west-1")).toContainText("Healthy", { timeout: 40_000 });
  await expect(panel).toContainText("Wave 3 of 3 (rest) waits for somebody to approve it.", { timeout: 40_000 });
  await expect(row(page, "eu-west-2"), "nobody has let it").toContainText("Waits for its turn: wave 3 of 3 (rest).");
  await panel.getByRole("button", { name: "Approve" }).click();
  await expect(row(page, "eu-west-2")).toContainText("Healthy", { timeout: 40_000 });
  await expect(panel, "it is over").toHaveCount(0);
  await open(page, "/workloads/waves?tab=events");
  await expect(page.getByText("waves revision 1: the rollout is completed.")).toBeVisible();
  await remove(page, "waves");
});

test("p29 a canary that breaks stops the rollout, and ending it leaves the others what they have", async ({ page }) => {
  test.setTimeout(240_000);
  await begin(page, "bird", fixture("bad", "image-does-not-exist.yaml"));
  await page.getByRole("button", { name: "Canary first" }).click();
  await page.getByText("When, and what counts as a failure").click();
  await page.getByLabel("Counts as failed after").fill("2s");
  await toStep(page, "Review");
  await publish(page, "bird");
  const panel = page.getByRole("region", { name: "Rollout of r1" });
  await expect(panel).toContainText("1 of 1 cluster fails in canary, 0 may.", { timeout: 60_000 });
  await expect(row(page, "eu-west-2")).toContainText("Waits for its turn");
  await panel.getByRole("button", { name: "End rollout" }).click();
  await expect(panel).toContainText("Ended by demo at wave 1 of 3 (canary)");
  await expect(row(page, "eu-west-2")).toContainText("Suspended");
  await remove(page, "bird");
});

test("g511 without script a rollout is a plain form, and a wave that takes nobody is told in the review", async ({ browser, demo, signedIn }) => {
  const context = await browser.newContext({ baseURL: demo.address, storageState: signedIn, javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto("/workloads/lighthouse/edit/rollout");
  await page.getByRole("button", { name: "Canary first" }).click();
  await expect(page.getByRole("group", { name: "Wave 1: canary" })).toBeVisible();
  await page.getByRole("group", { name: "Wave 1: canary" }).getByLabel("Clusters", { exact: true }).fill("nowhere-1");
  await page.getByRole("button", { name: "Continue to Policies" }).click();
  await expect(page).toHaveURL(/\/edit\/policies$/);
  await page.goto("/workloads/lighthouse/publish");
  await expect(page.getByText('The wave "canary" has none of the chosen clusters').first()).toBeVisible();
  await page.goto("/workloads/lighthouse/edit/rollout");
  await page.getByRole("button", { name: "All at once" }).click();
  await page.goto("/workloads/lighthouse/edit/rollout");
  await expect(page.getByRole("group", { name: "Wave 1", exact: true }).getByLabel("Name", { exact: true }), "a spare one to begin with").toHaveValue("");
  await context.close();
});
