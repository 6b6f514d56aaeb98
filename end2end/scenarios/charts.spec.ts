// Charts: uploaded, chosen for a workload, with values that differ on one cluster (S1-10, S1-11, S1-26).

import { gzipSync } from "node:zlib";

import { accessible, accessibleAtEverySize, alive, expect, open, packChart, publish, remove, row, SAVED, step, test, toStep } from "./kit.js";

const CHART = packChart("beacon", {
  "Chart.yaml": "apiVersion: v2\nname: beacon\nversion: 1.0.0\ndescription: Shows a message\n",
  "README.md": "# Beacon\n\nShows a **message**.\n\n<script>document.title = 'run'</script>\n\n![logo](https://example.com/logo.png) [docs](javascript:alert(1))\n",
  "values.yaml": "message: none # what it shows\nreplicas: 1\nlabels: {}\n",
  "values.schema.json": JSON.stringify({
    properties: { replicas: { type: "integer", minimum: 0, description: "Number of pods" }, mode: { enum: ["quiet", "loud"] } },
  }),
  "templates/config.yaml":
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}}\ndata: {message: {{ .Values.message | quote }}}\n",
});

test("s1_26 a chart is uploaded, chosen, published with values of one cluster, and a hostile one is rejected", async ({ page, faults }) => {
  faults.expect(/4(09|12|22)/);
  await open(page, "/charts");
  await expect(page.getByRole("heading", { name: "No charts yet" })).toBeVisible();
  await expect(page.getByPlaceholder("Name or description"), "there is nothing to search").toHaveCount(0);
  await expect(page.locator("#repository-name")).toBeHidden();
  await page.getByRole("main").getByRole("link", { name: "Add chart repository" }).click();
  await expect(page.locator("#repository-name"), "the way forward opens the form").toBeVisible();
  const picker = page.locator("input[type=file]");
  await picker.setInputFiles({ name: "no.tgz", mimeType: "application/gzip", buffer: gzipSync("nothing") });
  await expect(page.getByRole("alert")).toContainText("is no readable .tgz file");
  await picker.setInputFiles({ name: "beacon-1.0.0.tgz", mimeType: "application/gzip", buffer: CHART });
  await expect(page.getByText("local/beacon 1.0.0 uploaded.")).toBeVisible();
  await expect(row(page, "local/beacon")).toContainText("Shows a message");
  await accessible(page, "the charts");
  await page.getByPlaceholder("Name or description").fill("nothing like it");
  await expect(page.getByRole("heading", { name: "No such chart" })).toBeVisible();
  await open(page, "/charts?q=message");
  await row(page, "local/beacon").getByRole("link", { name: "local/beacon" }).click();

  await expect(page.getByRole("heading", { name: "Beacon", exact: true })).toBeVisible();
  await expect(page.locator(".prose")).toContainText("Shows a message. logo docs");
  await expect(page.locator(".prose a, .prose img, .prose script")).toHaveCount(0);
  await expect(page).toHaveTitle(/^local\/beacon/);
  await expect(page.getByText("No workload uses this chart.")).toBeVisible();
  await expect(page.locator(".head-actions > *").first(), "what deletes is not the first action").toHaveText("Use this chart");
  await accessibleAtEverySize(page, "a chart");
  await page.getByRole("link", { name: "Use this chart" }).click();

  await expect(page.getByLabel("Workload name")).toHaveValue("beacon");
  await page.getByLabel("Namespace").fill("beacon");
  await expect(page.getByRole("radio", { name: "Helm chart" })).toBeChecked();
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await expect(page.getByLabel("Chart", { exact: true })).toHaveValue("local/beacon");
  await expect(page.getByLabel("Version", { exact: true })).toHaveValue("1.0.0");
  await page.getByText("Default values of the chart", { exact: true }).click();
  await expect(page.getByText("message: none # what it shows")).toBeVisible();

  // The form and the text are two views of the same values.
  await page.getByLabel("replicas", { exact: true }).fill("many");
  await expect(page.locator(".cm-content")).toContainText("replicas: many");
  // An error is shown once the field is left.
  await page.getByLabel("replicas", { exact: true }).press("Tab");
  const problem = page.locator(".field", { has: page.getByLabel("replicas", { exact: true }) });
  await expect(problem).toContainText("G113");
  await expect(problem).toContainText("got string, want integer");
  await accessible(page, "a value that violates the schema");
  await problem.getByRole("button", { name: "Use default of replicas" }).click();
  await expect(problem).not.toContainText("G113");
  await page.getByLabel("mode", { exact: true }).selectOption("loud");
  await expect(page.locator(".cm-content")).toContainText("mode: loud");
  await page.locator(".cm-content").fill("mesage: common");
  await expect(page.getByText('Did you mean "message"?')).toBeVisible();
  await page.locator(".cm-content").fill("message: common # for all");
  await expect(page.getByText('Did you mean "message"?')).toHaveCount(0);
  await expect(page.getByLabel("message", { exact: true })).toHaveValue("common");
  await expect(page.getByText(SAVED)).toBeVisible();
  await accessible(page, "the source of a chart");
  const reads: string[] = [];
  page.on("request", (request) => {
    if (/\/api\/fn\/(source|chart_\w+)_read/.test(request.url())) reads.push(request.url());
  });
  await page.reload();
  await alive(page);
  await expect(page.locator(".cm-content"), "comments are stored").toContainText("message: common # for all");
  await expect(page.getByLabel("mode", { exact: true })).toBeVisible();
  expect(reads, "the browser takes over what the server read").toEqual([]);

  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByText("All clusters", { exact: true }).click();
  await toStep(page, "Overrides");
  await step(page, "Overrides");
  await page.getByRole("navigation", { name: "Target clusters" }).getByRole("link", { name: "eu-west-1" }).click();
  await page.getByLabel("Chart values as YAML").fill("message: special");
  await expect(page.getByRole("row", { name: /message/ })).toContainText("cluster eu-west-1");
  await expect(page.getByRole("row", { name: /message/ })).toContainText("common ← common");
  await accessible(page, "the values of one cluster");
  await toStep(page, "Rollout");
  await step(page, "Rollout");
  await open(page, "/workloads/beacon?tab=overrides");
  await expect(page.getByRole("navigation", { name: "Target clusters" }).getByRole("link", { name: /eu-west-1/ })).toContainText("1 field differs");

  await open(page, "/workloads/beacon/publish");
  await publish(page, "beacon");
  await expect(page.getByText("5 of 5 clusters healthy with r1")).toBeVisible();
  await expect(page.locator("dd", { hasText: "chart local/beacon 1.0.0" })).toBeVisible();
  await open(page, "/workloads/beacon?tab=history");
  await expect(row(page, "r1")).toContainText(/Helm v\d/);

  await open(page, "/charts/local/beacon");
  await expect(page.getByRole("link", { name: "beacon", exact: true })).toBeVisible();
  await page.getByRole("link", { name: "Delete version" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Delete version" }).click();
  await expect(dialog.getByRole("alert")).toContainText("beacon");
  await dialog.getByRole("link", { name: "Cancel" }).click();

  await remove(page, "beacon");
  await open(page, "/charts/local/beacon?dialog=delete&version=1.0.0");
  await page.getByRole("dialog").getByRole("button", { name: "Delete version" }).click();
  await expect(page.getByRole("heading", { name: "No charts yet" })).toBeVisible();
});

test("a chart repository is removed only after a question that says what is deleted with it", async ({ page }) => {
  await open(page, "/charts");
  await page.locator("summary", { hasText: "Add repository" }).click();
  const form = page.locator("form", { has: page.getByRole("button", { name: "Add repository" }) });
  await form.getByLabel("Name", { exact: true }).fill("mirror");
  // Nothing listens there: the repository is added, with the reason why it can't be read.
  await form.getByLabel("URL", { exact: true }).fill("https://127.0.0.1:9/charts");
  await form.getByRole("button", { name: "Add repository" }).click();
  await expect(form.getByText(/^mirror was added, but can't be read now: \S/)).toBeVisible();
  await expect(row(page, "mirror")).toContainText("https://127.0.0.1:9/charts");

  await row(page, "mirror").getByRole("link", { name: "Remove mirror" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove the repository mirror?" });
  await expect(dialog).toContainText("the charts that were fetched from it are deleted");
  await dialog.getByRole("link", { name: "Cancel" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(row(page, "mirror")).toBeVisible();
  await row(page, "mirror").getByRole("link", { name: "Remove mirror" }).click();
  await dialog.getByRole("button", { name: "Remove repository" }).click();
  await expect(page).toHaveURL(/\/charts$/);
  await expect(row(page, "mirror")).toHaveCount(0);
});

test("a Git repository is removed only after a question that says what its workloads lose", async ({ page }) => {
  await open(page, "/charts");
  await page.locator("summary", { hasText: "Add Git repository" }).click();
  const form = page.locator("form", { has: page.getByRole("button", { name: "Save Git repository" }) });
  await form.getByLabel("Name", { exact: true }).fill("deploy");
  await form.getByLabel("URL", { exact: true }).fill("https://git.example.com/acme/deploy.git");
  await form.getByRole("button", { name: "Save Git repository" }).click();
  await expect(row(page, "deploy")).toContainText("https://git.example.com/acme/deploy.git");

  await row(page, "deploy").getByRole("link", { name: "Remove deploy" }).click();
  const dialog = page.getByRole("dialog", { name: "Remove the Git repository deploy?" });
  await expect(dialog).toContainText("Workloads that follow it stay at their commit");
  await accessible(page, "the question about a Git repository");
  await dialog.getByRole("link", { name: "Cancel" }).click();
  await expect(dialog).toHaveCount(0);
  await expect(row(page, "deploy")).toBeVisible();
  await row(page, "deploy").getByRole("link", { name: "Remove deploy" }).click();
  await dialog.getByRole("button", { name: "Remove Git repository" }).click();
  await expect(row(page, "deploy")).toHaveCount(0);
});
