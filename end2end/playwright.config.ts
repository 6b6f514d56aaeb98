// Scenarios in a real browser against the demo server, as a person starts it. Run by `cargo xtask e2e`, which builds
// everything and says where it is; run by hand it takes what `cargo xtask demo` last built.

import { defineConfig } from "@playwright/test";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

// Where the servers keep their data. Workers read this file again and find here what was chosen first.
process.env.FLOTILLA_DATA ??= mkdtempSync(join(tmpdir(), "flotilla-e2e-"));

export default defineConfig({
  testDir: "scenarios",
  outputDir: "test-results",
  reporter: [["list"], ["html", { open: "never" }]],
  forbidOnly: !!process.env.CI,
  // Scenarios change the fleet that they look at: each worker has a server of its own, and tells one story at a time.
  workers: 2,
  fullyParallel: false,
  retries: 0,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  use: {
    actionTimeout: 15_000,
    // Recording takes a good part of the time. Whoever looks for a fault asks for it: `cargo xtask e2e --trace on`.
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
