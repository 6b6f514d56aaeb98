// Faults injected into a cluster of the demo: changes by hand are reverted, an offline cluster blocks no other.

import { type Page } from "@playwright/test";
import { alive, cell, expect, injectFault, open, row, test } from "./kit.js";

/** Expects an event of this cluster with this message. */
async function expectEvent(page: Page, cluster: string, message: RegExp): Promise<void> {
  await open(page, `/events?workload=lighthouse&cluster=${cluster}`);
  await expect(page.getByRole("main").getByRole("listitem").filter({ hasText: message }).first()).toBeVisible();
}

test("replicas changed by hand are reverted, and the event names the field and the field manager", async ({ page }) => {
  await open(page, "/clusters/eu-west-1");
  await injectFault(page, "Change replicas by hand");
  await expect(page.getByText("replicas were changed from 4 to 7 by hand")).toBeVisible();
  await expect(row(page, "lighthouse")).toContainText("Healthy");
  await expectEvent(page, "eu-west-1", /drift reverted.*replicas.*kubectl-edit/s);
});

test("an image changed by hand is reverted, and an open event log shows it", async ({ page, context }) => {
  await open(page, "/clusters/eu-west-2");
  const log = await context.newPage();
  await open(log, "/events?workload=lighthouse&cluster=eu-west-2");
  await injectFault(page, "Change an image by hand");
  await expect(page.getByText("its image was changed to busybox:1.36 by hand")).toBeVisible();
  // The log was opened before the change and is not reloaded.
  await expect(log.getByRole("main").getByRole("listitem").filter({ hasText: /drift reverted.*image.*kubectl-edit/s }).first()).toBeVisible();
  await expect(row(page, "lighthouse")).toContainText("Healthy");
});

test("a deleted object is created again", async ({ page }) => {
  await open(page, "/clusters/us-east-1");
  await injectFault(page, "Delete an object");
  await expect(page.getByText(/^Deployment harbor\/lighthouse was deleted on us-east-1\./)).toBeVisible();
  await expectEvent(page, "us-east-1", /drift reverted.*Deployment lighthouse deleted/s);
  await open(page, "/workloads/lighthouse?open=us-east-1");
  await expect(row(page, "us-east-1")).toContainText("Healthy");
  await expect(row(page, "Deployment lighthouse")).toContainText("Healthy");
});

test("an offline cluster shows its last known state and blocks no other; after it reconnects it is Healthy", async ({ page }) => {
  // Waits until a cluster without heartbeat is offline.
  test.slow();
  await open(page, "/clusters/us-east-2");
  await injectFault(page, "Disconnect");
  await expect(page.getByText("us-east-2 is offline until it is reconnected.")).toBeVisible();

  try {
    await page.getByRole("navigation", { name: "Main", exact: true }).getByRole("link", { name: "Fleet" }).click();
    await alive(page);
    await expect(cell(page, "lighthouse", "us-east-2")).toHaveAccessibleName("lighthouse on us-east-2: Healthy, last known");
    const silent = page.getByRole("region", { name: "Clusters not reporting" }).getByRole("link", { name: /us-east-2/ });
    await expect(silent).toContainText("1 release, last known: healthy");
    await cell(page, "lighthouse", "us-east-2").focus();
    await expect(page.locator(".matrix-caption")).toContainText(/lighthouse on us-east-2: Healthy, last known\s*last report .* ago/);
    await expect(cell(page, "lighthouse", "us-east-1")).toHaveAccessibleName("lighthouse on us-east-1: Healthy");
    await expect(page.getByRole("heading", { level: 1 })).toContainText("1 cluster not reporting");

    // The list of clusters begins with it.
    await open(page, "/clusters");
    await expect(page.getByRole("heading", { level: 1 })).toContainText(/1 of 5 clusters is not online\. us-east-2: (late|offline)/);
    await expect(page.getByRole("rowheader").first(), "worst first").toHaveText("us-east-2");
    await page.getByRole("navigation", { name: "Connectivity" }).getByRole("link", { name: "Online" }).click();
    await expect(page).toHaveURL(/connectivity=Online/);
    await expect(row(page, "us-east-2")).toHaveCount(0);
    await expect(row(page, "us-east-1")).toBeVisible();

    // A workload on it is not said to work.
    await open(page, "/workloads");
    await expect(page.getByRole("heading", { level: 1 })).toContainText(/known to be failing\./);

    // The review says that a publish does not wait for it.
    await open(page, "/workloads/lighthouse/publish");
    await expect(page.getByText(/^1 cluster offline; they get it when they reconnect and block no other cluster\./)).toBeVisible();
  } finally {
    await open(page, "/clusters/us-east-2");
    await injectFault(page, "Reconnect");
    await expect(page.getByText("us-east-2 is online again.")).toBeVisible();
  }
  await expect(page.getByRole("main").getByText(/^Online/).first()).toBeVisible();
  await expect(row(page, "lighthouse")).toContainText("Healthy");
  await expect(row(page, "lighthouse")).not.toContainText("ago, last known");
});
