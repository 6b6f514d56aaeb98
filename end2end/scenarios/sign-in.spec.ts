// Sign-in, sign-out, unknown addresses, API tokens.

import { createHash, randomBytes } from "node:crypto";
import { CLUSTERS, DEMO_USER, accessible, accessibleAtEverySize, alive, cell, expect, open, row, signIn, test } from "./kit.js";

test.describe("without a session", () => {
  test.use({ storageState: { cookies: [], origins: [] } });

  test("the demo's password signs in, and the fleet is live", async ({ page, demo }) => {
    await page.goto("/workloads?state=healthy");
    await expect(page).toHaveURL(/\/sign-in\?next=/);
    await expect(page).toHaveTitle(/Flotilla/);
    await page.getByLabel("Name").fill(DEMO_USER);
    await page.getByLabel("Password").fill(demo.password());
    await page.getByRole("button", { name: "Sign in" }).click();

    // Redirected to the requested page.
    await expect(page).toHaveURL(/\/workloads\?state=healthy$/);
    await page.getByRole("navigation", { name: "Main", exact: true }).getByRole("link", { name: "Fleet" }).click();
    await alive(page);
    await expect(page.getByRole("heading", { level: 1 })).toHaveText(/^All \d+ releases are healthy\./);
    for (const cluster of CLUSTERS.filter((name) => name !== "eu-west-3")) {
      await expect(cell(page, "lighthouse", cluster)).toHaveAccessibleName(/: Healthy/);
    }
    await expect(cell(page, "lighthouse", "eu-west-3"), "it is not production").toHaveCount(0);
  });

  test("a wrong password is rejected with a message", async ({ page, faults }) => {
    faults.expect(/401/);
    await page.goto("/sign-in");
    await page.getByLabel("Name").fill(DEMO_USER);
    await page.getByLabel("Password").fill("not-the-password");
    await page.getByRole("button", { name: "Sign in" }).click();
    await expect(page.getByRole("alert")).toContainText(/name|password/i);
    await expect(page).toHaveURL(/\/sign-in/);
  });
});

