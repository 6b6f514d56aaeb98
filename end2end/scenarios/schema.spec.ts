// What kinds look like is known in the browser: a slip is named while one types, before anything is sent.

import { expect, fixture, open, paste, step, test } from "./kit.js";

test("a field that does not exist is named with the one that was meant, as one types", async ({ page }) => {
  const asked: string[] = [];
  page.on("request", (request) => {
    if (/\/pkg\/kubernetes\.\w+\.json$/.test(request.url())) asked.push(request.url());
  });
  await open(page, "/workloads/new");
  await page.getByLabel("Workload name").fill("slip");
  await page.getByLabel("Namespace").fill("slip");
  await page.getByText("YAML", { exact: true }).click();
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await step(page, "Source");
  expect(asked, "nothing is fetched before there is text").toEqual([]);

  await paste(page, "deploy.yaml", fixture("three-tier", "web.yaml").replace("replicas:", "replica:"));
  const finding = page.getByRole("listitem").filter({ hasText: "G403" });
  await expect(finding).toContainText("unknown field spec.replica (did you mean replicas?)");
  await expect(finding).toContainText(/deploy\.yaml:\d+/);

  await paste(page, "deploy.yaml", fixture("three-tier", "web.yaml"));
  await expect(finding).toHaveCount(0);
  expect(asked, "fetched once").toHaveLength(1);
});
