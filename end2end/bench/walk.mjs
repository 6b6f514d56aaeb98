// A person's first walk through the console, at human pace: nginx and a Service to 3 of 5 clusters with one override, plan, publish, a
// change by hand that is reverted, an image that does not exist, a rollback. Prints the time of every step and the number of actions.
//
// The pace is that of the keystroke-level model (Card, Moran, Newell): 1.35 s to decide, 1.1 s to point, 0.1 s to click, 0.2 s per
// character, 0.4 s between mouse and keyboard. Called by `cargo xtask bench walk`, which says where server, files and browser are.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "@playwright/test";
import { signedIn, start } from "./demo.mjs";
import { walk } from "./steps.mjs";

const DECIDE = 1_350;
const POINT = 1_100;
const CLICK = 100;
const HOME = 400;
const KEY = 200;

const sleep = (millis) => new Promise((done) => setTimeout(done, millis));
const data = await mkdtemp(join(tmpdir(), "flotilla-walk-"));
const server = await start(data);
let actions = 0;
const started = { at: 0 };
const laps = [];

function lap(name) {
  laps.push([name, (Date.now() - started.at) / 1000, actions]);
}

/** Decides, points and clicks, as soon as the target can be clicked. */
async function click(target) {
  await target.waitFor();
  await sleep(DECIDE + POINT);
  await target.click();
  await sleep(CLICK);
  actions += 1;
}

/** Clicks into a field and types. */
async function type(target, text) {
  await target.waitFor();
  await sleep(DECIDE + POINT);
  await target.click();
  await target.press("ControlOrMeta+a");
  await sleep(CLICK + HOME);
  await target.pressSequentially(text, { delay: KEY });
  actions += 1;
}

/** Waits for what the person watches for; no action. */
async function see(target) {
  await target.waitFor({ timeout: 60_000 });
}

/** Opens the demo's menu of faults and injects one into a workload. */
async function injectFault(page, label, workload) {
  await click(page.getByRole("button", { name: "Inject fault", exact: true }));
  await select(page.getByLabel("Workload", { exact: true }), workload);
  await click(page.getByRole("button", { name: label, exact: true }));
}

/** Selects an option with the keyboard. */
async function select(target, value) {
  await target.waitFor();
  await sleep(DECIDE + POINT + CLICK);
  await target.selectOption(value);
  actions += 1;
}

try {
  const browser = await chromium.launch({
    executablePath: process.env.FLOTILLA_CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
  const context = await browser.newContext({ baseURL: server.base, storageState: await signedIn(browser, server) });
  const page = await context.newPage();
  const refused = [];
  page.on("response", (response) => {
    if (response.status() >= 400) refused.push(`${response.status()} ${response.url()}`);
  });
  try {
    await page.goto("/workloads");
    await see(page.getByRole("heading", { level: 1, name: /workload/i }));
    started.at = Date.now();
    await walk(page, { click, type, see, lap, injectFault });
  } catch (error) {
    await page.screenshot({ path: process.env.FLOTILLA_WALK_SCREENSHOT ?? join(tmpdir(), "flotilla-walk.png"), fullPage: true });
    throw error;
  } finally {
    console.log("a first walk at human pace (keystroke-level model)");
    for (const [name, seconds, count] of laps) {
      console.log(`  ${seconds.toFixed(0).padStart(4)} s  ${String(count).padStart(3)} actions  ${name}`);
    }
    console.log(`  refused requests: ${refused.length}${refused.map((one) => `\n    ${one}`).join("")}`);
  }
  await browser.close();
} finally {
  server.process.kill("SIGTERM");
  await rm(data, { recursive: true, force: true });
}
