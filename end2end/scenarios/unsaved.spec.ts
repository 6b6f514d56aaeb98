// What was typed is not lost: before the page is live, on the way to another page, in an outage, and when the session ends.

import { type Locator, type Page } from "@playwright/test";
import { accessible, alive, expect, open, openPolicies, override, paste, remove, SAVED, step, test, toStep, WEB_YAML } from "./kit.js";
import { followHistory, leaveForHistory, navigateTo, nextSave } from "./leaving.js";

const NAME = "typed";

test.describe.configure({ mode: "serial" });

/** Opens a page whose code arrives only when the returned function is called. */
async function openWithoutCode(page: Page, path: string): Promise<() => Promise<void>> {
  let release = (): void => {};
  const released = new Promise<void>((done) => (release = done));
  await page.route(/\.wasm(\?|$)/, async (route) => {
    await released;
    await route.continue();
  });
  await page.goto(path, { waitUntil: "commit" });
  return async () => {
    release();
    await alive(page);
  };
}

/** Follows the link of the logo, within the page. */
async function leaveByLogo(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Flotilla" }).first().click();
  await expect(page).not.toHaveURL(/edit|tab=/);
}

test("what is typed before the page is live stays in the fields and is saved", async ({ page }) => {
  await open(page, "/workloads/new");
  await page.getByLabel("Workload name").fill(NAME);
  await page.getByLabel("Namespace").fill(NAME);
  await page.getByText("YAML", { exact: true }).click();
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await step(page, "Source");
  await paste(page, "deploy.yaml", WEB_YAML);
  await toStep(page, "Placement");
  await step(page, "Placement");

  // A field of the form beside the text.
  let live = await openWithoutCode(page, `/workloads/${NAME}/edit/source`);
  await page.getByLabel("Image").fill("registry.example.com/web:2.0");
  await live();
  await expect(page.getByLabel("Image")).toHaveValue("registry.example.com/web:2.0");
  await expect(page.locator("textarea.editor-source").first()).toHaveValue(/web:2\.0/);
  await expect(page.getByText(SAVED)).toBeVisible();

  // Ticks, a choice and a text.
  live = await openWithoutCode(page, `/workloads/${NAME}/edit/placement`);
  await page.getByRole("checkbox", { name: "eu-west-1" }).check();
  await page.getByLabel("Number of clusters").fill("3");
  await live();
  await expect(page.getByRole("checkbox", { name: "eu-west-1" })).toBeChecked();
  await expect(page.getByLabel("Number of clusters")).toHaveValue("3");
  await expect(page.getByRole("heading", { name: /^1 of 5 clusters selected/ }), "the preview follows").toBeVisible();
  await expect(page.getByText(SAVED)).toBeVisible();
  await page.unroute(/\.wasm(\?|$)/);
  await open(page, `/workloads/${NAME}/edit/placement`);
  await expect(page.getByRole("checkbox", { name: "eu-west-1" })).toBeChecked();
  await expect(page.getByLabel("Number of clusters")).toHaveValue("3");
});

test("ticks of the placement are saved before Back, the logo, a reload and another address", async ({ page }) => {
  const ticks = ["eu-west-2", "eu-west-3", "us-east-1", "us-east-2"];
  const leave = [
    async () => page.goBack(),
    async () => leaveByLogo(page),
    async () => {
      await expect(page.getByText(SAVED)).toBeVisible();
      await page.reload();
    },
    async () => {
      await expect(page.getByText(SAVED)).toBeVisible();
      await page.goto("/clusters");
    },
  ];
  for (const [at, cluster] of ticks.entries()) {
    await open(page, `/workloads/${NAME}/edit/source`);
    await toStep(page, "Placement");
    await step(page, "Placement");
    const saved = nextSave(page);
    await page.getByRole("checkbox", { name: cluster }).check();
    const left = leave[at];
    if (left !== undefined) await left();
    await saved;
    await open(page, `/workloads/${NAME}/edit/placement`);
    await expect(page.getByRole("checkbox", { name: cluster }), `left in way ${at}`).toBeChecked();
  }
  await accessible(page, "the placement");
});