test("signing out ends the session", async ({ browser, baseURL, demo }) => {
  // A separate session: other scenarios continue to use theirs.
  const context = await browser.newContext({ baseURL, storageState: { cookies: [], origins: [] } });
  const page = await context.newPage();
  await signIn(page, demo.password());
  await alive(page);
  await page.getByRole("button", { name: new RegExp(`signed in as ${DEMO_USER}$`) }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await expect(page).toHaveURL(/\/sign-in/);
  await page.goto("/workloads");
  await expect(page).toHaveURL(/\/sign-in\?next=/);
  await context.close();
});

test("an unknown address shows an error and links to other pages", async ({ page, faults }) => {
  faults.expect(/404/);
  const response = await page.goto("/workloads/no-such-workload");
  expect(response?.status()).toBe(404);
  await expect(page.getByRole("alert")).toContainText('There is no workload "no-such-workload".');
  await expect(page.getByRole("heading", { level: 1 }), "it is displayed once").toHaveCount(1);
  await page.getByRole("link", { name: "All workloads" }).click();
  await expect(page.getByRole("heading", { level: 1, name: /workloads? (is|are)/ })).toBeVisible();

  const nowhere = await page.goto("/nowhere");
  expect(nowhere?.status()).toBe(404);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("There is no page at this address");
  await expect(page.getByRole("navigation", { name: "Main", exact: true }), "the navigation is available").toBeVisible();
});

test("an API token is displayed once, listed, and revoked", async ({ page }) => {
  await open(page, "/settings");
  await page.getByLabel("Name", { exact: true }).fill("scenario");
  await page.locator("summary", { hasText: "Only some actions" }).click();
  await page.getByLabel("publish", { exact: true }).check();
  await page.getByLabel("Role", { exact: true }).selectOption("publisher");
  await accessibleAtEverySize(page, "the actions of a token");
  await page.getByRole("button", { name: "Create token" }).click();
  await expect(page.getByText("Copy the token now.")).toBeVisible();
  await expect(page.getByText(/^flt_/)).toBeVisible();
  await expect(row(page, "scenario")).toContainText("only publish");
  // One click cuts nobody off: the question says who uses it.
  await page.getByRole("link", { name: /^Revoke… scenario$/ }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog).toContainText("Revoke the token scenario?");
  await expect(dialog).toContainText("It was never used.");
  await accessibleAtEverySize(page, "the question about a token");
  await dialog.getByRole("link", { name: "Cancel" }).click();
  await expect(row(page, "scenario")).toBeVisible();
  await page.getByRole("link", { name: /^Revoke… scenario$/ }).click();
  await dialog.getByRole("button", { name: "Revoke" }).click();
  await expect(row(page, "scenario")).toHaveCount(0);
});

test("a command line is signed in with the code that it shows, which is not on the page", async ({ page, faults }) => {
  faults.expect(/422/);
  const secret = `flt_${randomBytes(32).toString("hex")}`;
  const hash = createHash("sha256").update(secret).digest("hex");
  const headers = { authorization: `Bearer ${secret}` };
  await open(page, `/settings?authorize=sha256:${hash}`);
  const question = page.getByRole("dialog", { name: "Sign the command line in?" });
  const code = `${hash.slice(0, 4)}-${hash.slice(4, 8)}-${hash.slice(8, 12)}`;
  await expect(question).not.toContainText(code);
  await accessibleAtEverySize(page, "the question about a command line");
  expect((await page.request.get("/api/v1/tokens", { headers })).status(), "a question allows nothing").toBe(401);
  await question.getByLabel("Name of the token").fill("laptop");
  await question.getByLabel("Role of the token").selectOption("editor");
  await question.getByLabel("Code in your terminal").fill("0000-0000-0000");
  await question.getByRole("button", { name: "Sign in" }).click();
  await expect(question.getByRole("alert")).toContainText("This is not the code of the command line");
  expect((await page.request.get("/api/v1/tokens", { headers })).status(), "a wrong code allows nothing").toBe(401);
  await question.getByLabel("Code in your terminal").fill(code);
  await question.getByRole("button", { name: "Sign in" }).click();
  await expect(question).toHaveCount(0);
  await expect(row(page, "laptop")).toContainText("editor");
  expect((await page.request.get("/api/v1/tokens", { headers })).status()).toBe(200);
  await open(page, "/settings?authorize=sha256:12");
  await expect(page.getByRole("alert")).toContainText("This is not a link of the command line");
});

test("a user sees the own sessions, and signs another browser out after a question", async ({ page, browser, demo }) => {
  const context = await browser.newContext({ baseURL: demo.address, storageState: { cookies: [], origins: [] }, userAgent: "Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0" });
  try {
    const other = await context.newPage();
    await signIn(other, demo.password());
    await open(page, "/settings");
    await page.getByRole("link", { name: "Sessions" }).click();
    await expect(page).toHaveURL(/\/settings\?tab=sessions$/);
    await expect(page.getByRole("row").filter({ hasText: "this browser" })).toContainText("now");
    await page.getByRole("row").filter({ hasText: "Firefox on Windows" }).getByRole("link", { name: /^Sign out/ }).click();
    const dialog = page.getByRole("dialog");
    await expect(dialog).toContainText("Sign out Firefox on Windows?");
    await accessible(page, "the question about a session");
    await dialog.getByRole("button", { name: "Sign out" }).click();
    await expect(page.getByRole("row").filter({ hasText: "Firefox on Windows" })).toHaveCount(0);
    await other.goto("/workloads");
    await expect(other).toHaveURL(/sign-in/);
  } finally {
    await context.close();
  }
});

test("the settings show the theme, the server and its loops, each at its own address", async ({ page }) => {
  await open(page, "/settings?tab=appearance");
  await expect(page.getByRole("button", { name: "System" }).last()).toHaveAttribute("aria-pressed", "true");
  await page.getByRole("link", { name: "About" }).click();
  await expect(page.getByText(/^SQLite 3\./)).toBeVisible();
  await page.getByRole("link", { name: "Server health" }).click();
  await expect(page.getByText("The database responds, and every background task runs.")).toBeVisible();
  await expect(row(page, "placer")).toContainText("running");
});
