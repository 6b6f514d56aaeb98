// A demo server of a benchmark, and a session in it.

import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Starts a demo with this data folder; resolves to its process, address and data folder when it is ready. */
export async function start(data) {
  const process_ = spawn(
    process.env.FLOTILLA_SERVER,
    ["demo", "--no-outages", "--listen", "127.0.0.1:0", "--data", data, "--assets", process.env.FLOTILLA_ASSETS],
    { stdio: ["ignore", "pipe", "ignore"] },
  );
  return { process: process_, base: await ready(process_), data };
}

/** The address that the server prints when it is ready; it chooses the port. */
function ready(server) {
  return new Promise((resolve, reject) => {
    let printed = "";
    server.stdout.on("data", (text) => {
      printed += text;
      const address = printed.match(/Flotilla is ready at (http:\/\/[^\s/]+)\/?\s/);
      if (address) resolve(address[1]);
    });
    server.on("exit", (code) => reject(new Error(`the server ended with ${code}`)));
  });
}

/** The API token of the demo. */
export async function token({ data }) {
  const lines = (await readFile(join(data, "cli.env"), "utf8")).split("\n");
  return lines.find((line) => line.startsWith("FLOTILLA_TOKEN=")).slice("FLOTILLA_TOKEN=".length).replaceAll('"', "");
}

/** The storage state of a browser that is signed in. */
export async function signedIn(browser, { base, data }) {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`${base}/sign-in`);
  await page.getByLabel(/name/i).first().fill("demo");
  await page.getByLabel(/password/i).first().fill((await readFile(join(data, "password"), "utf8")).trim());
  await page.getByRole("button", { name: /sign in/i }).click();
  await page.waitForURL(`${base}/`);
  const state = await context.storageState();
  await context.close();
  return state;
}