test("leaving before the input is stored asks first, and staying saves", async ({ page }) => {
  await open(page, `/workloads/${NAME}?tab=placement`);
  let release = (): void => {};
  const released = new Promise<void>((done) => (release = done));
  await page.route(/placement_save/, async (route) => {
    await released;
    await route.continue();
  });
  let asked = 0;
  page.on("dialog", (dialog) => {
    asked += 1;
    void dialog.dismiss();
  });
  await page.getByLabel("Excluded clusters").fill("us-east-2");
  await expect(page.getByText("Saving…")).toBeVisible();
  await page.evaluate(() => location.reload());
  await expect.poll(() => asked).toBe(1);
  release();
  await expect(page.getByText(SAVED)).toBeVisible();
  await page.unroute(/placement_save/);
  await page.reload();
  await expect(page.getByLabel("Excluded clusters")).toHaveValue("us-east-2");
});

test("the tabs Config, Policies and Overrides, the rollout and the policies are saved too", async ({ page }) => {
  await open(page, `/workloads/${NAME}?tab=config`);
  await leaveForHistory(page, async () => paste(page, "deploy.yaml", WEB_YAML.replace("replicas: 2", "replicas: 3")));
  await open(page, `/workloads/${NAME}?tab=config`);
  await expect(page.locator("textarea.editor-source").first()).toHaveValue(/replicas: 3/);
  await open(page, `/workloads/${NAME}?tab=policies`);
  await openPolicies(page, "Drift");
  await page.getByLabel("On drift").selectOption("Notify only");
  await expect(page.locator("summary", { hasText: /^\s*Drift\s/ }), "the summary has the value of the field").toContainText("notify only");
  await expect(page.getByText(SAVED)).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("On drift")).toHaveValue("notify");

  // A new override is saved when the page is left, because its name is complete only then; an existing one while typing.
  await open(page, `/workloads/${NAME}?tab=overrides`);
  const link = page.getByRole("navigation", { name: "Target clusters" }).getByRole("link", { name: "eu-west-1" });
  await link.click();
  await expect(link).toHaveAttribute("aria-current", "true");
  await leaveForHistory(page, async () => page.getByLabel("Deployment web replicas").fill("5"));
  await open(page, `/workloads/${NAME}?tab=overrides&override=eu-west-1`);
  await expect(override(page, "eu-west-1")).toContainText("1 change");
  await page.getByLabel("Deployment web replicas").fill("7");
  await expect(page.getByText(SAVED)).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("7");

  // Another cluster is opened after what was typed for this one is saved.
  const clusters = page.getByRole("navigation", { name: "Target clusters" });
  await clusters.getByRole("link", { name: "eu-west-2" }).click();
  await expect(page.getByRole("heading", { name: "eu-west-2", exact: true })).toBeVisible();
  await expect(page.getByLabel("Deployment web replicas"), "another form").toHaveValue("");
  await page.getByLabel("Deployment web replicas").fill("6");
  await expect(page.getByText(/^Not saved yet/)).toBeVisible();
  await clusters.getByRole("link", { name: "eu-west-1" }).click();
  await expect(override(page, "eu-west-2")).toContainText("1 change");
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("7");

  await open(page, `/workloads/${NAME}/edit/rollout`);
  await page.getByRole("button", { name: "Canary first" }).click();
  await expect(page.getByText(SAVED)).toBeVisible();
  await open(page, `/workloads/${NAME}/edit/policies`);
  await openPolicies(page, "Delete");
  await page.getByLabel("Deletion policy").selectOption("Orphan");
  await expect(page.getByText(SAVED)).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Deletion policy")).toHaveValue("orphan");
});

