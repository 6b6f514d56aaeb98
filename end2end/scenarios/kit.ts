// Fixtures and helpers of all scenarios: unexpected page errors fail a scenario, the user is signed in.

import AxeBuilder from "@axe-core/playwright";
import { test as base, expect, type Browser, type Locator, type Page, type Request } from "@playwright/test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { PATIENCE } from "./patience.js";
import { Server } from "./server.js";

export { expect, PATIENCE };

/** The demo's user. */
export const DEMO_USER = "demo";

/** The clusters of the demo, in the order of their names. */
export const CLUSTERS = ["eu-west-1", "eu-west-2", "eu-west-3", "us-east-1", "us-east-2"] as const;

/** The text of a fixture. */
export function fixture(...path: string[]): string {
  return readFileSync(join(import.meta.dirname, "../fixtures", ...path), "utf8");
}

/** A packed chart with these files, as `helm package` writes it. */
export function packChart(name: string, files: Record<string, string>): Buffer {
  const blocks = Object.entries(files).flatMap(([path, text]) => {
    const body = Buffer.from(text);
    const head = Buffer.alloc(512);
    head.write(`${name}/${path}`, 0);
    head.write("0000644\0", 100);
    head.write(body.length.toString(8).padStart(11, "0") + " ", 124);
    head.write("00000000000 ", 136);
    head.write("        0", 148);
    head.write("ustar\x0000", 257);
    const sum = head.reduce((total, byte) => total + byte, 0);
    head.write(sum.toString(8).padStart(6, "0") + "\0 ", 148);
    return [head, body, Buffer.alloc((512 - (body.length % 512)) % 512)];
  });
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(1024)]));
}

