// Drift with the policy "notify only": what was changed, by whom, and the actions that end it. Drift that is reverted is reported.

import { accessible, describe, expect, injectFault, open, openPolicies, PATIENCE, publish, remove, row, SAVED, step, test, toStep } from "./kit.js";

/** A tag that can't exist, with which the text of the cluster has more than three lines. */
const LONG_IMAGE = `nginx:9.9-${"release-candidate-".repeat(6)}x`;

const SHOP = (image: string) => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: tide
spec:
  replicas: 2
  selector: {matchLabels: {app: tide}}
  template:
    metadata: {labels: {app: tide}}
    spec:
      containers:
        - name: web
          image: ${image}
`;

test("r_4 drift under notify shows applied, live and desired values and who changed them, and is ignored or reverted", async ({ page }) => {
  await describe(page, "tide", "tide", SHOP("nginx:1.29"));
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByRole("checkbox", { name: "eu-west-3" }).check();
  await expect(page.getByRole("heading", { name: /^1 of 5 clusters selected/ })).toBeVisible();
  await toStep(page, "Policies");
  await step(page, "Policies");
  await openPolicies(page, "Drift");
  await page.getByLabel("On drift").selectOption("notify");
  await openPolicies(page, "Health");
  await page.getByLabel("Deadline").fill("1h30m");
  await toStep(page, "Review");
  // A new object shows its manifest on demand.
  await expect(page.getByText("1 accepted")).toBeVisible();
  await page.getByText("Manifest", { exact: true }).first().click();
  await expect(page.getByText("image: nginx:1.29").first()).toBeVisible();
  await publish(page, "tide");
  await expect(page.getByText("1 of 1 clusters healthy with r1")).toBeVisible();
  // The deadline is stored; what is operational is not marked.
  await open(page, "/workloads/tide?tab=policies");
  await expect(page.locator(".policy-columns summary", { hasText: "deadline 1h30m" })).toBeVisible();
  await open(page, "/workloads/tide");
  await expect(page.getByText("past its deadline")).toHaveCount(0);
  // Nothing is to publish, so the head has no review.
  await expect(page.getByRole("main").getByRole("link", { name: "Edit", exact: true })).toBeVisible();
  await expect(page.getByRole("link", { name: "Review r2" })).toHaveCount(0);

  await open(page, "/clusters/eu-west-3");
  await injectFault(page, "Change replicas by hand");
  await expect(page.getByText("replicas were changed from 2 to 5 by hand")).toBeVisible();
  await open(page, "/workloads/tide?open=eu-west-3");
  await expect(row(page, "eu-west-3")).toContainText("Drifted");
  await expect(row(page, "eu-west-3").getByRole("cell", { name: "1 field", exact: true })).toBeVisible();
  await open(page, "/");
  await expect(page.getByRole("region", { name: "Needs attention" }).getByRole("link", { name: /tide on eu-west-3/ })).toBeVisible();
  await open(page, "/workloads/tide?open=eu-west-3");
  const field = page.getByRole("row").filter({ has: page.getByRole("rowheader", { name: /spec\.replicas$/ }) }).filter({ hasNot: page.getByRole("table") });
  await expect(field.getByRole("cell").nth(0)).toHaveText("2");
  await expect(field.getByRole("cell").nth(1)).toHaveText("5");
  await expect(field.getByRole("cell").nth(2)).toHaveText("2");

  // Revert once.
  await page.getByRole("button", { name: "Revert on eu-west-3" }).click();
  await expect(row(page, "eu-west-3")).toContainText("Healthy");
  await expect(page.getByText(/^Drift reverted .*replicas 5 → 2 · changed by kubectl-edit$/)).toBeVisible();

  // Ignore the field with the next publish.
  await open(page, "/clusters/eu-west-3");
  await injectFault(page, "Change replicas by hand");
  await open(page, "/workloads/tide?open=eu-west-3");
  await page.getByRole("button", { name: /^Ignore this field/ }).click();
  await expect(page).toHaveURL(/\/workloads\/tide\/publish/);
  await expect(page.getByRole("region", { name: "Changed settings" }).last()).toContainText("policies.ignore");
  await publish(page, "tide");
  await expect(page.getByText("1 of 1 clusters healthy with r2")).toBeVisible();
  await expect(row(page, "eu-west-3")).toContainText("Healthy");
  await remove(page, "tide");
});

test("a failing image names pod and container, shows the text of the cluster, and offers the revision that was healthy", async ({ page }) => {
  await describe(page, "gale", "gale", SHOP("nginx:1.29"));
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByRole("checkbox", { name: "eu-west-1" }).check();
  await expect(page.getByRole("heading", { name: /^1 of 5 clusters selected/ })).toBeVisible();
  await toStep(page, "Review");
  await publish(page, "gale");
  await expect(page.getByText("1 of 1 clusters healthy with r1")).toBeVisible();

  // The image disappears from the registry of one cluster; the menu names the workload.
  await open(page, "/clusters/eu-west-1");
  await injectFault(page, "Crash containers", "gale");
  await expect(page.getByText("Containers with nginx:1.29 crash now")).toBeVisible();
  await open(page, "/workloads/gale?open=eu-west-1");
  await expect(row(page, "eu-west-1")).toContainText("Degraded");
  await expect(page.getByText("The container starts and exits.")).toBeVisible();
  await open(page, "/clusters/eu-west-1");
  await injectFault(page, "Restore the image", "gale");
  await expect(page.getByText("nginx:1.29 runs again")).toBeVisible();
  await open(page, "/workloads/gale");
  await expect(row(page, "eu-west-1")).toContainText("Healthy");

  // A tag that can't exist.
  await open(page, "/workloads/gale/edit/source");
  await page.getByLabel("Image", { exact: true }).fill("nginx:9.9");
  await toStep(page, "Review");
  await publish(page, "gale");
  await open(page, "/workloads/gale?open=eu-west-1");
  await expect(row(page, "eu-west-1")).toContainText("Degraded");
  const why = page.getByText("cannot pull image nginx:9.9: it is not in the registry");
  await expect(why).toHaveCount(2);
  await expect(page.getByText("Container web", { exact: false }).first()).toBeVisible();
  await expect(page.getByText(/^tide-/).first()).toBeVisible();
  const raw = page.getByText(/failed to resolve reference/);
  await expect(raw, "a short text is shown at once").toBeVisible();
  await expect(page.getByRole("link", { name: "Roll back to r1…", exact: true }), "the main action of a failing workload").toHaveClass(/btn-primary/);

  // The image is edited in its field. The text of the cluster about a longer one is folded, and whole when it is opened.
  await page.getByRole("link", { name: "Edit the image" }).click();
  await step(page, "Source");
  const image = page.getByLabel("Image", { exact: true });
  await expect(image).toBeFocused();
  await expect(image).toHaveValue("nginx:9.9");
  // Of several containers, the fields of the one that the address names are shown.
  const address = page.url();
  await page.getByRole("button", { name: "Container", exact: true }).click();
  await expect(page.getByText(SAVED)).toBeVisible();
  await open(page, address.replace("container=web", "container=container-2"));
  await expect(image).toBeFocused();
  await expect(page.getByLabel("Container name", { exact: true })).toHaveValue("container-2");
  await page.getByRole("button", { name: "Remove this container" }).click();
  await expect(image).toHaveValue("nginx:9.9");
  await image.fill(LONG_IMAGE);
  await toStep(page, "Review");
  await publish(page, "gale");
  await open(page, "/workloads/gale?open=eu-west-1");
  const folded = page.locator("pre.raw", { hasText: LONG_IMAGE });
  await expect(folded).toBeAttached();
  await expect(folded).toBeHidden();
  // An update of the page can fold it again.
  await expect(async () => {
    if (!(await folded.isVisible())) await page.getByText("Reported by the cluster").click({ timeout: 3_000 });
    await expect(folded).toBeVisible({ timeout: 1_000 });
  }).toPass({ timeout: PATIENCE });
  await expect(folded).toContainText(`${LONG_IMAGE}: not found`);

  // The page on a phone, while a release fails; and the same release printed.
  await page.setViewportSize({ width: 390, height: 844 });
  for (const path of ["/workloads/gale?open=eu-west-1", "/workloads/gale?tab=overrides", "/workloads/gale?tab=history", "/workloads/gale/publish"]) {
    await open(page, path);
    await expect(page.getByRole("main")).toContainText("gale");
    const width = (): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    await expect.poll(width, path).toBeLessThanOrEqual(0);
  }
  // Where there is no space for five buttons, those that lead to other pages are in a menu.
  await open(page, "/workloads/gale?open=eu-west-1");
  const remedy = page.locator("section", { has: page.getByRole("heading", { name: "What to do" }) });
  const elsewhere = remedy.getByRole("link", { name: "Open the cluster" });
  await expect(remedy.getByRole("link", { name: "Edit the image" })).toBeVisible();
  await expect(elsewhere).toHaveCount(0);
  await expect(async () => {
    if (!(await elsewhere.isVisible())) await remedy.getByRole("button", { name: "Other pages about eu-west-1" }).click({ timeout: 3_000 });
    await expect(elsewhere).toBeInViewport({ ratio: 1, timeout: 1_000 });
  }).toPass({ timeout: PATIENCE });
  await accessible(page, "a release that fails, on a phone");
  await page.keyboard.press("Escape");
  await page.setViewportSize({ width: 1280, height: 720 });
  await open(page, "/workloads/gale?open=eu-west-1");
  await expect(elsewhere).toBeVisible();
  await expect(folded).toBeAttached();
  await expect(folded).toBeHidden();
  await page.emulateMedia({ media: "print" });
  await expect(page.getByRole("navigation", { name: "Main", exact: true })).toBeHidden();
  await expect(page.getByRole("link", { name: "Roll back to r1", exact: true })).toBeHidden();
  await expect(folded, "folds are open on paper").toBeVisible();
  await page.emulateMedia({ media: null });
  await page.getByRole("link", { name: "Roll back to r1", exact: true }).click();
  await publish(page, "gale");
  await expect(page.getByText("1 of 1 clusters healthy with r4")).toBeVisible();
  // The outcome of a revision is that of when the next one was published.
  await open(page, "/workloads/gale?tab=history");
  await expect(row(page, "r4").first()).toContainText("Healthy on 1 of 1 now");
  await expect(row(page, "r3").first(), "applied, and never healthy").toContainText("Healthy on 0 of 1");
  await expect(row(page, "r3").first()).toContainText("Rolled back by r4");
  await expect(row(page, "r1").first()).toContainText("Healthy on 1 of 1");
  // The pods of the failing revision, which are there until the new ones run, are no state of the next revision.
  await open(page, "/events?workload=gale");
  const rolledBack = page.getByRole("main").getByRole("listitem").filter({ hasText: "r4 published" }).first();
  await expect(rolledBack).toBeVisible();
  await expect(rolledBack).not.toContainText("Degraded");
  await remove(page, "gale");
});
