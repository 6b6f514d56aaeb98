// The fleet page: its ways on, the order of the rows of its matrix, and the actions on a cell.

import { type Page } from "@playwright/test";
import { accessible, cell, describe, expect, open, publish, remove, step, test, toStep } from "./kit.js";

const YAML = `apiVersion: apps/v1
kind: Deployment
metadata: {name: zephyr}
spec:
  replicas: 1
  selector: {matchLabels: {app: zephyr}}
  template:
    metadata: {labels: {app: zephyr}}
    spec:
      containers:
        - name: web
          image: nginx:1.29
`;

/** Injects a fault on eu-west-1 with a request of this page: neither its pointer nor its focus moves. */
async function inject(page: Page, action: "crashContainers" | "restoreImage" | "changeReplicas", workload: string): Promise<void> {
  const form = { name: "eu-west-1", workload, action };
  const status = await page.evaluate(async (form) => {
    const answer = await fetch("/api/fn/inject_demo_fault", { method: "POST", body: new URLSearchParams(form) });
    return answer.status;
  }, form);
  expect(status, `${action} of ${workload}`).toBe(200);
}

test("the fleet leads to a new workload, and the rail to groups and incidents", async ({ page }) => {
  await open(page, "/");
  await expect(page.getByRole("main").getByRole("link", { name: "New workload" })).toHaveAttribute("href", "/workloads/new");
  const published = page.getByRole("region", { name: "Recent changes" }).getByRole("link", { name: /lighthouse r\d+ published/ });
  await expect(published.first(), "the outcome of a publish").toContainText("healthy on");
  const rail = page.getByRole("navigation", { name: "Main", exact: true });
  for (const [name, path, heading] of [["Groups", "/groups", "Cluster groups"], ["Incidents", "/incidents", /incidents? (is|are) open/]] as const) {
    await rail.getByRole("link", { name }).click();
    await expect(page).toHaveURL(new RegExp(`${path}$`));
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(heading);
    await expect(rail.getByRole("link", { name })).toHaveAttribute("aria-current", "page");
  }
  await rail.getByRole("link", { name: "Fleet" }).click();
  await page.getByRole("main").getByRole("link", { name: "New workload" }).click();
  await expect(page).toHaveURL(/\/workloads\/new$/);
});

test("no row moves while the pointer or the focus is in the matrix", async ({ page }) => {
  test.slow();
  await describe(page, "zephyr", "zephyr", YAML);
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.getByRole("checkbox", { name: "eu-west-1" }).check();
  await expect(page.getByRole("heading", { name: /^1 of 5 clusters selected/ })).toBeVisible();
  await toStep(page, "Review");
  await publish(page, "zephyr");
  await expect(page.getByText("1 of 1 clusters healthy with r1")).toBeVisible();

  await open(page, "/");
  const names = page.locator(".matrix tbody").getByRole("rowheader");
  const zephyr = cell(page, "zephyr", "eu-west-1");
  const outside = page.getByRole("main").getByRole("link", { name: "New workload" });
  await expect(names, "equally healthy, so by name").toHaveText(["lighthouse", "zephyr"]);
  // The list above the matrix grows and shrinks.
  const attention = page.getByRole("region", { name: "Needs attention" });
  const place = async (): Promise<number> => ((await names.first().boundingBox())?.y ?? 0) - ((await attention.boundingBox())?.y ?? 0);
  await cell(page, "lighthouse", "eu-west-1").hover();
  const before = await place();
  await inject(page, "crashContainers", "zephyr");
  await expect(zephyr, "the cell is updated in its place").toHaveAccessibleName(/^zephyr on eu-west-1: (Progressing|Degraded)/);
  await expect(names, "under the pointer").toHaveText(["lighthouse", "zephyr"]);
  await expect(attention).toContainText("zephyr on eu-west-1");
  expect(await place(), "under the pointer").toBeCloseTo(before, 0);
  await outside.hover();
  // As after a click beside the cells.
  await page.getByRole("region", { name: "Matrix", exact: true }).focus();
  // Something else happens, so that the page is read again.
  await inject(page, "changeReplicas", "lighthouse");
  await expect(names, "worst first").toHaveText(["zephyr", "lighthouse"]);

  await zephyr.focus();
  const focused = await place();
  await inject(page, "restoreImage", "zephyr");
  await expect(zephyr).toHaveAccessibleName("zephyr on eu-west-1: Healthy");
  await expect(zephyr, "the focus stays").toBeFocused();
  await expect(names, "around the focus").toHaveText(["zephyr", "lighthouse"]);
  await expect(attention).not.toContainText("zephyr");
  expect(await place(), "around the focus").toBeCloseTo(focused, 0);
  await outside.focus();
  await inject(page, "changeReplicas", "lighthouse");
  await expect(names).toHaveText(["lighthouse", "zephyr"]);
  await remove(page, "zephyr");
});

test("the key . in a cell opens the palette with the actions on its release", async ({ page }) => {
  await open(page, "/");
  const lighthouse = cell(page, "lighthouse", "eu-west-1");
  const palette = page.getByRole("dialog", { name: "Search and actions" });
  const field = page.getByRole("combobox", { name: "Search and actions" });
  const sync = palette.getByRole("option", { name: /^Sync lighthouse on eu-west-1…/ });
  await lighthouse.focus();
  await page.keyboard.press(".");
  await expect(field).toBeFocused();
  await expect(sync).toBeVisible();
  await expect(palette.getByText("Actions on lighthouse on eu-west-1", { exact: true })).toBeVisible();
  await expect(palette.getByRole("option", { name: /^Unpublish lighthouse…/ })).toBeAttached();
  await expect(field, "the key is no text").toHaveValue("");
  await accessible(page, "the actions on a release");
  await field.fill("eu-west-3");
  await expect(palette.getByRole("option", { name: /^eu-west-3/ }), "a text searches everything").toBeVisible();
  await page.keyboard.press("Escape");
  await expect(lighthouse, "the focus is where it was").toBeFocused();

  await page.keyboard.press(".");
  await sync.click();
  await expect(page).toHaveURL(/\/workloads\/lighthouse\?open=eu-west-1&dialog=sync&cluster=eu-west-1$/);
  const question = page.getByRole("dialog", { name: "Sync lighthouse on eu-west-1 now?" });
  await question.getByRole("button", { name: "Sync" }).click();
  await expect(page).toHaveURL(/\/workloads\/lighthouse\?open=eu-west-1$/);
});
