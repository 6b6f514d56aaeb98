// Scenarios in a real browser against the demo server, as a person starts it. Run by `cargo xtask e2e`, which builds
// everything and says where it is; run by hand it takes what `cargo xtask demo` last built.

import { defineConfig } from "@playwright/test";
import { mkdtempSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const target = resolve(import.meta.dirname, process.env.CARGO_TARGET_DIR ?? "../target");
const server = process.env.FLOTILLA_SERVER ?? join(target, "debug/flotilla-server");
const site = process.env.FLOTILLA_SITE ?? join(target, "site");

// This file is read again by every worker: what is chosen here is kept in the environment.
process.env.FLOTILLA_PORT ??= String(await freePort());
process.env.FLOTILLA_DATA ??= mkdtempSync(join(tmpdir(), "flotilla-e2e-"));
const port = process.env.FLOTILLA_PORT;
const address = `http://127.0.0.1:${port}`;

export default defineConfig({
  testDir: "scenarios",
  outputDir: "test-results",
  reporter: [["list"], ["html", { open: "never" }]],
  forbidOnly: !!process.env.CI,
  // One server, one story at a time: scenarios change the fleet that others look at.
  workers: 1,
  fullyParallel: false,
  retries: 0,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  use: {
    baseURL: address,
    actionTimeout: 15_000,
    trace: "retain-on-failure",
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath: process.env.FLOTILLA_CHROMIUM ?? "/usr/bin/chromium",
      args: [
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    },
  },
  webServer: {
    // What the server says goes to a file beside its folder: a failed scenario must not drown in it.
    command: `exec "${server}" demo --steady --listen 127.0.0.1:${port} --data "${process.env.FLOTILLA_DATA}" --site "${site}" > "${process.env.FLOTILLA_DATA}.log" 2>&1`,
    url: `${address}/readyz`,
    timeout: 60_000,
    reuseExistingServer: false,
    gracefulShutdown: { signal: "SIGTERM", timeout: 5_000 },
  },
});

function freePort(): Promise<number> {
  return new Promise((found, failed) => {
    const probe = createServer();
    probe.once("error", failed);
    probe.listen(0, "127.0.0.1", () => {
      const { port } = probe.address() as { port: number };
      probe.close(() => found(port));
    });
  });
}
