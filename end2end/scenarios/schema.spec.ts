// The schema of kinds is checked in the browser: errors are reported while the user types.

import { expect, fixture, open, paste, step, test } from "./kit.js";

test("an unknown field is reported with the nearest known one, while the user types", async ({ page }) => {
  const requested: string[] = [];
  page.on("request", (request) => {
    if (/\/pkg\/kubernetes\.\w+\.json$/.test(request.url())) requested.push(request.url());
  });
  await open(page, "/workloads/new");
  await page.getByLabel("Workload name").fill("slip");
  await page.getByLabel("Namespace").fill("slip");
  await page.getByText("YAML", { exact: true }).click();
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await step(page, "Source");
  expect(requested, "nothing is fetched before there is text").toEqual([]);

  await paste(page, "deploy.yaml", fixture("three-tier", "web.yaml").replace("replicas:", "replica:"));
  const finding = page.getByRole("listitem").filter({ hasText: "G403" });
  await expect(finding).toContainText("unknown field spec.replica (did you mean replicas?)");
  await expect(finding).toContainText(/deploy\.yaml:\d+/);

  await paste(page, "deploy.yaml", fixture("three-tier", "web.yaml"));
  await expect(finding).toHaveCount(0);
  expect(requested, "fetched once").toHaveLength(1);
});
