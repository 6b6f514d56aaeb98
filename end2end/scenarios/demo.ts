// The server that scenarios look at: the demo as a person starts it. Every worker has its own, so that what one story does
// to its fleet disturbs no other.

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join, resolve } from "node:path";

const target = resolve(import.meta.dirname, "../..", process.env.CARGO_TARGET_DIR ?? "target");
const SERVER = process.env.FLOTILLA_SERVER ?? join(target, "debug/flotilla-server");
const SITE = process.env.FLOTILLA_SITE ?? join(target, "site");
const DATA = process.env.FLOTILLA_DATA!;

/** A minute to start, also while the machine does something else. */
const START_MILLIS = 60_000;

/** A server that runs. */
export class Demo {
  private constructor(
    readonly address: string,
    private readonly folder: string,
    private readonly child: ChildProcess,
  ) {}

  /** Starts one with a folder of this name; what it says goes to a file beside the folder. */
  static async start(name: string): Promise<Demo> {
    const folder = join(DATA, name);
    mkdirSync(folder, { recursive: true });
    const port = await freePort();
    const said = openSync(`${folder}.log`, "w");
    const args = ["demo", "--steady", "--listen", `127.0.0.1:${port}`, "--data", folder, "--site", SITE];
    const child = spawn(SERVER, args, { stdio: ["ignore", said, said] });
    closeSync(said);
    const demo = new Demo(`http://127.0.0.1:${port}`, folder, child);
    await demo.ready();
    return demo;
  }

  /** The demo keeps the password of its person in its folder. */
  password(): string {
    return readFileSync(join(this.folder, "password"), "utf8").trim();
  }

  /** Asks it to end, and waits until it has. */
  async stop(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const ended = once(this.child, "exit");
    this.child.kill("SIGTERM");
    const late = setTimeout(() => this.child.kill("SIGKILL"), 5_000);
    await ended;
    clearTimeout(late);
  }

  private async ready(): Promise<void> {
    for (const deadline = Date.now() + START_MILLIS; Date.now() < deadline; ) {
      if (this.child.exitCode !== null) break;
      const answer = await fetch(`${this.address}/readyz`).catch(() => undefined);
      if (answer?.ok) return;
      await new Promise((done) => setTimeout(done, 100));
    }
    await this.stop();
    throw new Error(`the demo server did not start; ${this.folder}.log says why`);
  }
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as AddressInfo;
  probe.close();
  return port;
}
