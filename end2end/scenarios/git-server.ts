// A Git server with real repositories: `git http-backend` behind a small HTTP server.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo } from "node:net";
import { dirname, join } from "node:path";

/** A repository with a branch `main` that is served over HTTP. */
export class GitServer {
  private constructor(
    private readonly server: Server,
    private readonly folder: string,
  ) {}

  /** Starts a server for one empty repository below this folder. */
  static async start(folder: string): Promise<GitServer> {
    const repository = join(folder, "deploy");
    mkdirSync(repository, { recursive: true });
    execFileSync("git", ["init", "-q", "-b", "main", repository]);
    const server = createServer((request, response) => answer(folder, request, response));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return new GitServer(server, repository);
  }

  /** Its URL. */
  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/deploy`;
  }

  /** Writes a file and commits it. */
  commit(path: string, text: string, message: string): void {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    this.git("add", ".");
    this.git("-c", "user.name=Ann", "-c", "user.email=ann@example.com", "commit", "-q", "-m", message);
  }

  /** The first digits of the newest commit. */
  tip(): string {
    return this.git("rev-parse", "HEAD").slice(0, 8);
  }

  /** Ends the server. */
  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  private git(...args: string[]): string {
    return execFileSync("git", ["-C", this.folder, ...args], { encoding: "utf8" });
  }
}

/** Runs `git http-backend` for a request, as a CGI program. */
function answer(root: string, request: IncomingMessage, response: ServerResponse): void {
  const [path = "", query = ""] = (request.url ?? "").split("?");
  const header = (name: string): string => String(request.headers[name] ?? "");
  const env = {
    ...process.env,
    GIT_PROJECT_ROOT: root,
    GIT_HTTP_EXPORT_ALL: "1",
    GIT_PROTOCOL: header("git-protocol"),
    PATH_INFO: path,
    QUERY_STRING: query,
    REQUEST_METHOD: request.method ?? "GET",
    CONTENT_TYPE: header("content-type"),
    CONTENT_LENGTH: header("content-length"),
    HTTP_CONTENT_ENCODING: header("content-encoding"),
  };
  const backend = spawn("git", ["http-backend"], { env, stdio: ["pipe", "pipe", "inherit"] });
  request.pipe(backend.stdin);
  const chunks: Buffer[] = [];
  backend.stdout.on("data", (chunk: Buffer) => chunks.push(chunk));
  backend.on("close", () => {
    const output = Buffer.concat(chunks);
    const end = output.indexOf("\r\n\r\n");
    for (const line of output.subarray(0, end).toString().split("\r\n")) {
      const [name = "", value = ""] = line.split(": ");
      if (name === "Status") response.statusCode = Number.parseInt(value, 10);
      else response.setHeader(name, value);
    }
    response.end(output.subarray(end + 4));
  });
}
