// An agent as a program of its own, with the rights that the manifests of the join page grant.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { join, resolve } from "node:path";

const AGENT = process.env.FLOTILLA_AGENT ?? resolve(import.meta.dirname, "../../target/debug/flotilla-agent");

/** The value of a variable of the agent's Deployment. */
function variable(manifests: string, name: string): string {
  const value = manifests.match(new RegExp(`name"?: "?${name}"?,?\\s+"?value"?: "?([^"\\s]+)`))?.[1];
  if (value === undefined) throw new Error(`the manifests do not set ${name}`);
  return value;
}

/** Starts the agent of these manifests with this kubeconfig, in place of its pod. Returns what ends it. */
export function startAgent(folder: string, manifests: string, kubeconfig: string): () => Promise<void> {
  const log = openSync(join(folder, "agent.log"), "w");
  const env = {
    ...process.env,
    FLOTILLA_HUB: variable(manifests, "FLOTILLA_HUB"),
    FLOTILLA_CLUSTER: variable(manifests, "FLOTILLA_CLUSTER"),
    FLOTILLA_JOIN_TOKEN: manifests.match(/flj_\w+/)?.[0],
  };
  const args = ["run", "--registries", "off", "--namespace", "flotilla-agent", "--kubeconfig", kubeconfig];
  const child = spawn(AGENT, args, { stdio: ["ignore", log, log], env });
  closeSync(log);
  return async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await ended;
  };
}
