// Where a workload belongs and what differs there: every refusal has its remedy, every value its origin.

import { type Page } from "@playwright/test";
import { accessible, expect, open, paste, row, test } from "./kit.js";

const NAME = "placed";
const YAML = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: registry.example.com/web:1.0
          env: [{name: LEVEL, value: info}]
`;

test.describe.configure({ mode: "serial" });

/** A draft, made as the command line makes it. */
async function draft(page: Page): Promise<void> {
  await open(page, "/workloads/new");
  await page.getByLabel("Workload name").fill(NAME);
  await page.getByLabel("Namespace").fill(NAME);
  await page.getByText("YAML", { exact: true }).click();
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await paste(page, "deploy.yaml", YAML);
  await page.getByRole("button", { name: "Continue to Placement" }).click();
  await expect(page.getByRole("heading", { name: /clusters chosen/ })).toBeVisible();
}

test("three of five clusters are chosen by name, then by label, and every refused one says what would change that", async ({ page }) => {
  await draft(page);
  for (const cluster of ["eu-west-1", "eu-west-2", "us-east-1"]) {
    await page.getByRole("checkbox", { name: cluster }).check();
  }
  await expect(page.getByRole("heading", { name: /^3 of 5 clusters chosen/ })).toBeVisible();
  const refused = page.getByRole("table", { name: "Refused clusters" });
  await expect(row(refused, "eu-west-3")).toContainText("add eu-west-3 to the names in the placement");

  await page.getByText("Labels", { exact: true }).click();
  await page.getByLabel("All of these labels").fill("region=eu-west");
  await expect(page.getByRole("heading", { name: /^3 of 5 clusters chosen/ })).toBeVisible();
  await expect(row(refused, "us-east-1")).toContainText("set the label region=eu-west");
  const funnel = page.getByRole("list", { name: "What each step leaves" });
  await expect(funnel.getByRole("listitem").nth(1)).toContainText("3 −2");

  await page.getByLabel("Never on").fill("eu-west-2");
  await page.getByLabel("How many").fill("1");
  await expect(page.getByRole("heading", { name: /^1 of 5 clusters chosen/ })).toBeVisible();
  await expect(row(refused, "eu-west-2")).toContainText("remove eu-west-2 from the excluded clusters");
  await expect(row(refused, "eu-west-3")).toContainText("ask for 2 clusters");
  await page.getByLabel("How many").fill("9");
  await expect(page.getByText("9 clusters are asked for and 2 match.")).toBeVisible();
  await page.getByLabel("How many").fill("");
  await page.getByLabel("Spread over", { exact: true }).first().fill("region");
  await expect(page.getByText("The spread over region changes nothing")).toBeVisible();
  await page.getByLabel("Spread over", { exact: true }).first().fill("");
  await page.getByLabel("Never on").fill("");
  await accessible(page, "a filled editor");
  await page.getByRole("button", { name: "Continue to Overrides" }).click();
  await expect(page).toHaveURL(/\/edit\/overrides$/);
});

test("what was saved stands there again, also as YAML", async ({ page }) => {
  await open(page, `/workloads/${NAME}?tab=placement`);
  await expect(page.getByLabel("All of these labels")).toHaveValue("region=eu-west");
  await page.getByText("As YAML", { exact: true }).click();
  await page.getByLabel("This text counts, not the fields").check();
  const text = page.getByLabel("Placement as YAML");
  await expect(text).toHaveValue(/labelSelector: region=eu-west/);
  await text.fill("predicates:\n  - labelSelector: region=us-east\n");
  await expect(page.getByRole("heading", { name: /^2 of 5 clusters chosen/ })).toBeVisible();
  await text.fill("predicates:\n  - labelSelector: region=eu-west\n");
  await page.getByRole("button", { name: "Save placement" }).click();
  await expect(page.getByText("Placement saved in the draft.")).toBeVisible();
});

test("a cluster gets other replicas by the form, and the value says who set it", async ({ page }) => {
  await open(page, `/workloads/${NAME}?tab=overrides`);
  const field = page.getByLabel("Deployment web replicas");
  await page.getByLabel("Clusters", { exact: true }).fill("eu-west-1");
  await field.fill("5");
  const replicas = page.getByRole("row").filter({ has: field });
  await expect(replicas).toContainText("5 from eu-west-1 ← 2 base");
  await expect(replicas.getByRole("cell").last()).toHaveText("5");
  await field.fill("many");
  await expect(page.getByText('"many" is no number for /spec/replicas.')).toBeVisible();
  await field.fill("5");
  await page.getByRole("button", { name: "Save override" }).click();
  await expect(page.getByText("Override eu-west-1 saved.")).toBeVisible();
  await expect(row(page, "eu-west-1")).toContainText("1 change");

  // Another cluster has the base; one that is not there is told.
  const clusters = page.getByRole("navigation", { name: "Clusters that get it" });
  await expect(clusters.getByRole("link", { name: /eu-west-1/ })).toContainText("1 field");
  await clusters.getByRole("link", { name: /eu-west-2/ }).click();
  await expect(page.getByRole("heading", { name: "On eu-west-2" })).toBeVisible();
  await page.getByLabel("Clusters", { exact: true }).fill("eu-wset-1");
  await page.getByLabel("Name", { exact: true }).fill("typo");
  await expect(page.getByText(/Did you mean "eu-west-1"/)).toBeVisible();
  await accessible(page, "a filled editor");

  await page.getByRole("button", { name: "Remove override eu-west-1" }).click();
  await expect(page.getByText("Override eu-west-1 removed.")).toBeVisible();
});

test("an override is saved and removed without script", async ({ browser, signedIn, baseURL }) => {
  const context = await browser.newContext({ javaScriptEnabled: false, storageState: signedIn, baseURL });
  const page = await context.newPage();
  await page.goto(`/workloads/${NAME}?tab=overrides`);
  await page.getByLabel("Clusters", { exact: true }).fill("eu-west-2");
  await page.getByLabel("Deployment web replicas").fill("4");
  await page.getByRole("button", { name: "Save override" }).click();
  await expect(row(page, "eu-west-2")).toContainText("1 change");
  await page.goto(`/workloads/${NAME}?tab=overrides&override=eu-west-2&cluster=eu-west-2`);
  await expect(page.getByText("4 from eu-west-2")).toBeVisible();
  await page.getByRole("button", { name: "Remove override eu-west-2" }).click();
  await expect(row(page, "eu-west-2")).toHaveCount(0);
  await context.close();
});