test("what is typed before overrides, rollout and policies are live stays in the fields and is saved", async ({ page }) => {
  const fields = [
    { path: `/workloads/${NAME}?tab=overrides&override=eu-west-1`, label: "Deployment web replicas", value: "10" },
    {
      path: `/workloads/${NAME}/edit/rollout`,
      label: "Failure timeout",
      value: "20m",
      fold: "Schedule, approver and failure timeout",
    },
    {
      path: `/workloads/${NAME}/edit/policies`,
      label: "Service account",
      value: "deployer/flotilla",
      fold: "create namespaces, fail on conflict",
    },
  ];
  for (const { path, label, value, fold } of fields) {
    const live = await openWithoutCode(page, path);
    if (fold) await page.getByText(fold).click();
    await page.getByLabel(label).fill(value);
    await live();
    await expect(page.getByLabel(label)).toHaveValue(value);
    await expect(page.getByText(SAVED)).toBeVisible();
    await page.unroute(/\.wasm(\?|$)/);
    await open(page, path);
    await expect(page.getByLabel(label)).toHaveValue(value);
  }
});

test("what is typed on the page of a new workload before it is live stays in the fields and creates it", async ({ page }) => {
  const live = await openWithoutCode(page, "/workloads/new");
  await page.getByLabel("Workload name").fill("hasty");
  await page.getByLabel("Namespace").fill("hurried");
  await live();
  await expect(page.getByLabel("Workload name")).toHaveValue("hasty");
  await expect(page.getByLabel("Namespace")).toHaveValue("hurried");
  await page.unroute(/\.wasm(\?|$)/);
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await step(page, "Source");
  await open(page, "/workloads/hasty");
  await expect(page.getByText("hurried", { exact: true }).first()).toBeVisible();
  await remove(page, "hasty");
});

test("what is typed right before the tab is left is saved, also while an earlier save runs", async ({ page }) => {
  /** Types and leaves in one task of the browser: no timer runs in between. */
  const typeAndLeave = async (value: string): Promise<void> =>
    page.getByLabel("Deployment web replicas").evaluate((field: HTMLInputElement, value) => {
      field.value = value;
      field.dispatchEvent(new Event("input", { bubbles: true }));
      const links = document.querySelectorAll<HTMLAnchorElement>("nav[aria-label='Parts of this workload'] a");
      [...links].find((link) => link.textContent?.startsWith("History"))?.click();
    }, value);
  const address = `/workloads/${NAME}?tab=overrides&override=eu-west-1`;
  await open(page, address);
  await leaveForHistory(page, async () => typeAndLeave("11"));
  await open(page, address);
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("11");

  // The second save waits for the first one, whose revision it is based on.
  let saves = 0;
  let release = (): void => {};
  const released = new Promise<void>((done) => (release = done));
  await page.route(/override_save/, async (route) => {
    saves += 1;
    await released;
    await route.continue();
  });
  await page.getByLabel("Deployment web replicas").fill("12");
  await expect.poll(() => saves).toBe(1);
  await typeAndLeave("13");
  await expect(page.getByRole("heading", { name: "Never published" })).toBeVisible();
  expect(saves).toBe(1);
  const last = page.waitForResponse((response) => /value(\]|%5D)=13/.test(response.request().postData() ?? ""));
  release();
  await last;
  await page.unroute(/override_save/);
  await open(page, address);
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("13");
});

/** The banner above every page about a form that was left. */
function leftForm(page: Page, part: string): Locator {
  return page.getByRole("status").filter({ hasText: `${part} of ${NAME} is not saved.` });
}

