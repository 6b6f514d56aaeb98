// The list of workloads: what needs attention first, and other orders by the heads of the columns (S1-19).

import { type Page } from "@playwright/test";
import { accessible, describe, expect, open, openPolicies, publish, remove, row, SAVED, step, test, toStep } from "./kit.js";

test("s1_19 workloads are listed worst first, and another order is part of the address", async ({ page }) => {
  await open(page, "/workloads");
  await expect(page.getByRole("columnheader", { name: "State" })).toHaveAttribute("aria-sort", "descending");
  await expect(row(page, "lighthouse")).toContainText("Healthy");
  await page.getByRole("link", { name: "Workload", exact: true }).click();
  await expect(page).toHaveURL(/\/workloads\?order=name$/);
  await expect(page.getByRole("columnheader", { name: "Workload" })).toHaveAttribute("aria-sort", "ascending");
  const names = await page.locator("tbody th").allInnerTexts();
  expect(names).toEqual([...names].sort());
  await page.getByLabel("State").selectOption({ label: "Healthy" });
  await expect(page, "a choice is applied without a button").toHaveURL(/state=healthy/);
  await expect(page).toHaveURL(/order=name/);
  await expect(row(page, "lighthouse")).toBeVisible();
  await page.getByRole("link", { name: "Changed", exact: true }).click();
  await expect(page.getByRole("columnheader", { name: "Changed" })).toHaveAttribute("aria-sort", "descending");
  await expect(page).toHaveURL(/state=healthy/);
  for (const [column, order, direction] of [
    ["Healthy", "leastHealthy", "ascending"],
    ["Revision", "revision", "descending"],
    ["Namespace", "namespace", "ascending"],
  ] as const) {
    await page.getByRole("columnheader", { name: column }).getByRole("link").click();
    await expect(page).toHaveURL(new RegExp(`order=${order}`));
    await expect(page.getByRole("columnheader", { name: column })).toHaveAttribute("aria-sort", direction);
    await expect(row(page, "lighthouse")).toBeVisible();
  }
  await accessible(page, "the list of workloads in another order");
});

test("labels of a workload are saved with its draft, and the list is filtered by them", async ({ page, faults }) => {
  faults.expect(/422/);
  await open(page, "/workloads/lighthouse?tab=config");
  const labels = page.getByLabel("Labels", { exact: true });
  await labels.fill("team=shore tier");
  await expect(page.getByText('"tier" is not a label.')).toBeVisible();
  await labels.fill("team=shore tier=light");
  await expect(page.getByText(SAVED)).toBeVisible();
  await page.reload();
  await expect(labels).toHaveValue("team=shore tier=light");

  await open(page, "/workloads");
  await page.getByLabel("Labels", { exact: true }).fill("team=shore,tier");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/labels=team/);
  await expect(row(page, "lighthouse")).toBeVisible();
  await page.getByLabel("Labels", { exact: true }).fill("team=harbour");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "No workload matches" })).toBeVisible();

  // The search is applied while a person types, and what is typed stays.
  await open(page, "/workloads");
  const search = page.getByRole("searchbox", { name: "Name", exact: true });
  await search.pressSequentially("no such");
  await expect(page.getByRole("heading", { name: "No workload matches" })).toBeVisible();
  await expect(search).toBeFocused();
  await page.getByRole("main").getByRole("link", { name: "Show all" }).click();
  await expect(page).toHaveURL(/\/workloads$/);
  await expect(search, "the field shows what the list is filtered by").toHaveValue("");
  await expect(row(page, "lighthouse")).toBeVisible();
  await search.fill("light");
  await expect(page).toHaveURL(/\?q=light$/);
  await expect(row(page, "lighthouse")).toBeVisible();
  await expect(page.getByRole("button", { name: "Filter" }), "no button is needed").toBeHidden();

  await open(page, "/workloads/lighthouse?tab=config");
  await labels.fill("");
  await expect(page.getByText(SAVED)).toBeVisible();
});

test("a form that is saved automatically leaves the main action to the review", async ({ page }) => {
  for (const [tab, label] of [["config", "Save draft"], ["placement", "Save placement"], ["overrides", "Save override"], ["policies", "Save policies"]] as const) {
    await open(page, `/workloads/lighthouse?tab=${tab}`);
    const save = page.getByRole("button", { name: label });
    await expect(save).toBeVisible();
    await expect(save).not.toHaveClass(/btn-primary/);
  }
});

/** Publishes a ConfigMap as this workload to every cluster; it depends on the other one, if that is not empty. */
async function publishMap(page: Page, name: string, dependency: string): Promise<void> {
  await describe(page, name, "harbour", `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: ${name}\n`);
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByText("All clusters", { exact: true }).click();
  await toStep(page, "Policies");
  await step(page, "Policies");
  await openPolicies(page, "Clusters");
  await page.getByLabel("Depends on").fill(dependency);
  await toStep(page, "Review");
  await publish(page, name);
}

test("a workload waits for the one that it depends on, continues by itself, and that one is removed after a confirmation", async ({ page, faults }) => {
  await publishMap(page, "ferry", "quay");
  await open(page, "/workloads/ferry?open=eu-west-1");
  await expect(page.getByText(/Waits for quay on eu-west-1/).first()).toBeVisible();
  await open(page, "/workloads/ferry?tab=policies");
  await openPolicies(page, "Clusters");
  await expect(page.getByLabel("Depends on")).toHaveValue("quay");
  await accessible(page, "the dependencies of a workload");

  await publishMap(page, "quay", "");
  await open(page, "/workloads/ferry");
  await expect(row(page, "eu-west-1")).toContainText("Healthy");

  faults.expect(/workload_unpublish/);
  await open(page, "/workloads/quay?dialog=unpublish");
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: "Unpublish" }).click();
  await expect(dialog.getByRole("alert")).toContainText("ferry depends on quay");
  await dialog.getByLabel("Remove it although these workloads depend on it").check();
  await dialog.getByRole("button", { name: "Unpublish" }).click();
  await expect(dialog).toHaveCount(0);
  await open(page, "/workloads/ferry");
  await expect(row(page, "eu-west-1"), "what runs is not stopped").toContainText("Healthy");
  await remove(page, "ferry");
  await remove(page, "quay");
});
