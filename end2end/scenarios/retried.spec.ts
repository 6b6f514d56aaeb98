// A save that fails is repeated until the server responds, also after its restart, and after the user has signed in again.

import { accessible, DEMO_USER, describe, expect, remove, SAVED, step, test, toStep, WEB_YAML } from "./kit.js";

const NAME = "retried";

test("a save is repeated until the server responds, and after signing in again in another tab", async ({ page, context, demo, faults }) => {
  faults.expect(/placement_save|ERR_FAILED|401|api\/v1\/watch/);
  await describe(page, NAME, NAME, WEB_YAML);
  await toStep(page, "Placement");
  await step(page, "Placement");
  await page.route(/placement_save/, (route) => route.abort());
  await page.getByLabel("Excluded clusters").fill("eu-west-3");
  await expect(page.getByText("the server or its database does not respond. Trying again.")).toBeVisible();
  await page.unroute(/placement_save/);
  await expect(page.getByText(SAVED)).toBeVisible();

  await context.clearCookies();
  await page.getByLabel("Excluded clusters").fill("eu-west-2");
  await expect(page.getByText("you are signed out")).toBeVisible();
  await accessible(page, "a signed-out editor");
  const opened = context.waitForEvent("page");
  await page.getByRole("link", { name: "Sign in in a new tab" }).click();
  const other = await opened;
  await other.getByLabel("Name").fill(DEMO_USER);
  await other.getByLabel("Password").fill(demo.password());
  await other.getByRole("button", { name: "Sign in" }).click();
  await expect(other).not.toHaveURL(/sign-in/);
  await expect(page.getByLabel("Excluded clusters")).toHaveValue("eu-west-2");
  await expect(page.getByText(SAVED)).toBeVisible();
  await other.close();
  await page.reload();
  await expect(page.getByLabel("Excluded clusters")).toHaveValue("eu-west-2");
  await remove(page, NAME);
});

test("what is typed while the server restarts is saved when it is back, without a click", async ({ page, demo, faults }) => {
  test.slow();
  faults.expect(/placement_save|ERR_|NetworkError|Failed to (fetch|load)|5\d\d|api\//);
  const name = "restarted";
  await describe(page, name, name, WEB_YAML);
  await toStep(page, "Placement");
  await step(page, "Placement");
  // The heading is there before the fields are read.
  await expect(page.getByLabel("Excluded clusters")).toBeVisible();
  await demo.stop();
  await page.getByLabel("Excluded clusters").fill("eu-west-3");
  await expect(page.getByText("the server or its database does not respond. Trying again.")).toBeVisible();
  await expect(page.getByLabel("Excluded clusters")).toHaveValue("eu-west-3");
  await demo.startAgain();
  await expect(page.getByText(SAVED)).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Excluded clusters")).toHaveValue("eu-west-3");
  await remove(page, name);
});
