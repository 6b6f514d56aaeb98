// The server under test: the demo as a user starts it. Every worker has its own, so that scenarios do not disturb each other.

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
export class Demo {
  #address = "";

  private constructor(
    private readonly folder: string,
    private readonly child: ChildProcess,
  ) {}

  /** Starts a server with a folder of this name; its output goes to a file beside the folder. */
  static async start(name: string): Promise<Demo> {
    const folder = join(DATA, name);
    mkdirSync(folder, { recursive: true });
    const log = openSync(`${folder}.log`, "w");
    const args = ["demo", "--no-outages", "--listen", "127.0.0.1:0", "--data", folder, "--assets", SITE];
    const env = { ...process.env, FLOTILLA_STOP_FILE: stopFile(folder) };
    const child = spawn(SERVER, args, { stdio: ["ignore", log, log], env });
    closeSync(log);
    const demo = new Demo(folder, child);
    demo.#address = await demo.ready();
    return demo;
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
      const address = readFileSync(`${this.folder}.log`, "utf8").match(/ready at (http:\/\/[^\s/]+)\/?\s/)?.[1];
      const response = address && (await fetch(`${address}/readyz`).catch(() => undefined));
      if (address && response && response.ok) return address;
      await new Promise((done) => setTimeout(done, 100));
    }
    await this.stop();
    throw new Error(`the demo server did not start; see ${this.folder}.log`);
  }
}
