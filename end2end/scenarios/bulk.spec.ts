// Actions on several workloads of the list: selection, confirmation with what they concern, and the result for each workload.

import { type Locator, type Page } from "@playwright/test";
import { accessible, describe, expect, open, publish, remove, row, step, test, toStep } from "./kit.js";

const YAML = `apiVersion: apps/v1
kind: Deployment
metadata: {name: buoy}
spec:
  replicas: 1
  selector: {matchLabels: {app: buoy}}
  template:
    metadata: {labels: {app: buoy}}
    spec:
      containers:
        - name: buoy
          image: registry.example.com/buoy:1.0
`;

test.describe.configure({ mode: "serial" });

function box(page: Page, name: string): Locator {
  return page.getByRole("checkbox", { name: `Select ${name}`, exact: true });
}

function bar(page: Page): Locator {
  return page.getByRole("form", { name: "Selected workloads" });
}

test("rows are selected one by one, as a range and all together", async ({ page }) => {
  await describe(page, "buoy", "buoy", YAML);
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByText("All clusters", { exact: true }).click();
  await toStep(page, "Review");
  await publish(page, "buoy");
  await describe(page, "harbour", "harbour", YAML);
  await toStep(page, "Placement");
  await step(page, "Placement");

  await open(page, "/workloads?order=name");
  await expect(bar(page)).toBeHidden();
  await box(page, "buoy").check();
  await expect(bar(page)).toContainText("1 selected");
  await box(page, "lighthouse").click({ modifiers: ["Shift"] });
  await expect(bar(page)).toContainText("3 selected");
  await expect(box(page, "harbour")).toBeChecked();
  await expect(page.getByRole("checkbox", { name: "Select all on this page" })).toBeChecked();
  await accessible(page, "a list with selected rows");
  await bar(page).getByRole("button", { name: "Clear" }).click();
  await expect(bar(page)).toBeHidden();
  await expect(box(page, "buoy")).not.toBeChecked();
});

test("several workloads are compared at once without script", async ({ browser, signedIn, baseURL }) => {
  const context = await browser.newContext({ javaScriptEnabled: false, storageState: signedIn, baseURL });
  const page = await context.newPage();
  await page.goto("/workloads?order=name");
  await box(page, "buoy").check();
  await box(page, "lighthouse").check();
  await box(page, "harbour").check();
  await bar(page).getByRole("button", { name: "Sync…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Sync 2 workloads on 5 clusters now?");
  await expect(dialog.getByRole("listitem").filter({ hasText: "harbour" })).toContainText("Skipped: harbour was never published.");
  await dialog.getByRole("button", { name: "Sync" }).click();
  await expect(page).toHaveURL(/order=name.*done=sync/);
  const result = page.getByRole("listitem").filter({ hasText: "requested" });
  await expect(result).toHaveCount(2);
  await expect(result.filter({ hasText: "lighthouse" })).toContainText("by demo");
  await context.close();
});

test("an unpublish of several workloads says what it removes, is confirmed with their number, and shows every failure", async ({ page, context, faults }) => {
  faults.expect(/status (of )?4(09|22)/);
  await open(page, "/workloads?order=name");
  await page.getByRole("checkbox", { name: "Select all on this page" }).check();
  await bar(page).getByRole("button", { name: "Unpublish…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Unpublish 2 workloads from 5 clusters?");
  await expect(dialog).toContainText(/9 releases with \d+ objects are removed\./);
  await expect(dialog.getByRole("listitem").filter({ hasText: "buoy" })).toContainText(/5 clusters, \d+ object/);
  await accessible(page, "the confirmation");
  await dialog.getByLabel("Type 2 to unpublish 2 workloads").fill("2");

  // Meanwhile one of them is unpublished by somebody else.
  const other = await context.newPage();
  await open(other, "/workloads/buoy?dialog=unpublish");
  await other.getByRole("dialog").getByRole("button", { name: "Unpublish" }).click();
  await expect(other).toHaveURL(/\/workloads\/buoy$/);
  await other.close();

  await dialog.getByRole("button", { name: "Unpublish" }).click();
  await expect(dialog.getByRole("alert")).toContainText("1 of 2 failed. Done: lighthouse.");
  await expect(dialog.getByRole("alert")).toContainText("buoy: buoy is already unpublished.");
  await expect(dialog).toContainText("None of the selected workloads can be unpublished");
  await dialog.getByRole("link", { name: "Close" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(bar(page), "the selection stays").toContainText("3 selected");
  await expect(row(page, "lighthouse")).toContainText("Unpublish");

  await remove(page, "buoy");
  await remove(page, "harbour");

  // Other scenarios expect it.
  await open(page, "/workloads/lighthouse/publish");
  await publish(page, "lighthouse");
  await open(page, "/workloads");
  await expect(row(page, "lighthouse")).toContainText("4/4");
});