test("input that is rejected after its page was left is shown on every page and can be opened again", async ({ page, faults }) => {
  faults.expect(/override_save|config_save|policies_save/);
  await open(page, `/workloads/${NAME}?tab=overrides&cluster=us-east-1`);
  await page.getByLabel("Deployment web replicas").fill("many");
  await expect(page.getByText(/^Not saved yet/)).toBeVisible();
  await followHistory(page);
  const banner = leftForm(page, "Override us-east-1");
  await expect(banner).toContainText('"many" is not a number');
  await leaveByLogo(page);
  await expect(banner, "on another page").toBeVisible();
  await accessible(page, "a page with a form that is not saved");
  let asked = 0;
  page.on("dialog", (dialog) => {
    asked += 1;
    void dialog.dismiss();
  });
  await page.evaluate(() => location.reload());
  await expect.poll(() => asked, "the browser asks before it closes the document").toBe(1);

  await banner.getByRole("link", { name: "Open what was typed" }).click();
  await expect(page.getByRole("heading", { name: "Override for us-east-1" })).toBeVisible();
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("many");
  await expect(banner, "the page has the input").toBeHidden();
  // Left again without a change.
  await followHistory(page);
  await banner.getByRole("link", { name: "Open what was typed" }).click();
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("many");
  await leaveForHistory(page, async () => page.getByLabel("Deployment web replicas").fill("9"));
  await expect(banner).toBeHidden();
  await open(page, `/workloads/${NAME}?tab=overrides&override=us-east-1`);
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("9");

  // Fields that are rendered from the stored draft, and a text in the editor.
  await open(page, `/workloads/${NAME}?tab=config`);
  await page.locator("#workload-labels").fill("not/a/label=x");
  await paste(page, "deploy.yaml", WEB_YAML.replace("replicas: 2", "replicas: 4"));
  await followHistory(page);
  await leftForm(page, "Config").getByRole("link", { name: "Open what was typed" }).click();
  await expect(page.locator("#workload-labels")).toHaveValue("not/a/label=x");
  await expect(page.locator("textarea.editor-source").first()).toHaveValue(/replicas: 4/);
  await page.locator("#workload-labels").fill("team=shop");
  await expect(page.getByText(SAVED)).toBeVisible();
  await page.reload();
  await expect(page.locator("#workload-labels")).toHaveValue("team=shop");
  await expect(page.locator("textarea.editor-source").first()).toHaveValue(/replicas: 4/);

  // Policies: also in folds, and in the row that is displayed when a rule is added.
  await open(page, `/workloads/${NAME}?tab=policies`);
  await openPolicies(page, "Drift", "Delete");
  await page.getByLabel("On drift").selectOption("Self-heal (revert)");
  await page.getByRole("button", { name: "Add orphaned object" }).click();
  await page.getByLabel("Kind of orphaned object 1").fill("Secret");
  await page.getByLabel("TTL after finished").fill("soon");
  await followHistory(page);
  await leftForm(page, "Policies").getByRole("link", { name: "Open what was typed" }).click();
  await expect(page.getByLabel("TTL after finished")).toHaveValue("soon");
  await expect(page.getByLabel("On drift")).toHaveValue("revert");
  await expect(page.getByLabel("Kind of orphaned object 1")).toHaveValue("Secret");
  await openPolicies(page, "Delete");
  await expect(page.getByLabel("Kind of orphaned object 1")).toBeVisible();
  await page.getByLabel("TTL after finished").fill("");
  await expect(page.getByText(SAVED)).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("On drift")).toHaveValue("revert");
  await expect(page.getByLabel("Kind of orphaned object 1")).toHaveValue("Secret");
});

test("input that was left and is discarded does not come back", async ({ page, faults }) => {
  faults.expect(/placement_save/);
  await open(page, `/workloads/${NAME}?tab=placement`);
  await page.getByLabel("Number of clusters").fill("many");
  await followHistory(page);
  const banner = leftForm(page, "Placement");
  await expect(banner).toContainText('"many" is not a number of clusters');
  await banner.getByRole("button", { name: "Discard" }).click();
  await expect(banner).toBeHidden();
  await page.getByRole("navigation", { name: "Parts of this workload" }).getByRole("link", { name: "Placement" }).click();
  await expect(page.getByLabel("Number of clusters")).toHaveValue("3");
});

