// A form that is saved only by its button asks before the page is left with input.

import { chooseAction, expect, open, row, test } from "./kit.js";

test("a form that only its button saves asks before its input is lost, and not once it is saved", async ({ page, faults }) => {
  faults.expect(/422/);
  await open(page, "/new-group");
  const name = page.getByLabel("Name", { exact: true });
  const asked: string[] = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.type());
    void dialog.dismiss();
  });
  const leaveWithKeys = async (): Promise<void> => {
    await page.getByRole("heading", { level: 1 }).click();
    await page.keyboard.press("g");
    await page.keyboard.press("w");
  };
  const followLogo = (): Promise<void> => page.getByRole("link", { name: "Flotilla" }).first().click();

  await name.fill("guarded");
  await followLogo();
  await expect.poll(() => asked).toEqual(["confirm"]);
  await leaveWithKeys();
  await expect.poll(() => asked).toEqual(["confirm", "confirm"]);
  await page.evaluate(() => location.reload());
  await expect.poll(() => asked).toEqual(["confirm", "confirm", "beforeunload"]);
  await expect(page).toHaveURL(/\/new-group$/);
  await expect(name, "the page is not left").toHaveValue("guarded");

  // A rejected submission has saved nothing.
  await page.getByLabel("Clusters by label").fill("region in (");
  await page.getByRole("button", { name: "Create group" }).click();
  await expect(page.getByRole("alert")).toContainText("region in (");
  await followLogo();
  await expect.poll(() => asked).toHaveLength(4);
  await page.getByLabel("Clusters by label").fill("region=us-east");
  await page.getByRole("button", { name: "Create group" }).click();
  await expect(page).toHaveURL(/\/groups\/guarded$/);
  await leaveWithKeys();
  await expect(page).toHaveURL(/\/workloads$/);

  // What is as it was is not lost.
  await open(page, "/groups/guarded");
  const values = page.getByRole("textbox", { name: "Locked chart values" });
  await values.fill("tls: {enabled: true}");
  await followLogo();
  await expect.poll(() => asked).toHaveLength(5);
  await values.fill("");
  await followLogo();
  await expect(page).not.toHaveURL(/groups/);
  expect(asked).toHaveLength(5);
  await open(page, "/groups/guarded");
  await chooseAction(page, "Delete group");
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(page).toHaveURL(/\/groups$/);
});

test("a form whose submission fails after that of another form has ended asks before its input is lost", async ({ page, faults }) => {
  faults.expect(/422/);
  await open(page, "/charts");
  const asked: string[] = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.type());
    void dialog.dismiss();
  });
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/api/fn/chart_repository_add*", async (route) => {
    await released;
    await route.continue();
  });
  await page.locator("summary", { hasText: "Add repository" }).click();
  const repository = page.locator("form", { has: page.getByRole("button", { name: /^(Add repository|Adding…)$/ }) });
  await repository.getByLabel("Name", { exact: true }).fill("guarded");
  await repository.getByLabel("URL", { exact: true }).fill("nowhere");
  await repository.getByRole("button", { name: "Add repository" }).click();
  await expect(repository.getByRole("button", { name: "Adding…" })).toBeVisible();

  await page.locator("summary", { hasText: "Add Git repository" }).click();
  const git = page.locator("form", { has: page.getByRole("button", { name: "Save Git repository" }) });
  await git.getByLabel("Name", { exact: true }).fill("guarded-git");
  await git.getByLabel("URL", { exact: true }).fill("https://git.example.com/guarded/deploy.git");
  await git.getByRole("button", { name: "Save Git repository" }).click();
  await expect(git.getByText("guarded-git was saved.")).toBeVisible();

  release();
  await expect(repository.getByRole("alert")).toBeVisible();
  await page.getByRole("link", { name: "Flotilla" }).first().click();
  await expect.poll(() => asked).toEqual(["confirm"]);
  await expect(page).toHaveURL(/\/charts/);
  for (const field of ["Name", "URL"]) await repository.getByLabel(field, { exact: true }).fill("");
  await page.getByRole("link", { name: "Remove guarded-git" }).click();
  await page.getByRole("button", { name: "Remove Git repository" }).click();
  await expect(page.getByRole("rowheader", { name: "guarded-git" })).toHaveCount(0);
});

test("what is typed while a submission is on its way is in the form after its success, and asked about", async ({ page }) => {
  await open(page, "/settings");
  const asked: string[] = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.type());
    void dialog.dismiss();
  });
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  await page.route("**/api/fn/token_create*", async (route) => {
    await released;
    await route.continue();
  });
  const name = page.getByLabel("Name", { exact: true });
  const sent = page.waitForRequest(/\/api\/fn\/token_create/);
  await name.fill("typed-first");
  await page.getByRole("button", { name: "Create token" }).click();
  await sent;
  await name.fill("typed-second");
  release();
  await expect(page.getByText("Copy the token now.")).toBeVisible();
  await expect(row(page, "typed-first")).toBeVisible();
  await expect(name, "it belongs to the next token").toHaveValue("typed-second");
  await page.getByRole("link", { name: "Flotilla" }).first().click();
  await expect.poll(() => asked).toEqual(["confirm"]);
  await expect(page).toHaveURL(/\/settings/);

  await name.fill("");
  await page.getByRole("link", { name: /^Revoke… typed-first$/ }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await expect(row(page, "typed-first")).toHaveCount(0);
});

test("a form for a join token asks before input is lost whose submission failed", async ({ page, faults }) => {
  faults.expect(/422/);
  await open(page, "/join");
  const asked: string[] = [];
  page.on("dialog", (dialog) => {
    asked.push(dialog.type());
    void dialog.dismiss();
  });
  const tokens = page.getByRole("region", { name: "Join tokens" });
  await tokens.getByText("Create a token").click();
  await tokens.getByLabel("Only for the cluster").fill("edge-8");
  // A token for one cluster can be used once.
  await tokens.getByLabel("Uses", { exact: true }).fill("2");
  await tokens.getByRole("button", { name: "Create token" }).click();
  await expect(tokens.locator("form").getByRole("alert"), "the error is in the form").toContainText("can be used only once");
  await page.getByRole("link", { name: "Flotilla" }).first().click();
  await expect.poll(() => asked).toEqual(["confirm"]);
  await expect(page).toHaveURL(/\/join/);
});
