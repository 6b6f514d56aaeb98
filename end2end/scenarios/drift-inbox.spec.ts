// The drift inbox: what somebody changed on a cluster is listed over all workloads, and decided about.

import { accessibleAtEverySize, describe, expect, injectFault, open, openPolicies, publish, remove, row, step, test, toStep } from "./kit.js";

const EBB = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ebb
spec:
  replicas: 2
  selector: {matchLabels: {app: ebb}}
  template:
    metadata: {labels: {app: ebb}}
    spec:
      containers:
        - name: web
          image: nginx:1.29
`;

/** The accessible name of the entry's row header. */
const ENTRY = "Deployment ebb";

test("e_9 drift is listed with three values and who changed it, snoozed, adopted for its cluster and published", async ({ page }) => {
  await describe(page, "ebb", "ebb", EBB);
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByRole("checkbox", { name: "eu-west-2" }).check();
  await expect(page.getByRole("heading", { name: /^1 of 5 clusters selected/ })).toBeVisible();
  await toStep(page, "Policies");
  await step(page, "Policies");
  await openPolicies(page, "Drift");
  await page.getByLabel("On drift").selectOption("notify");
  await toStep(page, "Review");
  await publish(page, "ebb");
  await expect(page.getByText("1 of 1 clusters healthy with r1")).toBeVisible();
  await open(page, "/drift?workload=ebb");
  await expect(page.getByRole("heading", { name: "Nothing drifts of ebb" })).toBeVisible();

  await open(page, "/clusters/eu-west-2");
  await injectFault(page, "Change replicas by hand", "ebb");
  await open(page, "/drift?workload=ebb");
  const entry = row(page, ENTRY);
  await expect(entry).toContainText("Drifted");
  await expect(entry).toContainText("eu-west-2");
  await expect(entry).toContainText("spec.replicas");
  await expect(entry).toContainText("kubectl-edit");
  await expect(page.getByRole("navigation", { name: "Main", exact: true }).getByRole("link", { name: /^Drift\s*[1-9]/ })).toBeVisible();
  await entry.getByRole("link").click();
  await expect(page).toHaveURL(/open=/);
  const field = page.getByRole("row").filter({ has: page.getByRole("checkbox", { name: "spec.replicas" }) }).filter({ hasNot: page.getByRole("table") });
  await expect(field.getByRole("cell").nth(0)).toHaveText("2");
  await expect(field.getByRole("cell").nth(1)).toHaveText("5");
  await expect(field.getByRole("cell").nth(2)).toHaveText("2");
  await expect(field.getByRole("cell").nth(3)).toContainText("kubectl-edit (Update)");
  await accessibleAtEverySize(page, "an open entry of the drift inbox");

  await page.getByLabel("Snooze for").selectOption("7 days");
  await page.getByRole("button", { name: "Snooze", exact: true }).click();
  await expect(page).toHaveURL(/\/drift\?workload=ebb$/);
  await expect(page.getByRole("heading", { name: "Nothing drifts of ebb" })).toBeVisible();
  await page.getByRole("link", { name: "Snoozed", exact: true }).click();
  await expect(entry).toContainText("Snoozed");
  await entry.getByRole("link").click();
  await page.getByRole("button", { name: "Show again" }).click();
  await expect(page.getByRole("heading", { name: "No drift of ebb is snoozed" })).toBeVisible();

  await open(page, "/workloads/ebb?open=eu-west-2");
  await page.getByRole("link", { name: "Adopt or snooze in the inbox" }).click();
  await entry.getByRole("link").click();
  await page.getByRole("button", { name: "Adopt on eu-west-2 only" }).click();
  await publish(page, "ebb");
  await expect(page.getByText("1 of 1 clusters healthy with r2")).toBeVisible();
  await open(page, "/drift?workload=ebb");
  await expect(page.getByRole("heading", { name: "Nothing drifts of ebb" })).toBeVisible();
  await open(page, "/workloads/ebb?tab=overrides");
  await expect(page.getByRole("navigation", { name: "Overrides of the draft" })).toContainText("eu-west-2");
  await remove(page, "ebb");
});

test("e_9 a revert applies one field or all values of the workload again, also where the policy only notifies", async ({ page }) => {
  const text = EBB.replaceAll("ebb", "flood");
  await describe(page, "flood", "flood", text);
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByRole("checkbox", { name: "eu-west-1" }).check();
  await toStep(page, "Policies");
  await step(page, "Policies");
  await openPolicies(page, "Drift");
  await page.getByLabel("On drift").selectOption("notify");
  await toStep(page, "Review");
  await publish(page, "flood");
  await expect(page.getByText("1 of 1 clusters healthy with r1")).toBeVisible();
  const drift = async () => {
    await open(page, "/clusters/eu-west-1");
    await injectFault(page, "Change replicas by hand", "flood");
  };
  // One field, on the page of the release, which leads to the inbox with its outcome.
  await drift();
  await open(page, "/workloads/flood?open=eu-west-1");
  await page.getByRole("button", { name: /^Revert this field/ }).click();
  await expect(page).toHaveURL(/\/drift\?workload=flood&cluster=eu-west-1$/);
  await expect(page.getByRole("heading", { name: "Nothing drifts of flood on eu-west-1" })).toBeVisible();
  // The selected fields of an entry of the inbox.
  await drift();
  await open(page, "/drift?workload=flood&cluster=eu-west-1");
  await row(page, "Deployment flood").getByRole("link").click();
  await expect(page.getByRole("checkbox", { name: "spec.replicas" })).toBeChecked();
  await page.getByRole("button", { name: "Revert the fields" }).click();
  await expect(page.getByRole("heading", { name: "Nothing drifts of flood on eu-west-1" })).toBeVisible();
  // The whole workload.
  await drift();
  await open(page, "/drift?workload=flood&cluster=eu-west-1");
  await row(page, "Deployment flood").getByRole("link").click();
  await page.getByRole("button", { name: "Revert on eu-west-1" }).click();
  await expect(page.getByRole("heading", { name: "Nothing drifts of flood on eu-west-1" })).toBeVisible();
  await open(page, "/workloads/flood");
  await expect(row(page, "eu-west-1")).toContainText("Healthy");
  await remove(page, "flood");
});
