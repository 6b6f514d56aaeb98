// The list of workloads: what needs attention first, and other orders by the heads of the columns (S1-19).

import { accessible, expect, open, row, SAVED, test } from "./kit.js";

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
