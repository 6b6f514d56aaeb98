// What was typed is not lost: before the page is live, on the way to another page, in an outage, and when the session ends.

import { type Page } from "@playwright/test";
import { accessible, alive, DEMO_USER, expect, open, override, paste, remove, step, test, toStep } from "./kit.js";

const NAME = "typed";
const YAML = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: registry.example.com/web:1.0
`;
const SAVED = /^Saved \d\d:\d\d$/;

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

/** The response to the next save. To be called before the input: a save may come at any time after it. */
async function nextSave(page: Page): Promise<void> {
  await page.waitForResponse((response) => /\/api\/fn\/\w*save/.test(response.url()));
}

/** Enters something, leaves the tab for the history, within the page, and waits until the input is stored. */
async function leaveForHistory(page: Page, enter: () => Promise<void>): Promise<void> {
  const saved = nextSave(page);
  await enter();
  await page.getByRole("navigation", { name: "Parts of this workload" }).getByRole("link", { name: "History" }).click();
  // A document that is opened before the response would end the request.
  await saved;
  await expect(page.getByRole("heading", { name: "Never published" })).toBeVisible();
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
  await paste(page, "deploy.yaml", YAML);
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

test("the tabs Config and Overrides, the rollout and the policies are saved too", async ({ page }) => {
  await open(page, `/workloads/${NAME}?tab=config`);
  await leaveForHistory(page, async () => paste(page, "deploy.yaml", YAML.replace("replicas: 2", "replicas: 3")));
  await open(page, `/workloads/${NAME}?tab=config`);
  await expect(page.locator("textarea.editor-source").first()).toHaveValue(/replicas: 3/);
  await page.getByLabel("On drift").selectOption("Notify only");
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
  await expect(page.getByRole("heading", { name: "Override for eu-west-2" })).toBeVisible();
  await page.getByLabel("Deployment web replicas").fill("6");
  await expect(page.getByText(/^Not saved yet/)).toBeVisible();
  await clusters.getByRole("link", { name: "eu-west-1" }).click();
  await expect(override(page, "eu-west-2")).toContainText("1 change");
  await expect(page.getByLabel("Deployment web replicas")).toHaveValue("7");

  await open(page, `/workloads/${NAME}/edit/rollout`);
  await page.getByRole("button", { name: "Canary first" }).click();
  await expect(page.getByText(SAVED)).toBeVisible();
  await open(page, `/workloads/${NAME}/edit/policies`);
  await page.getByLabel("Deletion policy").selectOption("Orphan");
  await expect(page.getByText(SAVED)).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Deletion policy")).toHaveValue("orphan");
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

test("a save is repeated until the server responds, and after signing in again in another tab", async ({ page, context, demo, faults }) => {
  faults.expect(/placement_save|ERR_FAILED|401|api\/v1\/watch/);
  await open(page, `/workloads/${NAME}/edit/placement`);
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
