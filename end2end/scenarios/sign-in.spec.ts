// The way in, and what stands behind it.

import { CLUSTERS, PERSON, alive, cell, expect, open, row, signIn, test } from "./kit.js";

test.describe("a stranger", () => {
  test.use({ storageState: { cookies: [], origins: [] } });

  test("signs in with what the demo printed and finds the fleet alive", async ({ page, demo }) => {
    await page.goto("/workloads?state=healthy");
    await expect(page).toHaveURL(/\/sign-in\?next=/);
    await expect(page).toHaveTitle(/Flotilla/);
    await page.getByLabel("Name").fill(PERSON);
    await page.getByLabel("Password").fill(demo.password());
    await page.getByRole("button", { name: "Sign in" }).click();

    // Back where they wanted to go.
    await expect(page).toHaveURL(/\/workloads\?state=healthy$/);
    await page.getByRole("navigation", { name: "Rooms", exact: true }).getByRole("link", { name: "Fleet" }).click();
    await alive(page);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(/^All 4 releases are healthy\./);
    for (const cluster of CLUSTERS.filter((name) => name !== "eu-west-3")) {
      await expect(cell(page, "lighthouse", cluster)).toHaveAccessibleName(/: Healthy/);
    }
    await expect(cell(page, "lighthouse", "eu-west-3"), "it is not production").toHaveCount(0);
  });

  test("is told in one sentence that name and password do not fit", async ({ page, faults }) => {
    faults.expect(/401/);
    await page.goto("/sign-in");
    await page.getByLabel("Name").fill(PERSON);
    await page.getByLabel("Password").fill("not-the-password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("alert")).toContainText(/name|password/i);
    await expect(page).toHaveURL(/\/sign-in/);
  });
});

test("signing out closes the door", async ({ browser, baseURL, demo }) => {
  // A session of its own: the others go on with theirs.
  const context = await browser.newContext({ baseURL, storageState: { cookies: [], origins: [] } });
  const page = await context.newPage();
  await signIn(page, demo.password());
  await alive(page);
  await page.getByRole("button", { name: new RegExp(`signed in as ${PERSON}$`) }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page).toHaveURL(/\/sign-in/);
  await page.goto("/workloads");
  await expect(page).toHaveURL(/\/sign-in\?next=/);
  await context.close();
});

test("an address that does not exist says so and leads on", async ({ page, faults }) => {
  faults.expect(/404/);
  const answer = await page.goto("/workloads/no-such-workload");
  expect(answer?.status()).toBe(404);
  await expect(page.getByRole("alert")).toContainText('There is no workload "no-such-workload".');
  await expect(page.getByRole("heading", { level: 1 }), "it is said once").toHaveCount(1);
  await page.getByRole("link", { name: "All workloads" }).click();
  await expect(page.getByRole("heading", { level: 1, name: "Workloads" })).toBeVisible();

  const nowhere = await page.goto("/nowhere");
  expect(nowhere?.status()).toBe(404);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("There is no page at this address");
  await expect(page.getByRole("navigation", { name: "Rooms", exact: true }), "the rooms are still at hand").toBeVisible();
});

test("an API token is shown once, listed, and ended", async ({ page }) => {
  await open(page, "/settings");
  await page.getByLabel("Name").fill("scenario");
  await page.getByRole("button", { name: "Make token" }).click();
  await expect(page.getByText("Copy the token now.")).toBeVisible();
  await expect(page.getByText(/^flt_/)).toBeVisible();
  await expect(row(page, "scenario")).toBeVisible();
  await page.getByRole("button", { name: /^End .*scenario$/ }).click();
  await expect(row(page, "scenario")).toHaveCount(0);
});
