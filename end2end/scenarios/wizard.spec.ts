// A workload described in the form, step by step, without YAML; and how the form changes existing text.

import { type Page } from "@playwright/test";
import { accessible, alive, expect, open, openPolicies, override, paste, publish, remove, row, SAVED, step, test, toStep } from "./kit.js";

/** Compares the number of findings that the page of a step, the rail and the foot show. */
async function compareFindings(page: Page): Promise<string> {
  const read = async (selector: string): Promise<string> => (await page.locator(selector).allTextContents()).join("").trim();
  const shown = await read("#findings .meta");
  const rail = (await read("nav[aria-label=Steps] [aria-current=step] .rail-count .sr-only")) || "No findings";
  const foot = await read(".footbar .reason [aria-live=polite]");
  const errors = /^\d+ errors?/.exec(shown)?.[0];
  const described = errors ? `${errors} to fix before publishing; you can continue` : `${shown}; you can continue`;
  const isSame = rail === shown && foot === (shown === "No findings" ? shown : described);
  return isSame ? "same" : `page: ${shown}; rail: ${rail}; foot: ${foot}`;
}

test("s0_14 two containers with a Service and an Ingress are deployed to three of five clusters without a line of YAML", async ({ page }) => {
  // Empty steps are checked in accessible.spec.ts; here filled ones.
  await open(page, "/workloads/new");
  await page.getByLabel("Workload name").fill("pair");
  await page.getByLabel("Namespace").fill("pair");
  await page.getByRole("button", { name: "Continue to Source" }).click();

  await step(page, "Source");
  const form = page.getByRole("group", { name: "Form", exact: true });
  await form.getByLabel("Image").fill("registry.example/team/pair:1.4.2");
  await form.getByLabel("Container name").fill("app");
  await form.getByRole("button", { name: "Port", exact: true }).click();
  await form.getByLabel("Port number").fill("8080");
  await form.getByRole("button", { name: "Variable", exact: true }).click();
  await form.getByLabel("Variable name").fill("LOG_LEVEL");
  await form.getByLabel("Value", { exact: true }).fill("info");
  await form.getByLabel("Readiness probe").selectOption("HTTP");
  await form.getByLabel("Path", { exact: true }).fill("/ready");

  await form.getByRole("button", { name: "Container", exact: true }).click();
  await form.getByLabel("Container name").fill("sidecar");
  await form.getByLabel("Image").fill("registry.example/team/proxy:2.0.0");

  await form.getByLabel("Inside the cluster (Service)").check();
  await form.getByLabel("Outside the cluster (Ingress)").check();
  await form.getByLabel("Host").fill("pair.example.com");
  await form.getByLabel("Class").fill("nginx");

  // The text has the values of the form.
  const text = page.locator("textarea.editor-source").first();
  for (const line of ["image: registry.example/team/proxy:2.0.0", "containerPort: 8080", "path: /ready", "kind: Service", "host: pair.example.com"]) {
    await expect(text).toHaveValue(new RegExp(line));
  }
  await expect(page.getByText(SAVED), "the draft is saved automatically").toBeVisible();
  await accessible(page, "the source");

  await page.getByRole("button", { name: "Continue to Placement" }).click();
  await step(page, "Placement");
  for (const cluster of ["eu-west-1", "eu-west-2", "us-east-1"]) {
    await page.getByRole("checkbox", { name: cluster }).check();
  }
  await page.getByRole("button", { name: "Continue to Overrides" }).click();
  await step(page, "Overrides");
  await page.getByRole("navigation", { name: "Target clusters" }).getByRole("link", { name: "us-east-1" }).click();
  await expect(page.getByRole("heading", { name: "us-east-1", exact: true }), "the heading shows the cluster of the override").toBeVisible();
  await page.getByLabel("Deployment pair replicas").fill("4");
  await page.getByRole("button", { name: "Continue to Rollout" }).click();
  await step(page, "Rollout");
  await expect(page.getByRole("heading", { name: "3 clusters at once" })).toBeVisible();
  await page.getByRole("button", { name: "Continue to Policies" }).click();
  await step(page, "Policies");
  await page.getByRole("button", { name: "Continue to Review" }).click();

  await expect(page.getByRole("heading", { level: 1 })).toContainText("pair first revision");
  // What appears with the results fades in.
  await expect(page.getByText("3 accepted", { exact: true })).toBeVisible();
  await accessible(page, "the review");
  await publish(page, "pair");
  for (const cluster of ["eu-west-1", "eu-west-2", "us-east-1"]) {
    await expect(row(page, cluster)).toContainText("Healthy");
  }
  await open(page, "/workloads/pair?tab=overrides");
  await expect(override(page, "us-east-1")).toContainText("1 change");
  await remove(page, "pair");
});

