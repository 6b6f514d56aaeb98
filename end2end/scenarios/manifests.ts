// The manifests that a command of the join page installs.

import { execFileSync } from "node:child_process";

/** Runs a pasted command up to the pipe, as a shell does, and returns what `kubectl` would get. */
export function readManifests(line: string): string {
  const [curl] = line.split(" | kubectl ");
  return execFileSync("/bin/sh", ["-c", curl!], { encoding: "utf8", timeout: 30_000 });
}
