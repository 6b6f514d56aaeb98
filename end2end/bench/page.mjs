// The console's first load: bytes on the wire and times, cold cache, without a brake and on a slow line.
// Called by `cargo xtask bench page`, which says where server, files and browser are.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "@playwright/test";
import { signedIn, start, token } from "./demo.mjs";

const WORKLOADS = Number(process.env.FLOTILLA_BENCH_WORKLOADS ?? 1000);
const RUNS = 5;
const LINES = {
  "no brake": null,
  "1.6 Mbit/s, 150 ms": { offline: false, latency: 150, downloadThroughput: 200_000, uploadThroughput: 94_000 },
};

const data = await mkdtemp(join(tmpdir(), "flotilla-page-"));
const server = await start(data);
const { base } = server;
try {
  await fill(await token(server));
  const browser = await chromium.launch({
    executablePath: process.env.FLOTILLA_CHROMIUM,
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking"],
  });
  const state = await signedIn(browser, server);
  console.log(`first load of /workloads, ${WORKLOADS} workloads, 5 clusters, cold cache, ${RUNS} runs, medians`);
  for (const [name, line] of Object.entries(LINES)) {
    const runs = [];
    for (let n = 0; n < RUNS; n += 1) runs.push(await load(browser, state, line));
    const median = (key) => runs.map((run) => run[key]).sort((a, b) => a - b)[Math.floor(RUNS / 2)];
    console.log(
      `  ${name.padEnd(20)} ${(median("bytes") / 1000).toFixed(0)} kB, first paint ${median("paint").toFixed(0)} ms, ` +
        `rows there ${median("rows").toFixed(0)} ms, live ${median("live").toFixed(0)} ms`,
    );
  }
  await browser.close();
} finally {
  server.process.kill("SIGTERM");
  await rm(data, { recursive: true, force: true });
}

async function fill(secret) {
  for (let n = 0; n < WORKLOADS; n += 1) {
    const body = JSON.stringify({ name: `workload-${n}`, spec: { namespace: "bench" } });
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const answer = await fetch(`${base}/api/v1/projects/default/workloads`, { method: "POST", headers, body });
    if (!answer.ok) throw new Error(`workload ${n}: ${answer.status} ${await answer.text()}`);
  }
}

/** One cold load. Times in milliseconds from the start of the navigation. */
async function load(browser, storageState, line) {
  const context = await browser.newContext({ storageState });
  const page = await context.newPage();
  const wire = await context.newCDPSession(page);
  await wire.send("Network.enable");
  if (line) await wire.send("Network.emulateNetworkConditions", line);
  let bytes = 0;
  wire.on("Network.loadingFinished", (event) => (bytes += event.encodedDataLength));
  const start = Date.now();
  await page.goto(`${base}/workloads`, { waitUntil: "commit" });
  await page.locator("tbody tr").nth(49).waitFor();
  const rows = Date.now() - start;
  await page.getByText("Live", { exact: true }).first().waitFor();
  const live = Date.now() - start;
  const paint = await page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? NaN);
  await context.close();
  return { bytes, rows, live, paint };
}
