// A mail server that accepts everything: as much of SMTP as the console's server speaks, without TLS.

import { createServer, type AddressInfo, type Server, type Socket } from "node:net";

/** A mail server on 127.0.0.1. */
export class MailServer {
  /** The messages so far, headers included. */
  readonly messages: string[] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {}

  /** Starts a server. */
  static async start(): Promise<MailServer> {
    const server = createServer();
    const mail = new MailServer(server);
    server.on("connection", (socket) => mail.serve(socket));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return mail;
  }

  /** Its port. */
  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Ends the server. */
  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((done) => this.server.close(done));
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.on("close", () => this.sockets.delete(socket));
    // A client may close the connection at any time.
    socket.on("error", () => socket.destroy());
    socket.write("220 localhost\r\n");
    let pending = "";
    let message: string[] | undefined;
    socket.setEncoding("utf8");
    socket.on("data", (part) => {
      const lines = (pending + part.toString()).split("\r\n");
      pending = lines.pop() ?? "";
      for (const line of lines) {
        if (message && line !== ".") {
          message.push(line);
        } else if (message) {
          this.messages.push(message.join("\n"));
          message = undefined;
          socket.write("250 accepted\r\n");
        } else if (line === "DATA") {
          message = [];
          socket.write("354 go\r\n");
        } else {
          socket.write("250 ok\r\n");
        }
      }
    });
  }
}
