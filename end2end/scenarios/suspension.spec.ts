// Suspensions: nothing of a workload, or of a cluster, is changed until it is resumed.

import { accessibleAtEverySize, describe, expect, injectFault, open, publish, remove, row, step, test, toStep } from "./kit.js";

const TIDE = `apiVersion: apps/v1
kind: Deployment
metadata:
  name: tide
spec:
  replicas: 2
  selector: {matchLabels: {app: tide}}
  template:
    metadata: {labels: {app: tide}}
    spec:
      containers:
        - name: web
          image: nginx:1.29
`;

test("s2_11 a suspended workload says by whom and why, is not reverted, and shows what a resume changes", async ({ page }) => {
  await describe(page, "tide", "tide", TIDE);
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByRole("checkbox", { name: "us-east-2" }).check();
  await expect(page.getByRole("heading", { name: /^1 of 5 clusters selected/ })).toBeVisible();
  await toStep(page, "Review");
  await publish(page, "tide");
  await expect(page.getByText("1 of 1 clusters healthy with r1")).toBeVisible();

  await page.getByText("Suspend tide", { exact: true }).click();
  await page.getByLabel("Reason to suspend tide").fill("handover to the shop team");
  await page.getByRole("button", { name: "Suspend", exact: true }).click();
  const banner = page.getByRole("status").filter({ hasText: "suspended by demo" });
  await expect(banner).toContainText("handover to the shop team");
  await expect(banner).toContainText("Nothing changes of tide on us-east-2.");
  await accessibleAtEverySize(page, "the page of a suspended workload");

  await open(page, "/clusters/us-east-2");
  await injectFault(page, "Change replicas by hand", "tide");
  await open(page, "/drift?workload=tide");
  await expect(row(page, "Deployment tide")).toContainText("us-east-2");
  await open(page, "/workloads/tide");
  await expect(banner).toContainText("1 drifted field is reverted");
  await banner.getByRole("button", { name: "Resume", exact: true }).click();
  await expect(banner).toHaveCount(0);
  await expect(page.getByText("1 of 1 clusters healthy with r1")).toBeVisible();
  await open(page, "/drift?workload=tide");
  await expect(page.getByRole("heading", { name: "Nothing drifts of tide" })).toBeVisible();
  await remove(page, "tide");
});

test("s2_11 a cluster is suspended and resumed on its page", async ({ page }) => {
  await open(page, "/clusters/us-east-1");
  await page.getByText("Suspend us-east-1", { exact: true }).click();
  await page.getByLabel("Reason to suspend us-east-1").fill("new disks");
  await page.getByRole("button", { name: "Suspend", exact: true }).click();
  const banner = page.getByRole("status").filter({ hasText: "The cluster is suspended by demo" });
  await expect(banner).toContainText("new disks");
  await open(page, "/clusters");
  await expect(row(page, "us-east-1")).toContainText("suspended");
  await open(page, "/clusters/us-east-1");
  await banner.getByRole("button", { name: "Resume", exact: true }).click();
  await expect(banner).toHaveCount(0);
});

test("s0_13 the owners of a cluster are named on its page", async ({ page }) => {
  await open(page, "/clusters/us-east-1");
  await page.getByText("Change the owners", { exact: true }).click();
  await page.getByLabel("Owners of the cluster, with commas between them").fill("team-edge, ops@example.com");
  await page.getByRole("button", { name: "Save the owners" }).click();
  const section = page.getByRole("region", { name: "Owners", exact: true });
  await expect(section).toContainText("team-edge, ops@example.com");
});
