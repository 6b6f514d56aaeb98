// What goes wrong in life, done to a cluster of the demo: changes by hand are put right, a lost cluster holds nobody up.

import { type Page } from "@playwright/test";
import { alive, cell, expect, open, row, test } from "./kit.js";

/** Pulls a lever of the demo on the cluster's page. */
async function breakIt(page: Page, what: string): Promise<void> {
  // The page is live: what comes in while the menu opens may move it from under the pointer.
  await expect(async () => {
    const item = page.getByRole("button", { name: what });
    if (!(await item.isVisible())) await page.getByRole("button", { name: "Break it" }).click();
    await item.click({ timeout: 2_000 });
  }).toPass({ timeout: 15_000 });
}

/** The newest entry of the log that says this. */
async function logged(page: Page, cluster: string, words: RegExp): Promise<void> {
  await open(page, `/events?workload=lighthouse&cluster=${cluster}`);
  await expect(page.getByRole("main").getByRole("link").filter({ hasText: words }).first()).toBeVisible();
}

test("replicas changed by hand are put back, and the log names the field and who did it", async ({ page }) => {
  await open(page, "/clusters/eu-west-1");
  await breakIt(page, "Change replicas by hand");
  await expect(page.getByText("replicas were changed from 4 to 7 by hand")).toBeVisible();
  await expect(row(page, "lighthouse")).toContainText("Healthy");
  await logged(page, "eu-west-1", /\/spec\/replicas.*kubectl-edit.*put back/s);
});

test("an image changed by hand is put back while the page looks on", async ({ page, context }) => {
  await open(page, "/clusters/eu-west-2");
  const log = await context.newPage();
  await open(log, "/events?workload=lighthouse&cluster=eu-west-2");
  await breakIt(page, "Change an image by hand");
  await expect(page.getByText("its image was changed to busybox:1.36 by hand")).toBeVisible();
  // The log was open before it happened and is not loaded again.
  await expect(log.getByRole("main").getByRole("link").filter({ hasText: /image.*kubectl-edit.*put back/s }).first()).toBeVisible();
  await expect(row(page, "lighthouse")).toContainText("Healthy");
});

test("a deleted object comes back", async ({ page }) => {
  await open(page, "/clusters/us-east-1");
  await breakIt(page, "Delete an object");
  await expect(page.getByText(/^Deployment harbor\/lighthouse was deleted on us-east-1\./)).toBeVisible();
  await logged(page, "us-east-1", /Deployment harbor\/lighthouse was deleted.*put back/s);
  await open(page, "/workloads/lighthouse?open=us-east-1");
  await expect(row(page, "us-east-1")).toContainText("Healthy");
  await expect(row(page, "Deployment lighthouse")).toContainText("Healthy");
});

test("a cluster that is cut off keeps its last known state and holds nobody up; when it is back it is Healthy", async ({ page }) => {
  await open(page, "/clusters/us-east-2");
  await breakIt(page, "Take it offline");
  await expect(page.getByText("us-east-2 is cut off.")).toBeVisible();

  try {
    await page.getByRole("navigation", { name: "Rooms", exact: true }).getByRole("link", { name: "Fleet" }).click();
    await alive(page);
    await expect(cell(page, "lighthouse", "us-east-2")).toHaveAccessibleName("lighthouse on us-east-2: Healthy, last known", { timeout: 45_000 });
    await expect(page.getByRole("region", { name: "Clusters not reporting" })).toContainText("us-east-2");
    await expect(cell(page, "lighthouse", "us-east-1")).toHaveAccessibleName("lighthouse on us-east-1: Healthy");
    await expect(page.getByRole("heading", { level: 1 })).toContainText("1 cluster not reporting");

    // The review says that it is waited for by nobody.
    await open(page, "/workloads/lighthouse/publish");
    await expect(page.getByText(/^1 cluster offline; they get it when they return/)).toBeVisible();
  } finally {
    await open(page, "/clusters/us-east-2");
    await breakIt(page, "Bring it back");
    await expect(page.getByText("us-east-2 can be reached again.")).toBeVisible();
  }
  await expect(page.getByRole("main").getByText(/^Online/).first()).toBeVisible({ timeout: 30_000 });
  await expect(row(page, "lighthouse")).toContainText("Healthy", { timeout: 30_000 });
  await expect(row(page, "lighthouse")).not.toContainText("ago, last known");
});
