// Code that only editors need is fetched when an editor is opened, not before.

import { type Page } from "@playwright/test";
import { alive, expect, open, step, test } from "./kit.js";

/** A file with code that not every page needs, named after the parts that need it. */
const PART = /\/pkg\/part-([a-z-]+)\.[0-9a-f]+\.(wasm|bin)$/;

/** A fetched file and the parts that need it. Code and data of the same parts are two files. */
type PartFile = { url: string; parts: string[] };

/** Collects the files that the page fetches from now on. */
function fetched(page: Page): PartFile[] {
  const files: PartFile[] = [];
  page.on("request", (request) => {
    const parts = PART.exec(request.url())?.[1];
    if (parts !== undefined) files.push({ url: request.url(), parts: parts.split("-") });
  });
  return files;
}

/** Expects at least one file, no file twice, and only files of these parts. */
function expectOnlyFor(files: PartFile[], ...parts: string[]): void {
  expect(files.length, "its code was fetched").toBeGreaterThan(0);
  expect(files.filter((file) => !parts.some((part) => file.parts.includes(part)))).toEqual([]);
  expect(new Set(files.map((file) => file.url)).size, "each file once").toBe(files.length);
}

test("read-only pages fetch no editor, and opening an editor fetches it without a page load", async ({ page }) => {
  const files = fetched(page);
  for (const path of ["/clusters", "/workloads/lighthouse", "/", "/workloads"]) await open(page, path);
  expect(files, "no editor has been opened").toEqual([]);

  await page.evaluate(() => document.documentElement.setAttribute("data-same", ""));
  await page.getByRole("link", { name: "New workload" }).first().click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("New workload");
  const name = page.getByLabel("Workload name");
  await name.fill("Not A Name");
  const finding = page.getByText(/^G101 /);
  await expect(name, "nothing is wrong before the field is left").toHaveAttribute("aria-invalid", "false");
  await expect(finding).toHaveCount(0);
  await name.press("Tab");
  await expect(name).toHaveAttribute("aria-invalid", "true");
  await expect(finding).toBeVisible();
  await name.fill("a-name");
  await expect(name, "from then on it is checked while a person types").toHaveAttribute("aria-invalid", "false");
  await name.fill("Not A Name");
  await expect(name).toHaveAttribute("aria-invalid", "true");
  expectOnlyFor(files, "wizard");

  await page.goBack();
  await page.getByRole("rowheader", { name: "lighthouse" }).getByRole("link").click();
  await page.getByRole("navigation", { name: "Parts of this workload" }).getByRole("link", { name: "Placement" }).click();
  await expect(page.getByRole("button", { name: "Save placement" })).toBeVisible();
  expectOnlyFor(files, "wizard", "placement");
  await expect(page.locator("html[data-same]"), "the page was not reloaded").toHaveCount(1);
});

test("an editor opened by its address is hydrated, and each of its files is fetched once", async ({ page }) => {
  const files = fetched(page);
  await open(page, "/workloads/lighthouse/edit/source");
  await step(page, "Source");
  await expect(page.getByRole("group", { name: "Form", exact: true })).toBeVisible();
  await expect(page.locator(".cm-content").first()).toBeVisible();
  expectOnlyFor(files, "wizard", "source");
});

test("an editor that cannot be fetched shows an error, and loading the page again fetches it", async ({ page, faults }) => {
  faults.expect(/part-|Failed to fetch|ERR_FAILED/);
  await open(page, "/workloads");
  await page.route(PART, (route) => route.abort());
  await page.getByRole("link", { name: "New workload" }).first().click();
  await expect(page.getByRole("alert")).toContainText("could not be loaded");
  await page.unroute(PART);
  await page.getByRole("link", { name: "Load this page again" }).click();
  await alive(page);
  await expect(page.getByLabel("Workload name")).toBeVisible();
});
