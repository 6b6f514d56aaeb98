// Charts: uploaded, chosen for a workload, with values that differ on one cluster (S1-10, S1-11, S1-26).

import { gzipSync } from "node:zlib";

import { accessible, expect, open, packChart, publish, remove, row, step, test, toStep } from "./kit.js";

const CHART = packChart("beacon", {
  "Chart.yaml": "apiVersion: v2\nname: beacon\nversion: 1.0.0\ndescription: Shows a message\n",
  "values.yaml": "message: none # what it shows\n",
  "templates/config.yaml":
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {message: {{ .Values.message | quote }}}\n",
});

test("s1_26 a chart is uploaded, chosen, published with values of one cluster, and a hostile one is rejected", async ({ page, faults }) => {
  faults.expect(/422/);
  await open(page, "/charts");
  await expect(page.getByRole("heading", { name: "No charts yet" })).toBeVisible();
  const picker = page.locator("input[type=file]");
  await picker.setInputFiles({ name: "no.tgz", mimeType: "application/gzip", buffer: gzipSync("nothing") });
  await expect(page.getByRole("alert")).toContainText("is no readable .tgz file");
  await picker.setInputFiles({ name: "beacon-1.0.0.tgz", mimeType: "application/gzip", buffer: CHART });
  await expect(page.getByText("local/beacon 1.0.0 uploaded.")).toBeVisible();
  await expect(row(page, "local/beacon")).toContainText("Shows a message");
  await accessible(page, "the charts");

  await open(page, "/workloads/new");
  await page.getByLabel("Workload name").fill("beacon");
  await page.getByLabel("Namespace").fill("beacon");
  await page.getByRole("radio", { name: "Helm chart" }).check();
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await expect(page.getByText("No chart is chosen.")).toBeVisible();
  await page.getByLabel("Chart", { exact: true }).selectOption("local/beacon@1.0.0");
  await expect(page.getByText("No chart is chosen.")).toHaveCount(0);
  await page.getByText("Default values of the chart").click();
  await expect(page.getByText("message: none # what it shows")).toBeVisible();
  await page.locator(".cm-content").fill("message: common # for all");
  await expect(page.getByText(/^Saved \d\d:\d\d$/)).toBeVisible();
  await accessible(page, "the source of a chart");
  await page.reload();
  await expect(page.locator(".cm-content"), "comments are stored").toContainText("message: common # for all");

  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByText("All clusters", { exact: true }).click();
  await toStep(page, "Overrides");
  await step(page, "Overrides");
  await page.getByLabel("Clusters", { exact: true }).fill("eu-west-1");
  await page.getByLabel("Chart values as YAML").fill("message: special");
  await expect(page.getByRole("row", { name: /message/ })).toContainText("cluster eu-west-1");
  await expect(page.getByRole("row", { name: /message/ })).toContainText("common ← common");
  await accessible(page, "the values of one cluster");
  await toStep(page, "Rollout");
  await step(page, "Rollout");
  await open(page, "/workloads/beacon?tab=overrides");
  await expect(page.getByRole("navigation", { name: "Clusters that get it" }).getByRole("link", { name: /eu-west-1/ })).toContainText("1 field");

  await open(page, "/workloads/beacon/publish");
  await publish(page, "beacon");
  await expect(page.getByText("5 of 5 clusters run r1")).toBeVisible({ timeout: 40_000 });
  await expect(page.getByText("chart local/beacon 1.0.0")).toBeVisible();

  await remove(page, "beacon");
});
