// Everything essential with JavaScript off: forms are posted, pages are rendered completely.

import { CLUSTERS, chooseAction, expect, fixture, DEMO_USER, PATIENCE, row, test } from "./kit.js";

test.use({ javaScriptEnabled: false, storageState: { cookies: [], origins: [] } });

test("a workload is created, published and becomes Healthy with plain form posts", async ({ page, demo }) => {
  await page.goto("/");
  await expect(page).toHaveURL(/\/sign-in/);
  await page.getByLabel("Name").fill(DEMO_USER);
  await page.getByLabel("Password").fill(demo.password());
  await page.getByRole("button", { name: "Sign in" }).click();
  // Without script a page is as it was when it was loaded.
  await expect(async () => {
    await page.reload();
    await expect(page.getByRole("heading", { level: 1 })).toContainText("releases are healthy", { timeout: 1_000 });
  }).toPass({ timeout: PATIENCE });

  await page.getByRole("link", { name: "Workloads" }).first().click();
  await page.getByRole("link", { name: "New workload" }).click();
  await page.getByLabel("Workload name").fill("plain");
  await page.getByLabel("Namespace").fill("plain");
  await page.getByText("YAML", { exact: true }).click();
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await page.getByRole("textbox", { name: "deploy.yaml", exact: true }).fill(fixture("jobs", "jobs.yaml"));
  await page.getByRole("button", { name: "Continue to Placement" }).click();
  await page.getByText("All clusters", { exact: true }).click();
  await page.getByRole("button", { name: "Review" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toContainText("Review plain first revision");
  await page.getByRole("button", { name: "Plan now" }).click();
  await expect(page.getByText("5 accepted")).toBeVisible();
  await page.getByLabel("Message").fill("By hand");
  await page.getByRole("button", { name: "Publish to 5 clusters" }).click();
  await expect(page).toHaveURL(/\/workloads\/plain$/);
  await expect(page.getByText("“By hand”")).toBeVisible();

  await expect(async () => {
    await page.reload();
    await expect(page.getByText("5 of 5 clusters healthy with r1")).toBeVisible({ timeout: 500 });
  }).toPass({ timeout: PATIENCE });
  await page.getByRole("rowheader", { name: CLUSTERS[0] }).getByRole("link").click();
  await expect(page.getByRole("heading", { name: "What to do" })).toBeVisible();

  await chooseAction(page, "Delete…");
  await page.getByLabel(/^Type /).fill("plain");
  await page.getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL(/\/workloads$/);
  await expect(async () => {
    await page.reload();
    await expect(row(page, "lighthouse")).toBeVisible({ timeout: 500 });
    await expect(row(page, "plain")).toHaveCount(0, { timeout: 500 });
  }).toPass({ timeout: PATIENCE });
});

test("image, port and variable typed into the form are stored without script", async ({ page, demo }) => {
  await page.goto("/workloads/new");
  await page.getByLabel("Name").fill(DEMO_USER);
  await page.getByLabel("Password").fill(demo.password());
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.goto("/workloads/new");
  await page.getByLabel("Workload name").fill("typed");
  await page.getByLabel("Namespace").fill("typed");
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await page.getByLabel("Image", { exact: true }).fill("registry.example/typed:1.2");
  await page.getByLabel("Replicas", { exact: true }).fill("3");
  await page.getByLabel("Another port of typed").fill("8080");
  await page.getByLabel("Another variable of typed").fill("LOG_LEVEL");
  await page.getByLabel("Value of the variable of typed").fill("debug");
  await page.getByRole("button", { name: "Continue to Placement" }).click();
  await expect(page).toHaveURL(/placement/);
  await page.goto("/workloads/typed/edit/source");
  await expect(page.getByLabel("Image", { exact: true })).toHaveValue("registry.example/typed:1.2");
  await expect(page.getByLabel("Replicas", { exact: true })).toHaveValue("3");
  await expect(page.getByLabel("Port number")).toHaveValue("8080");
  await expect(page.getByLabel("Variable name")).toHaveValue("LOG_LEVEL");
  await expect(page.getByLabel("Value", { exact: true })).toHaveValue("debug");
  // What only the text says is not undone by the fields.
  const text = page.getByRole("textbox", { name: "deploy.yaml", exact: true });
  await text.fill((await text.inputValue()).replace("debug", "warn"));
  await page.getByRole("button", { name: "Continue to Placement" }).click();
  await page.goto("/workloads/typed/edit/source");
  await expect(page.getByLabel("Value", { exact: true })).toHaveValue("warn");
});
