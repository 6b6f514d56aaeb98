// An incident from a bad image to its end: it opens, is acknowledged, names the publish before it, and closes after a rollback.

import { accessibleAtEverySize, alive, describe, expect, fixture, open, publish, remove, row, step, test, toStep } from "./kit.js";

test("a bad image opens one incident that a user acknowledges, that leads to the rollback, and that closes after it", async ({ page }) => {
  // The delay of an incident, three publishes, and the retries of the pods.
  test.slow();
  const bad = fixture("bad", "image-does-not-exist.yaml");
  await describe(page, "gull", "gull", bad.replace(/image: \S+/, "image: nginx:1.29"));
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByRole("checkbox", { name: "eu-west-1" }).check();
  await expect(page.getByRole("heading", { name: /^1 of 5 clusters selected/ })).toBeVisible();
  await toStep(page, "Review");
  await publish(page, "gull");
  await expect(page.getByText("1 of 1 clusters healthy with r1")).toBeVisible();
  await open(page, "/workloads/gull/edit/source");
  await page.getByLabel("Image", { exact: true }).fill("nginx:9.9");
  await toStep(page, "Review");
  await publish(page, "gull");
  await expect(row(page, "eu-west-1")).toContainText("Degraded");

  // The list was opened before the incident and is not reloaded.
  await open(page, "/incidents?workload=gull");
  const entry = row(page, "gull");
  await expect(entry).toContainText("eu-west-1");
  await expect(entry).toContainText("by nobody");
  await expect(page.getByRole("heading", { level: 1 })).toContainText(/incidents? (is|are) open, .*acknowledged/);
  await entry.getByRole("link", { name: "gull" }).click();
  await alive(page);
  await expect(page.getByRole("heading", { level: 1, name: "gull fails on 1 cluster" })).toBeVisible();
  await expect(page.getByText(/cannot pull image/).first()).toBeVisible();
  await expect(page.getByRole("region", { name: "Change before" })).toContainText("Revision 2 was published");
  await expect(page.getByRole("region", { name: "Notifications" })).toContainText("Nobody is notified");
  await page.getByRole("button", { name: "Acknowledge" }).click();
  await expect(page.getByText(/^Acknowledged by demo/)).toBeVisible();
  await accessibleAtEverySize(page, "an incident");
  const address = new URL(page.url()).pathname;

  await page.getByRole("link", { name: "Roll back to r1…" }).click();
  await publish(page, "gull");
  await expect(page.getByText("1 of 1 clusters healthy with r3")).toBeVisible();
  await open(page, address);
  await expect(page.getByRole("heading", { level: 1, name: /^gull recovered on 1 cluster after/ })).toBeVisible();
  await open(page, "/incidents?workload=gull");
  await expect(page.getByRole("heading", { name: "No open incident of gull" })).toBeVisible();
  await page.getByRole("link", { name: "Closed" }).click();
  await expect(row(page, "gull")).toContainText("eu-west-1");
  await remove(page, "gull");
});

test("a channel is created, its test names why it fails, and a subscription uses it", async ({ page, faults }) => {
  // The receiver of the test does not exist.
  faults.expect(/channel_test|status 4\d\d|Failed to load resource/);
  await open(page, "/settings?tab=notifications");
  await expect(page.getByText("Create a channel first: a subscription sends incidents to a channel.")).toBeVisible();
  await page.getByRole("main").getByRole("link", { name: "Create channel" }).click();
  await page.getByLabel("Name", { exact: true }).fill("pager");
  await page.getByLabel("Address").fill("http://127.0.0.1:9/hook");
  await page.getByRole("button", { name: "Create channel" }).click();
  await expect(row(page, "pager")).toContainText("Not used yet");
  // The list of channels changes while a subscription is entered.
  await page.locator("summary", { hasText: "Create subscription" }).click();
  await page.getByLabel("Incidents of").selectOption("Owner");
  await page.getByLabel("Name or labels").fill("team-shop");
  await page.getByRole("button", { name: "Test pager" }).click();
  await expect(page.getByText(/pager: The message was not sent/).first()).toBeVisible();
  await expect(page.getByLabel("Name or labels")).toHaveValue("team-shop");
  await page.getByRole("button", { name: "Create subscription" }).click();
  await expect(row(page, "owner team-shop")).toContainText("pager");
  // The form is open and empty for the next one.
  await expect(page.getByLabel("Name or labels")).toHaveValue("");
  await expect(page.getByLabel("Incidents of")).toHaveValue("workload");
  await page.getByLabel("Incidents of").selectOption("Owner");
  await page.getByLabel("Name or labels").fill("team-shop");

  // A subscription is deleted only after a question that names its channel and what it selects.
  const unsubscribe = page.getByRole("link", { name: "Delete… the subscription of pager for owner team-shop" });
  await unsubscribe.click();
  const question = page.getByRole("dialog", { name: "Delete the subscription of pager?" });
  await expect(question).toContainText("New incidents of owner team-shop are no longer sent to pager");
  await question.getByRole("link", { name: "Cancel" }).click();
  await expect(question).toHaveCount(0);
  await expect(row(page, "owner team-shop")).toContainText("pager");
  await unsubscribe.click();
  await question.getByRole("button", { name: "Delete subscription" }).click();
  await expect(page.getByRole("heading", { name: "No subscriptions" })).toBeVisible();
  // The form is as it was left: lists that change neither close it nor clear it.
  await expect(page.getByLabel("Incidents of")).toHaveValue("owner");
  await expect(page.getByLabel("Name or labels")).toHaveValue("team-shop");
  await page.getByRole("button", { name: "Create subscription" }).click();
  await expect(row(page, "owner team-shop")).toContainText("pager");

  await row(page, "pager").getByRole("link", { name: "Delete… pager" }).click();
  await page.getByRole("button", { name: "Delete channel" }).click();
  await expect(page.getByRole("heading", { name: "No channels" })).toBeVisible();
  await expect(page.getByRole("heading", { name: "No subscriptions" })).toBeVisible();
});
