// Scenarios in a real browser against the demo server, as a user starts it. `cargo xtask e2e` builds everything, starts
// PostgreSQL and passes the paths in the environment; without it the last build of `cargo xtask demo` is used.

import { defineConfig } from "@playwright/test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PATIENCE } from "./scenarios/patience.js";

// The folder of the servers' data. Workers evaluate this file again and use the folder of the first evaluation.
process.env.FLOTILLA_DATA ??= mkdtempSync(join(tmpdir(), "flotilla-e2e-"));

export default defineConfig({
  testDir: "scenarios",
  outputDir: "test-results",
  reporter: [["list"], ["html", { open: "never" }]],
  forbidOnly: !!process.env.CI,
  // Scenarios change the fleet that they read: each file has its own server and runs one scenario at a time.
  workers: 2,
  fullyParallel: false,
  retries: 0,
  timeout: 3 * PATIENCE,
  expect: { timeout: PATIENCE },
  use: {
    actionTimeout: PATIENCE,
    // Recording slows scenarios down; `cargo xtask e2e --trace on` enables it.
    trace: "off",
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
});
