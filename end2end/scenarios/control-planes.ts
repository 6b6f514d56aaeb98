// Real control planes: etcd, kube-apiserver and the controllers, without kubelets; kwok runs the pods.

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface, type Interface } from "node:readline";

interface Kubeconfig {
  clusters: { name: string; cluster: object }[];
  users: { name: string; user: object }[];
  contexts: { name: string; context: object }[];
}

function required(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set; \`cargo xtask e2e\` sets it`);
  return value;
}

/** Some control planes, by number. */
export class ControlPlanes {
  private constructor(
    private readonly child: ChildProcess,
    private readonly lines: Interface,
    private readonly kubeconfigs: string[],
  ) {}

  /** Starts this many. */
  static async start(count: number): Promise<ControlPlanes> {
    const child = spawn(required("FLOTILLA_CONTROL_PLANES"), [String(count)], { stdio: ["pipe", "pipe", "inherit"] });
    const lines = createInterface({ input: child.stdout! });
    const [first] = (await once(lines, "line")) as [string];
    return new ControlPlanes(child, lines, JSON.parse(first) as string[]);
  }

  /** Writes one kubeconfig with a context for each of them. */
  writeKubeconfig(folder: string, names: string[]): string {
    const all = this.kubeconfigs.map((path) => JSON.parse(readFileSync(path, "utf8")) as Kubeconfig);
    const named = <T>(list: (one: Kubeconfig) => T[]): T[] => all.map((one, n) => ({ ...list(one)[0]!, name: names[n]! }));
    const merged = {
      apiVersion: "v1",
      kind: "Config",
      clusters: named((one) => one.clusters),
      users: named((one) => one.users),
      contexts: names.map((name) => ({ name, context: { cluster: name, user: name } })),
      "current-context": names[0],
    };
    const path = join(folder, "kubeconfig");
    writeFileSync(path, JSON.stringify(merged));
    return path;
  }

  /** The data of a ConfigMap as kubectl reads it; undefined if it does not exist. */
  configMap(number: number, namespace: string, name: string): Record<string, string> | undefined {
    const text = this.kubectl(number, ["-n", namespace, "get", "configmap", name, "-o", "json", "--ignore-not-found"]);
    return text.trim() === "" ? undefined : (JSON.parse(text) as { data: Record<string, string> }).data;
  }

  /** Applies manifests with kubectl. */
  apply(number: number, manifests: string): void {
    this.kubectl(number, ["apply", "-f", "-"], manifests);
  }

  /** Writes a kubeconfig with the rights of a service account. */
  writeServiceAccountKubeconfig(number: number, namespace: string, account: string, path: string): string {
    const token = this.kubectl(number, ["-n", namespace, "create", "token", account]).trim();
    const kubeconfig = JSON.parse(readFileSync(this.kubeconfigs[number]!, "utf8")) as Kubeconfig;
    writeFileSync(path, JSON.stringify({ ...kubeconfig, users: kubeconfig.users.map(({ name }) => ({ name, user: { token } })) }));
    return path;
  }

  private kubectl(number: number, args: string[], input?: string): string {
    const program = join(required("FLOTILLA_KUBE_BIN"), "kubectl");
    return execFileSync(program, ["--kubeconfig", this.kubeconfigs[number]!, ...args], { encoding: "utf8", input });
  }

  /** Installs a packed chart with Helm itself. */
  installChart(number: number, namespace: string, release: string, chart: string, set: string): void {
    const args = ["install", release, chart, "--kubeconfig", this.kubeconfigs[number]!, "-n", namespace, "--create-namespace", "--set", set];
    execFileSync(required("FLOTILLA_HELM"), args, { encoding: "utf8" });
  }

  /** Ends the API server of one. */
  async stopServer(number: number): Promise<void> {
    await this.send(`stop ${number}`);
  }

  /** Starts the API server of one again. */
  async startServer(number: number): Promise<void> {
    await this.send(`start ${number}`);
  }

  /** Ends all of them. */
  async stop(): Promise<void> {
    const ended = once(this.child, "exit");
    this.child.stdin!.end();
    await ended;
  }

  private async send(command: string): Promise<void> {
    const answer = once(this.lines, "line");
    this.child.stdin!.write(`${command}\n`);
    await answer;
  }
}
