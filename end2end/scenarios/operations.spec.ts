// Operations on a workload: what was requested, and its outcome on each cluster, which is not the health (S1-13).

import { accessible, describe, expect, injectFault, open, publish, remove, row, step, test, toStep } from "./kit.js";

const JETTY = `apiVersion: v1
kind: ConfigMap
metadata: {name: jetty}
data: {length: "40"}
`;

test("s1_13 a sync with an offline cluster is listed with the outcome of each cluster, and completes when it reconnects", async ({ page }) => {
  // Waits until a cluster without heartbeat is offline.
  test.slow();
  await describe(page, "jetty", "jetty", JETTY);
  await toStep(page, "Placement");
  await step(page, "Placement");
  for (const cluster of ["eu-west-3", "us-east-2"]) await page.getByRole("checkbox", { name: cluster }).check();
  await expect(page.getByRole("heading", { name: /^2 of 5 clusters selected/ })).toBeVisible();
  await toStep(page, "Review");
  await publish(page, "jetty");
  await expect(row(page, "us-east-2")).toContainText("Healthy");

  await open(page, "/clusters/us-east-2");
  await injectFault(page, "Disconnect");
  try {
    await open(page, "/workloads/jetty");
    await expect(row(page, "us-east-2")).toContainText("last known");
    await open(page, "/workloads/jetty?dialog=sync");
    await page.getByRole("dialog").getByRole("button", { name: /^Sync/ }).click();
    await expect(page).not.toHaveURL(/dialog=sync/);

    await open(page, "/workloads/jetty?tab=history");
    const sync = row(page, "Sync");
    await expect(sync).toContainText("1 succeeded");
    await expect(sync).toContainText("1 deferred");
    await expect(row(page, "Publish r1").filter({ hasText: "2 succeeded" })).toBeVisible();
    await sync.getByRole("link", { name: "Sync" }).click();
    const outcomes = page.getByRole("region", { name: "Sync on each cluster" });
    await expect(row(outcomes, "us-east-2")).toContainText("The cluster is unreachable");
    await expect(row(outcomes, "eu-west-3")).toContainText("succeeded");
    await accessible(page, "an operation with its clusters");
  } finally {
    await open(page, "/clusters/us-east-2");
    await injectFault(page, "Reconnect");
    await expect(page.getByText("us-east-2 is online again.")).toBeVisible();
  }
  await open(page, "/workloads/jetty?tab=history");
  await expect(row(page, "Sync")).toContainText("2 succeeded");
  await remove(page, "jetty");
});
