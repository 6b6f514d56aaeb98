// The audit log: who changed what, and that nothing of it was changed since.

import { DEMO_USER, expect, open, test } from "./kit.js";

test("a filter of the audit log that does not exist is an error, not the whole log", async ({ page, faults }) => {
  faults.expect(/404/);
  await open(page, "/audit?outcome=lost");
  await expect(page.getByRole("main").getByText("There is no outcome \"lost\".")).toBeVisible();
  await expect(page.getByRole("row")).toHaveCount(0);
});

test("the audit log shows who changed what and from where, is filtered, and is verified", async ({ page }) => {
  await open(page, "/clusters/eu-west-3");
  const label = async (value: string | null): Promise<void> => {
    const status = await page.evaluate(async (value) => {
      const headers = { "content-type": "application/json" };
      const body = JSON.stringify({ labels: { ledger: value } });
      return (await fetch("/api/v1/clusters/eu-west-3", { method: "PATCH", headers, body })).status;
    }, value);
    expect(status).toBe(200);
  };
  await label("kept");
  await label(null);

  await open(page, "/audit");
  await expect(page.getByRole("row").filter({ hasText: "sign-in" }).first()).toContainText(DEMO_USER);
  await page.getByLabel("Action, publish").fill("edit-cluster");
  await page.getByLabel("Subject, workload shop").fill("cluster eu-west-3");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/action=edit-cluster/);
  const entry = page.getByRole("row").filter({ hasText: "cluster eu-west-3" }).first();
  await expect(entry).toContainText("Succeeded");
  await expect(entry).toContainText("127.0.0.1");
  await entry.locator("summary").click();
  await expect(entry.getByRole("region", { name: "Changes" })).toContainText("ledger");
  await expect(page.getByRole("row").filter({ hasText: "sign-in" })).toHaveCount(0);

  await page.getByRole("button", { name: "Verify" }).click();
  await expect(page.getByText(/^Intact up to entry \d+\.$/)).toBeVisible();
});