/** A Deployment of the name web with two replicas. */
export const WEB_YAML = `apiVersion: apps/v1
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

/** The state of a form whose input is stored. */
export const SAVED = /^Saved \d\d:\d\d UTC$/;

/** What the browser says some seconds after a page has loaded, if a preloaded file was not used until then. */
export const PRELOAD_WARNING = /was preloaded using link preload but not used/;

/** Collects the errors of pages: console messages, exceptions, failed requests. */
export class Faults {
  private readonly found: string[] = [];
  private readonly expected: RegExp[] = [];

  /** Collects from this page. */
  watch(page: Page): void {
    page.on("pageerror", (error) => this.found.push(`exception: ${error.message}`));
    page.on("console", (message) => {
      // Depends on the speed of the machine; a scenario of `updates.spec.ts` proves that every preload is used.
      if (PRELOAD_WARNING.test(message.text())) return;
      if (message.type() === "error" || message.type() === "warning") {
        this.found.push(`${message.type()}: ${message.text()} (${message.location().url})`);
      }
    });
    page.on("response", (answer) => {
      if (answer.status() >= 400) this.found.push(`status ${answer.status()}: ${answer.url()}`);
    });
    page.on("requestfailed", (request) => {
      // Navigation aborts pending requests.
      const why = request.failure()?.errorText ?? "";
      if (why !== "net::ERR_ABORTED") this.found.push(`${why}: ${request.url()}`);
    });
  }

  /** Marks matching errors as expected, because the scenario provokes them. */
  expect(pattern: RegExp): void {
    this.expected.push(pattern);
  }

  /** The errors that were not expected. */
  unexpected(): string[] {
    return this.found.filter((fault) => !this.expected.some((pattern) => pattern.test(fault)));
  }
}

type State = Awaited<ReturnType<Awaited<ReturnType<Browser["newContext"]>>["storageState"]>>;

/** The demo of a file of scenarios. */
interface Demo {
  file: string;
  server: Server;
  signedIn: State;
}

/** The demos of a worker, which runs one file after the other. */
class Demos {
  private started = 0;
  private current: Demo | undefined;

  constructor(private readonly worker: number) {}

  /** The demo of this file: the running one, or a new one for its first scenario. */
  async forFile(file: string, browser: Browser): Promise<Demo> {
    if (this.current?.file !== file) {
      await this.stop();
      this.started += 1;
      const server = await Server.startDemo(`worker-${this.worker}-${this.started}`);
      this.current = { file, server, signedIn: await signedInState(browser, server) };
    }
    return this.current!;
  }

  async stop(): Promise<void> {
    await this.current?.server.stop();
    this.current = undefined;
  }
}

/** The cookies after the demo's user has signed in. */
async function signedInState(browser: Browser, server: Server): Promise<State> {
  const context = await browser.newContext({ baseURL: server.address });
  const page = await context.newPage();
  await signIn(page, server.password());
  const state = await context.storageState();
  await context.close();
  return state;
}

interface TestFixtures {
  /** The demo of the scenario's file. */
  currentDemo: Demo;
  /** The server of this demo. */
  demo: Server;
  /** The cookies of a signed-in user. */
  signedIn: State;
  /** Fails every scenario with unexpected errors. */
  faults: Faults;
}

interface WorkerFixtures {
  demos: Demos;
}

export const test = base.extend<TestFixtures, WorkerFixtures>({
  demos: [
    async ({}, use, info) => {
      const demos = new Demos(info.workerIndex);
      await use(demos);
      await demos.stop();
    },
    { scope: "worker" },
  ],
  currentDemo: [
    async ({ browser, demos }, use, info) => use(await demos.forFile(info.file, browser)),
    { timeout: 120_000 },
  ],
  demo: async ({ currentDemo }, use) => use(currentDemo.server),
  baseURL: async ({ demo }, use) => use(demo.address),
  signedIn: async ({ currentDemo }, use) => use(currentDemo.signedIn),
  storageState: async ({ signedIn }, use) => use(signedIn),
  faults: [
    async ({ context, javaScriptEnabled }, use) => {
      const faults = new Faults();
      if (javaScriptEnabled === false) faults.expect(/^csp: .*\.js$/);
      context.on("page", (page) => faults.watch(page));
      await use(faults);
      expect(faults.unexpected(), "no unexpected errors").toEqual([]);
    },
    { auto: true },
  ],
});

/** Signs the demo's user in with the form. */
export async function signIn(page: Page, password: string): Promise<void> {
  await page.goto("/sign-in");
  await page.getByLabel("Name").fill(DEMO_USER);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await expect(page).not.toHaveURL(/sign-in/);
}

/** Signs the first user of a new server up. */
export async function signUp(page: Page, server: Server): Promise<void> {
  await page.goto(server.setupAddress());
  await page.getByLabel("Your name").fill("owner");
  await page.getByLabel(/^Password/).fill("a long enough password");
  await page.getByRole("button", { name: "Set up and sign in" }).click();
  await expect(page).not.toHaveURL(/setup/);
}

/** Opens a page and waits until it is live: before hydration, clicks act as without script. */
export async function open(page: Page, path: string): Promise<void> {
  await page.goto(path);
  await alive(page);
}

/** Waits until the page receives live updates. */
export async function alive(page: Page): Promise<void> {
  await expect(page.getByRole("status").filter({ hasText: /^Live$/ })).toBeAttached();
}

/** Waits until animations have ended. Endless ones, such as a blinking caret, are ignored. */
export async function atRest(page: Page): Promise<void> {
  await page.evaluate(() => {
    const ends = (one: Animation): boolean => one.playState === "running" && one.effect?.getComputedTiming().endTime !== Infinity;
    const all = Promise.all(document.getAnimations().filter(ends).map((one) => one.finished.catch(() => one)));
    // Bounded: the next check does not depend on it.
    return Promise.race([all, new Promise((done) => setTimeout(done, 2_000))]);
  });
}

/** The row of a table with this row header. */
export function row(where: Page | Locator, name: string): Locator {
  const page = "goto" in where ? where : where.page();
  // An open row is followed by a detail row that contains a table; that row is excluded.
  const head = page.getByRole("rowheader", { name, exact: true });
  return where.getByRole("row").filter({ has: head }).filter({ hasNot: page.getByRole("table") });
}

/** An override in the list of the draft's overrides. */
export function override(page: Page, name: string): Locator {
  const items = page.getByRole("navigation", { name: "Overrides of the draft" }).getByRole("listitem");
  return items.filter({ has: page.getByText(name, { exact: true }) });
}

/** Adds to the target of the edited override what is typed: names, or conditions on labels and facts. */
export async function addTarget(page: Page, text: string): Promise<void> {
  const field = page.getByPlaceholder("Add a cluster, group, label or fact");
  await field.fill(text);
  await field.press("Enter");
  await expect(field, "what was added is not in the field any more").toHaveValue("");
}

/** A part of the target of the edited override, such as `group gold`. */
export function targetPart(page: Page, name: string): Locator {
  const parts = page.getByRole("list", { name: "Parts of the target" }).getByRole("listitem");
  return parts.filter({ has: page.getByRole("button", { name: `Remove ${name}`, exact: true }) });
}

/** The cell of a workload on a cluster, in the fleet's matrix. Its accessible name contains the state. */
export function cell(page: Page, workload: string, cluster: string): Locator {
  return page.getByRole("table").getByRole("link", { name: new RegExp(`^${workload} on ${cluster}: `) });
}

/** Replaces the text of the editor of this file with a paste event. */
export async function paste(page: Page, file: string, text: string): Promise<void> {
  // The editor's content, not the plain textarea that it covers.
  const editor = page.getByRole("textbox", { name: file, exact: true }).and(page.locator(".cm-content"));
  await editor.focus();
  // Selects everything, also lines outside the viewport, which are not in the DOM.
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

/** Waits until a step of the wizard is displayed. */
export async function step(page: Page, word: string): Promise<void> {
  await expect(page.getByRole("heading", { level: 1 })).toHaveText(word);
}

/** Goes to another step of the wizard with the rail, which also saves the form. */
export async function toStep(page: Page, word: string): Promise<void> {
  await page.getByRole("navigation", { name: "Steps" }).getByRole("button", { name: word }).click();
}

/** Opens these parts of the policies, whose fields are in folds. */
export async function openPolicies(page: Page, ...parts: string[]): Promise<void> {
  for (const part of parts) {
    const fold = page.locator(".policy-columns details").filter({ has: page.locator("summary", { hasText: new RegExp(`^\\s*${part}\\s`) }) });
    await fold.locator("summary").click();
    await expect(fold).toHaveAttribute("open");
  }
}

/** Makes a label the first condition of a placement. */
export async function requireLabel(page: Page, key: string, value: string): Promise<void> {
  await page.getByLabel("Key of label 1").fill(key);
  await page.getByLabel("Values of label 1").fill(value);
}

/** Publishes from the review and waits for the workload's page. */
export async function publish(page: Page, workload: string, message = ""): Promise<void> {
  await expect(page).toHaveURL(new RegExp(`/workloads/${workload}/publish(\\?plan=\\w+(&revision=\\d+)?)?$`));
  if (message !== "") await page.getByLabel("Message").fill(message);
  const button = page.getByRole("button", { name: /^Publish to \d+ clusters?$/ });
  await expect(button, "every cluster has reported its dry run").not.toHaveAttribute("aria-disabled", "true");
  await button.click();
  await expect(page).toHaveURL(new RegExp(`/workloads/${workload}$`));
}

/** Deletes a workload with the console and waits until it is removed everywhere. */
export async function remove(page: Page, workload: string): Promise<void> {
  await open(page, `/workloads/${workload}?dialog=delete`);
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel(/^Type /).fill(workload);
  await dialog.getByRole("button", { name: "Delete" }).click();
  await expect(page).toHaveURL(/\/workloads$/);
  await notListed(page, workload);
}

/** Waits until the list of workloads is loaded and this one is not in it. */
export async function notListed(page: Page, workload: string): Promise<void> {
  // A list that is not loaded yet has no rows either.
  await expect(page.getByRole("table").or(page.getByRole("heading", { name: "No workloads yet" })).first()).toBeVisible();
  await expect(page.getByRole("rowheader", { name: workload, exact: true })).toHaveCount(0);
}

/** Follows a link of the menu of actions; a font or a part of the page that arrives late can close the menu before. */
export async function chooseAction(page: Page, name: string): Promise<void> {
  const action = page.getByRole("link", { name });
  await expect(async () => {
    if (!(await action.isVisible())) await page.getByRole("button", { name: "More actions" }).click({ timeout: 10_000 });
    await action.click({ timeout: 3_000 });
  }).toPass({ timeout: PATIENCE });
}

/** Injects a fault into the cluster of the current page, or into a workload there, with the demo's menu. */
export async function injectFault(page: Page, what: string, workload?: string): Promise<void> {
  const isInjection = (url: string): boolean => url.includes("/api/fn/inject_demo_fault");
  // The next step may leave the page, which aborts a request.
  const injected = page.waitForResponse((response) => isInjection(response.url()), { timeout: PATIENCE });
  // If the steps below fail, their failure is reported and not that of the wait.
  void injected.catch(() => undefined);
  let isSent = false;
  const recordSent = (request: Request): void => {
    isSent ||= isInjection(request.url());
  };
  page.on("request", recordSent);
  const item = page.getByRole("button", { name: what });
  // The menu is opened again if an update of the page has closed it. A click whose button moved between press and release submits
  // nothing: it is repeated until a request was sent, and never after that.
  try {
    await expect(async () => {
      if (isSent) return;
      if (!(await item.isVisible())) await page.getByRole("button", { name: "Inject fault" }).click({ timeout: 10_000 });
      if (workload) await page.getByLabel("Workload", { exact: true }).selectOption(workload, { timeout: 3_000 });
      await item.click({ timeout: 3_000 });
      await expect.poll(() => isSent, { timeout: 5_000 }).toBe(true);
    }).toPass({ timeout: PATIENCE });
  } finally {
    page.off("request", recordSent);
  }
  await injected;
}

/** The axe rules that every page has to satisfy. */
export const TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];

/** The accessibility violations of the page as it is now. */
async function violationsOf(page: Page): Promise<string[]> {
  const { violations } = await new AxeBuilder({ page }).withTags(TAGS).analyze();
  return violations.flatMap((rule) => rule.nodes.map((node) => `${rule.id}: ${node.html.slice(0, 160)}`));
}

/** Expects no accessibility violation on the current page, in either theme. */
export async function accessible(page: Page, what: string): Promise<void> {
  // A page in the background renders no frames, so its transition to the other theme does not end.
  await page.bringToFront();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    // Transitions begin with the next frame.
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    await atRest(page);
    // A violation stays. What is found only while the page is updated, such as half a change of the theme, is none.
    let found = await violationsOf(page);
    for (let again = 0; again < 3 && found.length > 0; again += 1) {
      await page.waitForTimeout(1_000);
      await atRest(page);
      found = await violationsOf(page);
    }
    expect.soft(found, `${what}, ${colorScheme}`).toEqual([]);
  }
}

/** Expects the same on a desktop and on a phone, and that the page is not wider than either window. */
export async function accessibleAtEverySize(page: Page, what: string): Promise<void> {
  const before = page.viewportSize();
  const sizes = { desktop: { width: 1440, height: 900 }, phone: { width: 390, height: 844 } };
  for (const [size, viewport] of Object.entries(sizes)) {
    await page.setViewportSize(viewport);
    await accessible(page, `${what} on a ${size}`);
    const excess = (): Promise<number> => page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    await expect.poll(excess, `the width of ${what} on a ${size}`).toBeLessThanOrEqual(0);
  }
  if (before !== null) await page.setViewportSize(before);
}
