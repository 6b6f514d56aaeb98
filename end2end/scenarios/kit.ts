// What every scenario uses: a page whose faults fail the scenario, a person who is signed in, and the words of the console.

import AxeBuilder from "@axe-core/playwright";
import { test as base, expect, type Browser, type Locator, type Page } from "@playwright/test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Demo } from "./demo.js";

export { expect };

/** The demo's person. */
export const PERSON = "demo";

/** The clusters of the demo, in the order of their names. */
export const CLUSTERS = ["eu-west-1", "eu-west-2", "eu-west-3", "us-east-1", "us-east-2"] as const;

/** The text of a fixture. */
export function fixture(...path: string[]): string {
  return readFileSync(join(import.meta.dirname, "../fixtures", ...path), "utf8");
}

/** What went wrong on a page although nobody looked: console, exceptions, requests. */
export class Faults {
  private readonly found: string[] = [];
  private readonly expected: RegExp[] = [];

  /** Collects from this page. */
  watch(page: Page): void {
    page.on("pageerror", (error) => this.found.push(`exception: ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning") {
        this.found.push(`${message.type()}: ${message.text()} (${message.location().url})`);
      }
    });
    page.on("response", (answer) => {
      if (answer.status() >= 400) this.found.push(`status ${answer.status()}: ${answer.url()}`);
    });
    page.on("requestfailed", (request) => {
      // A page that is left gives up what it was still asking for.
      const why = request.failure()?.errorText ?? "";
      if (why !== "net::ERR_ABORTED") this.found.push(`${why}: ${request.url()}`);
    });
  }

  /** This is part of the story: the server is meant to refuse. */
  expect(pattern: RegExp): void {
    this.expected.push(pattern);
  }

  /** What nobody expected. */
  left(): string[] {
    return this.found.filter((fault) => !this.expected.some((pattern) => pattern.test(fault)));
  }
}

type State = Awaited<ReturnType<Awaited<ReturnType<Browser["newContext"]>>["storageState"]>>;

interface Given {
  /** Nothing may go wrong unseen, in any scenario. */
  faults: Faults;
}

interface GivenOnce {
  /** The server of this worker. */
  demo: Demo;
  /** The cookies of somebody who has signed in. */
  signedIn: State;
}

export const test = base.extend<Given, GivenOnce>({
  demo: [
    async ({}, use, info) => {
      const demo = await Demo.start(`worker-${info.workerIndex}`);
      await use(demo);
      await demo.stop();
    },
    { scope: "worker", timeout: 90_000 },
  ],
  baseURL: async ({ demo }, use) => use(demo.address),
  signedIn: [
    async ({ browser, demo }, use) => {
      const context = await browser.newContext({ baseURL: demo.address });
      const page = await context.newPage();
      await signIn(page, demo.password());
      const state = await context.storageState();
      await context.close();
      await use(state);
    },
    { scope: "worker" },
  ],
  storageState: async ({ signedIn }, use) => use(signedIn),
  faults: [
    async ({ context, javaScriptEnabled }, use) => {
      const faults = new Faults();
      // Without script the browser leaves what only scripts need, and says so.
      if (javaScriptEnabled === false) faults.expect(/^csp: .*\.js$|was preloaded using link preload but not used/);
      context.on("page", (page) => faults.watch(page));
      await use(faults);
      expect(faults.left(), "nothing went wrong unseen").toEqual([]);
    },
    { auto: true },
  ],
});

/** Signs the demo's person in, as a person does. */
export async function signIn(page: Page, password: string): Promise<void> {
  await page.goto("/sign-in");
  await page.getByLabel("Name").fill(PERSON);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page).not.toHaveURL(/sign-in/);
}

/** Opens a page and waits until it is alive: what is clicked before does what it does without script. */
export async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await alive(page);
}

/** The page follows what happens. */
export async function alive(page: Page): Promise<void> {
  await expect(page.getByRole("status").filter({ hasText: /^Live$/ })).toBeAttached();
}

/** Waits until what moves has come to rest. What moves for ever, such as a blinking caret, is left out. */
export async function atRest(page: Page): Promise<void> {
  await page.evaluate(() => {
    const ends = (one: Animation): boolean => one.playState === "running" && one.effect?.getComputedTiming().endTime !== Infinity;
    const all = Promise.all(document.getAnimations().filter(ends).map((one) => one.finished.catch(() => one)));
    // Bounded: what is looked at next does not depend on it.
    return Promise.race([all, new Promise((done) => setTimeout(done, 2_000))]);
  });
}

/** The row of a table whose head says this name. */
export function row(where: Page | Locator, name: string): Locator {
  const page = "goto" in where ? where : where.page();
  // A row that is open has a table in the row below it; that one is not meant.
  const head = page.getByRole("rowheader", { name, exact: true });
  return where.getByRole("row").filter({ has: head }).filter({ hasNot: page.getByRole("table") });
}

/** The cell of a workload on a cluster, in the fleet's matrix. Its name says the state. */
export function cell(page: Page, workload: string, cluster: string): Locator {
  return page.getByRole("table").getByRole("link", { name: new RegExp(`^${workload} on ${cluster}: `) });
}

/** Puts text into the editor that stands under this file name, as a paste does. */
export async function paste(page: Page, file: string, text: string): Promise<void> {
  // Not the plain field that the editor is about to cover.
  const editor = page.getByRole("textbox", { name: file, exact: true }).and(page.locator(".cm-content"));
  await editor.focus();
  // Everything, also the lines that are out of sight and therefore not in the page.
  await page.keyboard.press("ControlOrMeta+a");
  await editor.evaluate((node, text) => {
    const data = new DataTransfer();
    data.setData("text/plain", text);
    node.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
  }, text);
}

/** Starts a draft in the wizard: names, then one file in the first step. */
export async function describe(page: Page, name: string, namespace: string, yaml: string): Promise<void> {
  await open(page, "/workloads/new");
  await page.getByLabel("Workload name").fill(name);
  await page.getByLabel("Namespace").fill(namespace);
  await page.getByText("YAML", { exact: true }).click();
  await page.getByRole("button", { name: "Continue to Source" }).click();
  await step(page, "Source");
  await paste(page, "deploy.yaml", yaml);
}

/** Waits until a step of the wizard stands there. */
export async function step(page: Page, word: string): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(word);
}

/** From a step of the wizard to another, by the rail; what stands in the form is stored on the way. */
export async function toStep(page: Page, word: string): Promise<void> {
  await page.getByRole("navigation", { name: "Steps" }).getByRole("button", { name: word }).click();
}

/** From the review on: presses the button, and the workload's page stands there. */
export async function publish(page: Page, workload: string, message = ""): Promise<void> {
  await expect(page).toHaveURL(new RegExp(`/workloads/${workload}/publish(\\?plan=\\w+)?$`));
  if (message !== "") await page.getByLabel("Message").fill(message);
  const button = page.getByRole("button", { name: /^Publish to \d+ clusters?$/ });
  await expect(button, "every cluster was asked").not.toHaveAttribute("aria-disabled", "true", { timeout: 25_000 });
  await button.click();
  await expect(page).toHaveURL(new RegExp(`/workloads/${workload}$`));
}

/** Deletes a workload through the console and waits until it is gone everywhere. */
export async function remove(page: Page, workload: string): Promise<void> {
  await open(page, `/workloads/${workload}?ask=delete`);
  const question = page.getByRole("dialog");
  await question.getByLabel(/^Type /).fill(workload);
  await question.getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL(/\/workloads$/);
  await expect(page.getByRole("rowheader", { name: workload, exact: true })).toHaveCount(0);
}

/** The rules that every page keeps. */
export const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** No accessibility fault on this step, in either theme. */
export async function accessible(page: Page, what: string): Promise<void> {
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await atRest(page);
    const { violations } = await new AxeBuilder({ page }).withTags(TAGS).analyze();
    const faults = violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)}`));
    expect.soft(faults, `${what}, ${colorScheme}`).toEqual([]);
  }
}
