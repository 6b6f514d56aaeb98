// Joining a cluster: the form grants the agent's rights, and the install manifests are displayed once.

import { expect, open, test } from "./kit.js";

test("manifests for an agent contain only the requested rights", async ({ page }) => {
  await open(page, "/clusters");
  await page.getByRole("link", { name: "Join a cluster" }).click();
  await expect(page.getByRole("heading", { name: "Join a cluster" })).toBeVisible();
  await page.getByLabel("Name", { exact: true }).fill("edge-9");
  await page.getByLabel("Namespaces it may write to").fill("shop, blog");
  await page.getByLabel("Labels").fill("env=prod,region=eu");
  await page.getByRole("button", { name: "Generate manifests" }).click();

  const manifests = page.getByRole("region", { name: "Manifests for edge-9" });
  await expect(manifests).toContainText("kind: ClusterRole");
  await expect(manifests).toContainText("namespace: shop");
  await expect(manifests).not.toContainText('"*"');
  await expect(page.getByText("kubectl apply -f edge-9-agent.yaml")).toBeVisible();

  // The token is not shown again.
  await page.reload();
  await expect(manifests).toHaveCount(0);
});

test("invalid input is rejected with the reason, and the input is retained", async ({ page, faults }) => {
  faults.expect(/422/);
  await open(page, "/join");
  await page.getByLabel("Name", { exact: true }).fill("Edge_9");
  await page.getByLabel("Kinds it may write").fill("Deploymnt");
  await page.getByRole("button", { name: "Generate manifests" }).click();
  await expect(page.getByRole("alert")).toContainText("edge-9");
  await expect(page.getByRole("alert")).toContainText("Deploymnt");
  await expect(page.getByLabel("Name", { exact: true })).toHaveValue("Edge_9");
});
