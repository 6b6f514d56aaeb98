// Placement and overrides: every cluster that is not selected has its remedy, every value its provenance.

import { type Page } from "@playwright/test";
import { accessible, addTarget, expect, open, override, paste, requireLabel, row, targetPart, test } from "./kit.js";
import { PATIENCE } from "./patience.js";

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

/** Creates a draft and opens its placement. */
async function draft(page: Page): Promise<void> {
  await open(page, "/workloads/new");
  await page.getByLabel("Workload name").fill(NAME);
  await page.getByLabel("Namespace").fill(NAME);
  await page.getByText("YAML", { exact: true }).click();
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await paste(page, "deploy.yaml", YAML);
  await page.getByRole("button", { name: "Continue to Placement" }).click();
  await expect(page.getByRole("heading", { name: /clusters selected/ })).toBeVisible();
}

test("three of five clusters are selected by name, then by label, and every other one shows what would select it", async ({ page }) => {
  await draft(page);
  for (const cluster of ["eu-west-1", "eu-west-2", "us-east-1"]) {
    await page.getByRole("checkbox", { name: cluster }).check();
  }
  await expect(page.getByRole("heading", { name: /^3 of 5 clusters selected/ })).toBeVisible();
  const refused = page.getByRole("table", { name: "Clusters not selected" });
  await expect(row(refused, "eu-west-3")).toContainText("add eu-west-3 to the names in the placement");

  await page.getByText("Labels", { exact: true }).click();
  await requireLabel(page, "region", "eu-west");
  await expect(page.getByRole("heading", { name: /^3 of 5 clusters selected/ })).toBeVisible();
  await expect(row(refused, "us-east-1")).toContainText("set the label region=eu-west");
  const remedy = row(refused, "us-east-1").getByRole("link", { name: "set the label region=eu-west" });
  await expect(remedy, "a remedy leads to where it is done").toHaveAttribute("href", "/clusters/us-east-1#labels");
  // The values that the fleet has are offered with the number of clusters; a selector can also be typed.
  await expect(page.locator("datalist#label-keys option[value='region']")).toHaveText("region: 5 clusters");
  await page.getByLabel("Values of label 1").fill("");
  await expect(page.getByText("region has no value yet.").first()).toBeVisible();
  const values = page.locator("datalist#placement-predicates-0-labels-0-values option");
  await expect(values.first()).toHaveText("eu-west: 3 clusters");
  await page.getByLabel("Values of label 1").fill("eu-west, ");
  await expect(values.first()).toHaveAttribute("value", "eu-west, us-east");
  await page.getByLabel("Key of label 1").fill("region in (eu-west), env");
  await page.getByLabel("Values of label 1").fill("");
  await expect(page.getByRole("heading", { name: /^3 of 5 clusters selected/ })).toBeVisible();
  await requireLabel(page, "region", "eu-west");
  await expect(page.getByText("All of the 3 clusters that match.")).toBeVisible();
  await page.getByText("Minimum number of clusters").click();
  await expect(page.getByText("Without a number: 3 of the 3 clusters selected.")).toBeVisible();
  await page.getByRole("link", { name: "3 of 5 selected" }).click();
  await expect(page).toHaveURL(/#placement-result$/);
  const funnel = page.getByRole("list", { name: "Clusters left by each filter" });
  await expect(funnel.getByRole("listitem").nth(1)).toContainText("3 −2");

  await page.getByLabel("Excluded clusters").fill("eu-west-2");
  await page.getByLabel("Number of clusters").fill("1");
  await expect(page.getByRole("heading", { name: /^1 of 5 clusters selected/ })).toBeVisible();
  await expect(page.getByText("Best 1 of the 2 clusters that match.")).toBeVisible();
  await expect(funnel.getByRole("listitem").nth(2)).toContainText("2 −1");
  await expect(row(refused, "eu-west-2")).toContainText("remove eu-west-2 from the excluded clusters");
  await expect(row(refused, "eu-west-3").getByRole("link", { name: "raise the number of clusters to 2" })).toHaveAttribute("href", "#placement-number");
  await page.getByLabel("Number of clusters").fill("9");
  await expect(page.getByText("The placement requests 9 clusters and 2 match.")).toBeVisible();
  await page.getByLabel("Number of clusters").fill("");
  await page.getByText("Spread and preference").click();
  await page.getByLabel("Spread over", { exact: true }).first().fill("region");
  await expect(page.getByText("The spread over region has no effect")).toBeVisible();
  await expect(page.getByText("than the region with fewest,")).toBeVisible();
  await page.getByLabel("Spread over", { exact: true }).first().fill("");
  await page.getByLabel("Excluded clusters").fill("");
  await accessible(page, "a filled editor");
  await page.getByRole("button", { name: "Continue to Overrides" }).click();
  await expect(page).toHaveURL(/\/edit\/overrides$/);
});

test("a saved placement is displayed again, also as YAML", async ({ page }) => {
  await open(page, `/workloads/${NAME}?tab=placement`);
  await expect(page.getByLabel("Key of label 1")).toHaveValue("region");
  await expect(page.getByLabel("Values of label 1")).toHaveValue("eu-west");
  await page.getByText("As YAML", { exact: true }).click();
  await page.getByLabel("Use this text instead of the fields").check();
  const text = page.getByLabel("Placement as YAML");
  await expect(text).toHaveValue(/labelSelector: region=eu-west/);
  await text.fill("predicates:\n  - labelSelector: region=us-east\n");
  await expect(page.getByRole("heading", { name: /^2 of 5 clusters selected/ })).toBeVisible();
  await text.fill("predicates:\n  - labelSelector: region=us-east\nnumberOfClusters: 1\n");
  const remedy = page.getByRole("cell", { name: "raise the number of clusters to 2" });
  await expect(remedy).toBeVisible();
  await expect(remedy.getByRole("link"), "its field is not displayed").toHaveCount(0);
  await text.fill("predicates:\n  - labelSelector: region=eu-west\n");
  await page.getByRole("button", { name: "Save placement" }).click();
  await expect(page.getByText("Placement saved in the draft.")).toBeVisible();
});

test("a cluster gets other replicas with the form, and the value shows its provenance", async ({ page, faults }) => {
  // The save of what is typed when another override is removed.
  faults.expect(/override_save|412/);
  await open(page, `/workloads/${NAME}?tab=overrides`);
  const field = page.getByLabel("Deployment web replicas");
  await page.getByRole("navigation", { name: "Target clusters" }).getByRole("link", { name: "eu-west-1" }).click();
  await field.fill("5");
  const replicas = page.getByRole("row").filter({ has: field });
  await expect(page.getByText("5 from eu-west-1 ← 2 base")).toBeVisible();
  await expect(replicas.getByRole("cell").last()).toHaveText("5");
  await field.fill("many");
  await expect(page.getByText('"many" is not a number for /spec/replicas.')).toBeVisible();
  await field.fill("5");
  await page.getByRole("button", { name: "Save override" }).click();
  await expect(page.getByText("Override eu-west-1 saved.")).toBeVisible();
  await expect(override(page, "eu-west-1")).toContainText("1 change");

  // Another cluster has the base value; an unknown cluster is reported.
  const clusters = page.getByRole("navigation", { name: "Target clusters" });
  await expect(clusters.getByRole("link", { name: /eu-west-1/ })).toContainText("1 field differs");
  await clusters.getByRole("link", { name: /eu-west-2/ }).click();
  await expect(page.getByRole("heading", { name: "eu-west-2", exact: true })).toBeVisible();
  await page.getByRole("link", { name: "New override" }).click();
  await addTarget(page, "eu-wset-1");
  await page.getByLabel("Name", { exact: true }).fill("typo");
  await expect(page.getByText(/Did you mean "eu-west-1"/)).toBeVisible();
  await expect(targetPart(page, "cluster eu-wset-1")).toContainText("does not exist");
  // By confirmed facts, with the provenance of the value on the shown cluster.
  await page.getByRole("button", { name: "Remove cluster eu-wset-1" }).click();
  await expect(page.getByText(/Did you mean "eu-west-1"/)).toBeHidden();
  const also = page.getByPlaceholder("Add a cluster, group, label or fact");
  await expect(also, "the button that had the focus is gone").toBeFocused();
  await also.fill("cloud>=1");
  await also.press("Enter");
  await expect(page.getByText(/"cloud" is not a fact/)).toBeVisible();
  await expect(also, "what can't be added stays").toHaveValue("cloud>=1");
  await addTarget(page, "kubernetesVersion>=1.0");
  await expect(targetPart(page, "fact kubernetesVersion>=1.0")).toBeVisible();
  await field.fill("7");
  await expect(page.getByText("7 from facts kubernetesVersion>=1.0 (typo) ← 2 base")).toBeVisible();
  await accessible(page, "a filled editor");

  await page.getByRole("button", { name: "Remove override eu-west-1" }).click();
  await expect(page.getByText("Override eu-west-1 removed.")).toBeVisible();
  // The new override is older than the draft now: it is not stored by itself, and not lost. If the page was built again before its
  // save was refused, it is opened from the list of such forms.
  const unsaved = page.getByRole("status").filter({ hasText: `Override typo of ${NAME} is not saved.` });
  await expect(async () => {
    if (await unsaved.isVisible()) await unsaved.getByRole("link", { name: "Open what was typed" }).click({ timeout: 3_000 });
    await expect(page.getByLabel("Name", { exact: true })).toHaveValue("typo", { timeout: 3_000 });
    await expect(field).toHaveValue("7", { timeout: 1_000 });
  }).toPass({ timeout: PATIENCE });
});

test("an override is saved and removed without script", async ({ browser, signedIn, baseURL }) => {
  const context = await browser.newContext({ javaScriptEnabled: false, storageState: signedIn, baseURL });
  const page = await context.newPage();
  await page.goto(`/workloads/${NAME}?tab=overrides`);
  await page.getByRole("navigation", { name: "Target clusters" }).getByRole("link", { name: "eu-west-2" }).click();
  await page.getByLabel("Deployment web replicas").fill("4");
  await page.getByRole("button", { name: "Save override" }).click();
  await expect(override(page, "eu-west-2")).toContainText("1 change");
  await page.goto(`/workloads/${NAME}?tab=overrides&override=eu-west-2&cluster=eu-west-2`);
  await expect(page.getByText("4 from eu-west-2")).toBeVisible();
  await page.getByRole("button", { name: "Remove override eu-west-2" }).click();
  await expect(override(page, "eu-west-2")).toHaveCount(0);

  // The target is text then; what does not exist is stored, and has its finding.
  await page.getByRole("link", { name: "New override" }).click();
  await expect(page.getByPlaceholder("Add a cluster, group, label or fact")).toBeHidden();
  await page.getByLabel("Name", { exact: true }).fill("europe");
  await page.getByLabel("Clusters", { exact: true }).fill("us-east-1, eu-wset-1");
  await page.getByLabel("Labels", { exact: true }).fill("region=eu-west");
  await page.getByLabel("Facts", { exact: true }).fill("kubernetesVersion>=1.0");
  await page.getByLabel("Deployment web replicas").fill("4");
  await page.getByRole("button", { name: "Save override" }).click();
  const target = "clusters us-east-1, eu-wset-1; labels region=eu-west and facts kubernetesVersion>=1.0";
  await expect(override(page, "europe")).toContainText(target);
  await override(page, "europe").getByRole("link").click();
  await expect(page.getByLabel("Clusters", { exact: true })).toHaveValue("us-east-1, eu-wset-1");
  await expect(page.getByLabel("Labels", { exact: true })).toHaveValue("region=eu-west");
  await expect(page.getByText(/Did you mean "eu-west-1"/)).toBeVisible();
  await page.getByLabel("Clusters", { exact: true }).fill("us-east-1");
  await page.getByRole("button", { name: "Save override" }).click();
  await expect(override(page, "europe")).toContainText("cluster us-east-1; labels region=eu-west");
  await page.getByRole("button", { name: "Remove override europe" }).click();
  await expect(override(page, "europe")).toHaveCount(0);
  await context.close();
});
