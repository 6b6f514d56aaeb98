// What the console shows while the server or a cluster does not respond, and after it responds again.

import { type Page } from "@playwright/test";
import { alive, describe, expect, injectFault, notListed, open, publish, row, step, test, toStep } from "./kit.js";

const settings = (namespace: string): string => `apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: ${namespace}}
data: {greeting: hello}
`;

/** Starts a draft that selects every cluster and opens its review. */
async function review(page: Page, name: string): Promise<void> {
  await describe(page, name, name, settings(name));
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByText("All clusters", { exact: true }).click();
  await toStep(page, "Review");
}

test("p31 while the server is stopped before the commit, no page shows a publish, and an open page shows that it is stale", async ({ page, context, demo }) => {
  test.slow();
  await review(page, "stopped");
  const button = page.getByRole("button", { name: /^Publish to \d+ clusters?$/ });
  await expect(button).not.toHaveAttribute("aria-disabled", "true");
  const other = await context.newPage();
  await open(other, "/workloads");
  await expect(row(other, "stopped")).toContainText("Draft");

  demo.armStop("publish.before_commit");
  await button.click();
  try {
    await expect.poll(() => demo.hasStopped()).toBe(true);
    await expect(other.getByRole("status").filter({ hasText: /^Stale since / })).toBeAttached();
    await expect(row(other, "stopped")).toContainText("Draft");
    await expect(page).toHaveURL(/\/workloads\/stopped\/publish/);
    await expect(page.getByRole("heading", { level: 1 })).toContainText("first revision");
  } finally {
    demo.resume();
  }

  await expect(page).toHaveURL(/\/workloads\/stopped$/);
  await alive(other);
  await expect(row(other, "stopped")).not.toContainText("Draft");
});

test("s1_23 p3 p17 a cluster that returns after a forced deletion removes the objects, and an event says so", async ({ page }) => {
  await review(page, "leftover");
  await publish(page, "leftover");
  await expect(row(page, "us-east-2")).toContainText("Healthy");

  await open(page, "/clusters/us-east-2");
  await injectFault(page, "Disconnect");
  try {
    await open(page, "/workloads/leftover");
    await expect(row(page, "us-east-2")).toContainText("last known");
    await open(page, "/workloads/leftover?dialog=delete");
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel(/^Abandon 1 cluster that can't be reached/).check();
    await dialog.getByLabel(/^Type /).fill("leftover");
    await dialog.getByRole("button", { name: "Delete" }).click();
    await expect(page).toHaveURL(/\/workloads$/);
    await notListed(page, "leftover");
  } finally {
    await open(page, "/clusters/us-east-2");
    await injectFault(page, "Reconnect");
  }
  await open(page, "/events?cluster=us-east-2");
  const cleanedUp = page.getByRole("main").getByRole("listitem").filter({ hasText: /leftover was cleaned up on us-east-2, .* after it was given up there/ });
  await expect(cleanedUp.first()).toBeVisible();
});