test("input that is older than the draft replaces it only by a submission", async ({ page, context, faults }) => {
  faults.expect(/placement_save/);
  await open(page, `/workloads/${NAME}?tab=placement`);
  const other = await context.newPage();
  await open(other, `/workloads/${NAME}?tab=placement`);
  await other.getByLabel("Number of clusters").fill("2");
  await expect(other.getByText(SAVED)).toBeVisible();

  await page.getByLabel("Excluded clusters").fill("eu-west-1");
  await followHistory(page);
  const banner = leftForm(page, "Placement");
  await expect(banner).toContainText(/changed this draft at \d\d:\d\d:\d\d UTC/);
  await banner.getByRole("link", { name: "Open what was typed" }).click();
  await expect(page.getByLabel("Excluded clusters")).toHaveValue("eu-west-1");
  await expect(page.getByText("the draft was changed after this was typed")).toBeVisible();
  await other.reload();
  await expect(other.getByLabel("Number of clusters"), "the change is still there").toHaveValue("2");
  await other.close();
  await page.getByRole("button", { name: "Save placement" }).click();
  await expect(page.getByText("Placement saved in the draft.")).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Excluded clusters")).toHaveValue("eu-west-1");
  await expect(page.getByLabel("Number of clusters")).toHaveValue("3");
  await expect(banner).toBeHidden();
});

test("input with fields that another form of the document has changed since replaces them only by a submission", async ({ page, context, faults }) => {
  faults.expect(/config_save/);
  await open(page, `/workloads/${NAME}?tab=config`);
  await page.locator("#workload-labels").fill("not/a/label=x");
  await followHistory(page);
  const banner = leftForm(page, "Config");
  await expect(banner).toBeVisible();
  // The policies are no fields of the tab.
  await navigateTo(page, `/workloads/${NAME}/edit/policies`);
  await openPolicies(page, "Delete");
  await page.getByLabel("Deletion policy").selectOption("Delete");
  await expect(page.getByText(SAVED)).toBeVisible();
  await navigateTo(page, `/workloads/${NAME}/edit/source`);
  await paste(page, "deploy.yaml", WEB_YAML.replace("replicas: 2", "replicas: 5"));
  await expect(page.getByText(SAVED)).toBeVisible();

  await banner.getByRole("link", { name: "Open what was typed" }).click();
  await expect(page.locator("#workload-labels")).toHaveValue("not/a/label=x");
  await expect(page.getByText("the draft was changed after this was typed")).toBeVisible();
  await page.locator("#workload-labels").fill("team=web");
  await followHistory(page);
  await expect(banner, "it is not stored by leaving the page again").toBeVisible();
  const other = await context.newPage();
  await open(other, `/workloads/${NAME}?tab=config`);
  await expect(other.locator("textarea.editor-source").first()).toHaveValue(/replicas: 5/);
  await open(other, `/workloads/${NAME}?tab=policies`);
  await expect(other.getByLabel("Deletion policy")).toHaveValue("foreground");
  await other.close();
  await banner.getByRole("button", { name: "Discard" }).click();
  await expect(banner).toBeHidden();
});

test("a click on another override does not store an override that is older than the draft", async ({ page, context, faults }) => {
  faults.expect(/override_save/);
  const address = `/workloads/${NAME}?tab=overrides&override=eu-west-1`;
  const replicas = (of: Page): Locator => of.getByLabel("Deployment web replicas");
  await open(page, address);
  const other = await context.newPage();
  await open(other, address);
  await replicas(other).fill("14");
  await expect(other.getByText(SAVED)).toBeVisible();

  await replicas(page).fill("15");
  await followHistory(page);
  const banner = leftForm(page, "Override eu-west-1");
  await expect(banner).toContainText(/changed this draft at/);
  await banner.getByRole("link", { name: "Open what was typed" }).click();
  await expect(replicas(page)).toHaveValue("15");
  await expect(page.getByText("the draft was changed after this was typed")).toBeVisible();
  await override(page, "eu-west-2").getByRole("link").click();
  await expect(replicas(page)).toHaveValue("6");
  await expect(banner).toBeVisible();
  await other.reload();
  await expect(replicas(other), "the change is still there").toHaveValue("14");
  await other.close();
  await banner.getByRole("button", { name: "Discard" }).click();
  await expect(banner).toBeHidden();
});

