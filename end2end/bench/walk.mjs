// A person's first walk through the console, at human pace: nginx and a Service to 3 of 5 clusters with one override, plan, publish, a
// change by hand that is healed, an image that does not exist, a rollback. Prints the time of every step and the number of actions.
//
// The pace is that of the keystroke-level model (Card, Moran, Newell): 1.35 s to decide, 1.1 s to point, 0.1 s to click, 0.2 s per
// character, 0.4 s between mouse and keyboard. Called by `cargo xtask bench walk`, which says where server, files and browser are.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "@playwright/test";
import { signedIn, start } from "./demo.mjs";

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

async function walk(page) {
  const button = (name) => page.getByRole("button", { name, exact: true });
  const link = (name) => page.getByRole("link", { name, exact: true });
  await page.goto("/workloads");
  await see(page.getByRole("heading", { name: "Workloads" }));
  started.at = Date.now();

  await click(link("New workload"));
  await type(page.getByLabel("Workload name"), "shop");
  await type(page.getByLabel("Namespace"), "shop");
  await click(button("Continue to Source"));
  const form = page.getByRole("group", { name: "Form", exact: true });
  await type(form.getByLabel("Image"), "nginx:1.29");
  await click(form.getByRole("button", { name: "Port", exact: true }));
  await type(form.getByLabel("Port number"), "80");
  await click(form.getByLabel("Inside the cluster (Service)"));
  lap("source described");
  await click(button("Continue to Placement"));
  for (const cluster of ["eu-west-1", "eu-west-2", "us-east-1"]) await click(page.getByRole("checkbox", { name: cluster }));
  lap("clusters selected");
  await click(button("Continue to Overrides"));
  await override(page);
  lap("override made");
  await click(page.getByRole("navigation", { name: "Steps" }).getByRole("button", { name: "Review" }));
  await see(page.getByText("3 accepted", { exact: true }));
  lap("plan seen");
  await click(button("Publish to 3 clusters"));
  await see(page.getByText("3 of 3 clusters healthy with r1"));
  lap("first Healthy on 3 clusters");

  await click(link("eu-west-1"));
  await click(page.getByRole("link", { name: "Open the cluster" }));
  await click(button("Break it"));
  await type_select(page.getByLabel("Workload", { exact: true }), "shop");
  await click(button("Change replicas by hand"));
  await click(page.getByRole("rowheader", { name: "shop" }).getByRole("link"));
  await see(page.getByText(/^Healed .* changed by kubectl-edit and reverted/));
  lap("change by hand healed");

  await click(link("Edit"));
  await type(form.getByLabel("Image"), "nginx:9.9");
  await click(page.getByRole("navigation", { name: "Steps" }).getByRole("button", { name: "Review" }));
  await click(button("Publish to 3 clusters"));
  await see(page.getByText("it is not in the registry").first());
  lap("bad image explained");
  await click(page.getByRole("link", { name: /^Roll back to r1/ }).first());
  await click(button("Publish to 3 clusters"));
  await see(page.getByText("3 of 3 clusters healthy with r3"));
  lap("rolled back, Healthy on 3 clusters");
}

/** 4 replicas on us-east-1. */
async function override(page) {
  await click(page.getByRole("navigation", { name: "Clusters that get it" }).getByRole("link", { name: "us-east-1" }));
  await type(page.getByLabel("Deployment shop replicas"), "4");
}

/** Selects an option with the keyboard. */
async function type_select(target, value) {
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
    await walk(page);
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
