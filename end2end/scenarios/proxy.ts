// A TCP proxy in front of the database that a scenario can cut.

import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** Forwards connections on a port of its own to another port of this machine. */
export class Proxy {
  private readonly sockets = new Set<Socket>();
  private isCut = false;

  private constructor(
    private readonly server: Server,
    private readonly target: number,
  ) {}

  /** Starts a proxy in front of this port of 127.0.0.1. */
  static async start(target: number): Promise<Proxy> {
    const server = createServer();
    const proxy = new Proxy(server, target);
    server.on("connection", (client) => proxy.forward(client));
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return proxy;
  }

  /** The port to connect to. */
  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Ends all connections and closes new ones at once. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  /** Forwards new connections again. */
  restore(): void {
    this.isCut = false;
  }

  /** Ends all connections and stops listening. */
  async stop(): Promise<void> {
    this.cut();
    const closed = once(this.server, "close");
    this.server.close();
    await closed;
  }

  private forward(client: Socket): void {
    if (this.isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(this.target, "127.0.0.1");
    for (const [socket, other] of [[client, upstream], [upstream, client]] as const) {
      this.sockets.add(socket);
      socket.on("error", () => other.destroy());
      socket.on("close", () => {
        this.sockets.delete(socket);
        other.destroy();
      });
      socket.pipe(other);
    }
  }
}