test("a page that is opened again while its input is saved shows the input if that save fails", async ({ page, faults }) => {
  faults.expect(/placement_save/);
  await open(page, `/workloads/${NAME}?tab=placement`);
  let release = (): void => {};
  const released = new Promise<void>((done) => (release = done));
  await page.route(/placement_save/, async (route) => {
    await released;
    await route.continue();
  });
  const clusters = page.getByLabel("Number of clusters");
  await clusters.fill("many");
  await followHistory(page);
  await page.getByRole("navigation", { name: "Parts of this workload" }).getByRole("link", { name: "Placement" }).click();
  await expect(clusters, "what is stored, while the save runs").toHaveValue("3");
  release();
  await expect(clusters).toHaveValue("many");
  await page.unroute(/placement_save/);
  await clusters.fill("3");
  await expect(page.getByText(SAVED)).toBeVisible();
  await expect(leftForm(page, "Placement")).toBeHidden();
});

test("a sign-out asks before it loses input that is not stored", async ({ page, faults }) => {
  faults.expect(/placement_save/);
  await open(page, `/workloads/${NAME}?tab=placement`);
  await page.getByLabel("Number of clusters").fill("many");
  await followHistory(page);
  const banner = leftForm(page, "Placement");
  await expect(banner).toBeVisible();
  let asked = 0;
  page.on("dialog", (dialog) => {
    asked += 1;
    void dialog.dismiss();
  });
  await page.getByRole("button", { name: /signed in as/ }).click();
  await page.getByRole("button", { name: "Sign out" }).click({ noWaitAfter: true });
  await expect.poll(() => asked).toBe(1);
  await expect(banner, "still signed in, with the input").toBeVisible();
  // The menu stays open after the question was declined.
  await page.keyboard.press("Escape");
  await banner.getByRole("button", { name: "Discard" }).click();
  await expect(banner).toBeHidden();
});

test("a save of a form that was left in an outage is repeated until it succeeds", async ({ page, faults }) => {
  faults.expect(/source_save|ERR_FAILED/);
  await open(page, `/workloads/${NAME}/edit/source`);
  await page.route(/source_save/, (route) => route.abort());
  await page.getByLabel("Image").fill("registry.example.com/web:3.0");
  await expect(page.locator("textarea.editor-source").first()).toHaveValue(/web:3\.0/);
  await leaveByLogo(page);
  const banner = leftForm(page, "Source");
  await expect(banner).toContainText("does not respond");
  await page.unroute(/source_save/);
  await expect(banner).toBeHidden();
  await open(page, `/workloads/${NAME}/edit/source`);
  await expect(page.getByLabel("Image")).toHaveValue("registry.example.com/web:3.0");
});

test("two forms of a draft that were left in an outage are both saved after it", async ({ page, faults }) => {
  faults.expect(/placement_save|override_save|ERR_FAILED/);
  const address = `/workloads/${NAME}?tab=overrides&override=eu-west-1`;
  const banners = [leftForm(page, "Placement"), leftForm(page, "Override eu-west-1")];
  await open(page, `/workloads/${NAME}?tab=placement`);
  await page.route(/placement_save|override_save/, (route) => route.abort());
  await page.getByLabel("Excluded clusters").fill("us-east-2");
  await followHistory(page);
  await expect(banners[0]!).toContainText("does not respond");
  await navigateTo(page, address);
  await page.getByLabel("Deployment web replicas").fill("16");
  await followHistory(page);
  await expect(banners[1]!).toContainText("does not respond");
  await page.unroute(/placement_save|override_save/);
  for (const banner of banners) await expect(banner).toBeHidden();
  await open(page, address);
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("16");
  await open(page, `/workloads/${NAME}?tab=placement`);
  await expect(page.getByLabel("Excluded clusters")).toHaveValue("us-east-2");
  await remove(page, NAME);
});