test("the form follows the text, the text follows the form, and content unknown to the form is retained", async ({ page }) => {
  await open(page, "/workloads/new");
  await page.getByLabel("Workload name").fill("kept");
  await page.getByLabel("Namespace").fill("kept");
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await step(page, "Source");
  const form = page.getByRole("group", { name: "Form", exact: true });
  const text = page.locator("textarea.editor-source").first();
  const initial = await text.inputValue();
  const mine = initial.replace('image: ""', "image: 'a:1' # ours\n          terminationMessagePolicy: FallbackToLogsOnError");
  expect(mine).not.toBe(initial);

  await paste(page, "deploy.yaml", mine);
  await expect(form.getByLabel("Image"), "the form follows the text").toHaveValue("a:1");
  await form.getByLabel("Image").fill("b:2");
  await expect(text, "nothing else changed").toHaveValue(mine.replace("'a:1'", "'b:2'"));
  await form.getByLabel("Memory limit").fill("512m");
  await expect(form.getByText(/G210/), "the finding is displayed at its field").toBeVisible();
  await form.getByLabel("Memory limit").fill("512Mi");
  await expect(form.getByText(/G210/)).toHaveCount(0);

  // Left with the rail and opened again: everything is retained.
  await toStep(page, "Policies");
  await step(page, "Policies");
  await page.getByRole("button", { name: "Back" }).click();
  await step(page, "Rollout");
  await toStep(page, "Source");
  await step(page, "Source");
  await expect(form.getByLabel("Memory limit")).toHaveValue("512Mi");
  await expect(page.locator("textarea.editor-source").first()).toHaveValue(/# ours/);
  await remove(page, "kept");
});

test("a step begins at its heading, without findings; those of a field come after it is left", async ({ page }) => {
  await open(page, "/workloads/new");
  const name = page.getByLabel("Workload name");
  await name.fill("Web");
  await expect(name).toHaveValue("Web");
  await expect(page.locator("#name-help")).not.toContainText("G101");
  await name.press("Tab");
  await expect(page.locator("#name-help")).toContainText("G101");
  await name.fill("calm");
  await expect(page.locator("#name-help")).not.toContainText("G101");
  await page.getByLabel("Namespace").fill("calm");
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await step(page, "Source");
  await expect(page.locator("[data-step-heading]")).toBeFocused();
  await expect(page.getByText("Nothing is filled in yet; you can continue")).toBeVisible();

  const form = page.getByRole("group", { name: "Form", exact: true });
  await form.getByLabel("Image").fill("nginx:1.29");
  await form.getByLabel("Memory limit").fill("512m");
  await form.getByLabel("Memory limit").press("Tab");
  await expect(form.getByText(/G210/)).toBeVisible();
  await expect(page.getByText("Nothing is filled in yet; you can continue")).toHaveCount(0);
  await expect(page.locator("#findings")).not.toContainText("No findings");
  await expect.poll(() => compareFindings(page), "page, rail and foot count the same").toBe("same");
  await form.getByLabel("Memory limit").fill("512Mi");
  await expect(form.getByText(/G210/)).toHaveCount(0);
  // Opaque: a long line that is scrolled passes below it.
  await expect(page.locator(".cm-gutters").first()).toHaveCSS("background-color", /^rgb\(/);
  await expect.poll(() => compareFindings(page)).toBe("same");

  await page.getByRole("button", { name: "Continue to Placement" }).click();
  await step(page, "Placement");
  await expect(page.locator("[data-step-heading]")).toBeFocused();
  await remove(page, "calm");
});

test("ignored fields, update strategies and orphaned objects are rows, which are saved, shown again and removed", async ({ page, browser, signedIn, baseURL, faults }) => {
  faults.expect(/422/);
  await open(page, "/workloads/new");
  await page.getByLabel("Workload name").fill("ruled");
  await page.getByLabel("Namespace").fill("ruled");
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await step(page, "Source");
  await open(page, "/workloads/ruled/edit/policies");
  await openPolicies(page, "Apply", "Drift", "Delete");
  await expect(page.getByLabel("Kind of ignored field 1"), "a row is displayed once a rule is added").toBeHidden();
  await page.getByRole("button", { name: "Add ignored field" }).click();
  await page.getByLabel("Kind of ignored field 1").fill("Deployment");
  await page.getByLabel("Name of ignored field 1").fill("web");
  await page.getByLabel("Paths of ignored field 1").fill("/spec/replicas /spec/paused");
  await page.getByRole("button", { name: "Add update strategy" }).click();
  await page.getByLabel("Kind of update strategy 1").fill("Secret");
  await page.getByLabel("Strategy of update strategy 1").selectOption("Create only");
  await page.getByRole("button", { name: "Add update strategy" }).click();
  await page.getByLabel("Kind of update strategy 2").fill("ConfigMap");
  await page.getByLabel("Strategy of update strategy 2").selectOption("Read only");
  await page.getByLabel("Deletion policy").selectOption("Orphan the objects below, delete the others");
  await page.getByRole("button", { name: "Add orphaned object" }).click();
  await page.getByLabel("Kind of orphaned object 1").fill("PersistentVolumeClaim");
  await accessible(page, "rules of policies");
  await toStep(page, "Rollout");
  await step(page, "Rollout");

  await open(page, "/workloads/ruled/edit/policies");
  await expect(page.getByLabel("Paths of ignored field 1")).toHaveValue("/spec/replicas /spec/paused");
  await expect(page.getByLabel("Strategy of update strategy 2")).toHaveValue("readOnly");
  await expect(page.getByLabel("Kind of orphaned object 1")).toHaveValue("PersistentVolumeClaim");
  await expect(page.getByLabel("Rules as YAML"), "nothing is written twice").toHaveValue("");

  // A rule that no row can show is YAML; those after it are rows.
  await page.locator("summary").filter({ hasText: "Rules as YAML" }).click();
  await page.getByLabel("Rules as YAML").fill("ignore:\n- object: {kind: ConfigMap}\n  paths: ['$.data[\"a b\"]']\n");
  await toStep(page, "Rollout");
  await step(page, "Rollout");
  await open(page, "/workloads/ruled/edit/policies");
  await expect(page.getByLabel("Rules as YAML")).toHaveValue(/kind: ConfigMap/);
  await expect(page.getByLabel("Rules as YAML")).not.toHaveValue(/Deployment/);
  await expect(page.getByLabel("Kind of ignored field 1")).toHaveValue("Deployment");
  await expect(page.getByLabel("Kind of ignored field 2")).toHaveValue("");

  // The row in the middle is removed; an incomplete one is reported.
  await openPolicies(page, "Apply");
  await page.getByRole("button", { name: "Remove update strategy 1" }).click();
  await expect(page.getByLabel("Kind of update strategy 1")).toHaveCount(0);
  await toStep(page, "Rollout");
  await step(page, "Rollout");
  await open(page, "/workloads/ruled/edit/policies");
  await expect(page.getByLabel("Kind of update strategy 1")).toHaveValue("ConfigMap");
  await expect(page.getByLabel("Kind of update strategy 2")).toHaveValue("");
  await openPolicies(page, "Drift");
  await page.getByRole("button", { name: "Add ignored field" }).click();
  await page.getByLabel("Kind of ignored field 2").fill("Service");
  await expect(page.getByText(/^Not saved: /)).toBeVisible();
  await page.getByLabel("Kind of ignored field 2").fill("");
  await expect(page.getByText(SAVED)).toBeVisible();

  // Without script the blank row adds a rule.
  const context = await browser.newContext({ javaScriptEnabled: false, storageState: signedIn, baseURL });
  const plain = await context.newPage();
  await plain.goto("/workloads/ruled/edit/policies");
  await openPolicies(plain, "Delete");
  await plain.getByLabel("Kind of orphaned object 2").fill("Secret");
  await toStep(plain, "Rollout");
  await step(plain, "Rollout");
  await plain.goto("/workloads/ruled/edit/policies");
  await expect(plain.getByLabel("Kind of orphaned object 1")).toHaveValue("PersistentVolumeClaim");
  await expect(plain.getByLabel("Kind of orphaned object 2")).toHaveValue("Secret");
  await expect(plain.getByLabel("Rules as YAML")).toHaveValue(/kind: ConfigMap/);
  await context.close();
  await remove(page, "ruled");
});

test("the rail leads on while the page of a step is still loading", async ({ page }) => {
  await open(page, "/workloads/new");
  await page.getByLabel("Workload name").fill("early");
  await page.getByLabel("Namespace").fill("early");
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await step(page, "Source");
  await toStep(page, "Policies");
  await step(page, "Policies");
  let load = (): void => {};
  const loading = new Promise<void>((resolve) => (load = resolve));
  await page.route(/\/api\/fn\/placement_read/, async (route) => {
    await loading;
    await route.continue();
  });
  await page.getByRole("button", { name: "Back" }).click();
  await step(page, "Rollout");
  await expect(page.locator("form#step"), "the form of the step is not loaded").toHaveCount(0);
  await toStep(page, "Source");
  await step(page, "Source");
  load();
  await remove(page, "early");
});

test("a draft that another user changed is not overwritten, and the foot shows who changed it", async ({ page, context, faults }) => {
  faults.expect(/status 412/);
  faults.expect(/412/);
  await open(page, "/workloads/new");
  await page.getByLabel("Workload name").fill("both");
  await page.getByLabel("Namespace").fill("both");
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await step(page, "Source");
  const other = await context.newPage();
  await open(other, "/workloads/both/edit/source");
  await other.getByLabel("Image").fill("theirs:1");
  await expect(other.getByText(SAVED)).toBeVisible();

  await page.getByLabel("Image").fill("mine:1");
  await expect(page.getByText(/^Not saved: demo changed this draft at/)).toBeVisible();
  await expect(page.locator("textarea.editor-source").first()).toHaveValue(/mine:1/);
  page.on("dialog", (dialog) => dialog.accept());
  await page.reload();
  await alive(page);
  await expect(page.getByLabel("Image")).toHaveValue("theirs:1");
  await remove(page, "both");
});

test("a button that moves away while it is pressed is clicked, and one that the pointer leaves is not", async ({ page }) => {
  await open(page, "/workloads/new");
  await page.getByLabel("Workload name").fill("moved");
  await page.getByLabel("Namespace").fill("moved");
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await step(page, "Source");
  const form = page.getByRole("group", { name: "Form", exact: true });
  await form.getByLabel("Image").fill("registry.example/team/moved:1.0.0");
  const port = form.getByRole("button", { name: "Port", exact: true });
  const ports = form.getByLabel("Port number");

  // The findings of a new draft, which are shown once a field is left, wait for the release.
  await port.click();
  await expect(ports).toHaveCount(1);

  const press = async (): Promise<void> => {
    await port.hover();
    await page.mouse.down();
  };
  await press();
  await page.mouse.move(0, 0);
  await page.mouse.up();
  await press();
  await port.evaluate((button) => (button.style.transform = "translateY(12rem)"));
  await page.mouse.up();
  await expect(ports, "only the second press counts").toHaveCount(2);
  await remove(page, "moved");
});
