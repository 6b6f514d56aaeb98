// The servers under test, as a user starts them. Every file of scenarios has a demo of its own, so that what one file leaves
// behind, such as a second revision of a workload, changes nothing for another, whichever worker runs them.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";

const target = resolve(import.meta.dirname, "../..", process.env.CARGO_TARGET_DIR ?? "target");
const SERVER = process.env.FLOTILLA_SERVER ?? join(target, "debug/flotilla-server");
const SITE = process.env.FLOTILLA_ASSETS ?? join(target, "site");
const DATA = process.env.FLOTILLA_DATA!;

/** A minute to start, because the machine may be busy. */
const START_MILLIS = 60_000;

/** The file that names the point where the server stops. */
function stopFile(folder: string): string {
  return `${folder}.stop`;
}

/** A running server. */
export class Server {
  #address = "";

  private constructor(
    private readonly folder: string,
    private readonly args: string[],
    private child: ChildProcess,
  ) {}

  /** Starts the demo with a folder of this name, and waits until its workload is healthy; its output goes to a file beside the folder. */
  static async startDemo(name: string, ...options: string[]): Promise<Server> {
    const folder = join(DATA, name);
    const server = await Server.start(folder, ["demo", "--no-outages", "--data", folder, ...options]);
    await server.healthy("lighthouse");
    return server;
  }

  /** Starts a server without clusters on this database; its output goes to a file of this name. */
  static async startOn(name: string, database: string): Promise<Server> {
    return Server.start(join(DATA, name), ["serve", "--database", database]);
  }

  /** Starts a server with a new database and the clusters of this kubeconfig. */
  static async startWith(name: string, kubeconfig: string): Promise<Server> {
    const folder = join(DATA, name);
    return Server.start(folder, ["serve", "--data", folder, "--kubeconfig", kubeconfig]);
  }

  /** Starts a server with a new database, to which agents can connect. */
  static async startForAgents(name: string): Promise<Server> {
    const folder = join(DATA, name);
    return Server.start(folder, ["serve", "--data", folder, "--agent-listen", "127.0.0.1:0"]);
  }

  private static async start(folder: string, args: string[]): Promise<Server> {
    mkdirSync(folder, { recursive: true });
    const server = new Server(folder, args, Server.launch(folder, args, "127.0.0.1:0"));
    server.#address = await server.ready();
    return server;
  }

  /** Starts a process that listens on this address. */
  private static launch(folder: string, args: string[], listen: string): ChildProcess {
    const log = openSync(`${folder}.log`, "w");
    // Without FLOTILLA_DATA, which is the folder of all servers here and the database of one in the server's own arguments.
    const { FLOTILLA_DATA: _, ...inherited } = process.env;
    // A database in PostgreSQL has no key beside it.
    const key = args.includes("--database") ? { FLOTILLA_KEY: `flotilla-key-1:${"A".repeat(43)}` } : {};
    const env = { ...inherited, ...key, FLOTILLA_STOP_FILE: stopFile(folder) };
    const web = ["--listen", listen, "--assets", SITE];
    const child = spawn(SERVER, [...args, ...web], { cwd: folder, stdio: ["ignore", log, log], env });
    closeSync(log);
    return child;
  }

  /** Starts a server that was stopped again, with its data and on the same address. */
  async startAgain(): Promise<void> {
    this.child = Server.launch(this.folder, this.args, new URL(this.#address).host);
    this.#address = await this.ready();
  }

  /** The page on which the first user signs up, with the token that the server printed. */
  setupAddress(): string {
    const address = this.log().match(/at (http:\S+\/setup\?token=\S+)/)?.[1];
    if (address === undefined) throw new Error(`${this.folder}.log contains no set-up token`);
    return address;
  }

  /** The password of the demo's user, which the server stores in its folder. */
  password(): string {
    return readFileSync(join(this.folder, "password"), "utf8").trim();
  }

  /** Lets the server stop, as with SIGSTOP, when it next comes to this point. */
  armStop(point: "publish.before_commit"): void {
    writeFileSync(stopFile(this.folder), point);
  }

  /** Whether the server has come to the point and does nothing. */
  hasStopped(): boolean {
    if (existsSync(stopFile(this.folder))) return false;
    const state = readFileSync(`/proc/${this.child.pid}/stat`, "utf8").split(") ")[1];
    return state !== undefined && state.startsWith("T");
  }

  /** Continues a server that has stopped. */
  resume(): void {
    this.child.kill("SIGCONT");
  }

  /** Sends SIGTERM and waits for the end; SIGKILL after five seconds. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, "exit");
    this.child.kill("SIGTERM");
    const killer = setTimeout(() => this.child.kill("SIGKILL"), 5_000);
    await ended;
    clearTimeout(killer);
  }

  /** The address of the server, which chooses its port. */
  get address(): string {
    return this.#address;
  }

  /** Waits until the server has printed its address and is ready. */
  private async ready(): Promise<string> {
    for (const deadline = Date.now() + START_MILLIS; Date.now() < deadline; ) {
      if (this.child.exitCode !== null) break;
      const address = this.log().match(/ready at (http:\/\/[^\s/]+)\/?\s/)?.[1];
      const response = address && (await fetch(`${address}/readyz`).catch(() => undefined));
      if (address && response && response.ok) return address;
      await new Promise((done) => setTimeout(done, 100));
    }
    await this.stop();
    throw new Error(`the server did not start; see ${this.folder}.log`);
  }

  /** Waits until all releases of a workload are healthy. */
  private async healthy(workload: string): Promise<void> {
    const token = readFileSync(join(this.folder, "cli.env"), "utf8").match(/FLOTILLA_TOKEN=(\S+)/)![1];
    const path = `${this.address}/api/v1/projects/default/workloads/${workload}/releases`;
    for (const deadline = Date.now() + START_MILLIS; Date.now() < deadline; ) {
      const response = await fetch(path, { headers: { authorization: `Bearer ${token}` } });
      if (!response.ok) throw new Error(`${path} answers ${response.status}`);
      const { items } = (await response.json()) as { items: { state: string }[] };
      if (items.length > 0 && items.every((release) => release.state === "Healthy")) return;
      await new Promise((done) => setTimeout(done, 100));
    }
    await this.stop();
    throw new Error(`${workload} did not become healthy; see ${this.folder}.log`);
  }

  private log(): string {
    return readFileSync(`${this.folder}.log`, "utf8");
  }
}
