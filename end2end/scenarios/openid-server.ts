// A provider of OpenID Connect that signs every browser in as the same user.

import { createHash, generateKeyPairSync, randomUUID, sign, type KeyObject } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { type AddressInfo } from "node:net";

/** The client that the provider knows. */
export const CLIENT_ID = "flotilla";
export const CLIENT_SECRET = "not-a-secret";

/** How this client authenticates at the token endpoint. */
const CLIENT_AUTHORIZATION = `Basic ${Buffer.from(`${CLIENT_ID}:${CLIENT_SECRET}`).toString("base64")}`;

/** Whom a code was issued for. */
interface IssuedCode {
  nonce: string;
  challenge: string;
}

/** A provider whose user has this name and these groups. */
export class OpenIdServer {
  groups: string[] = [];
  userName = "carol";
  private readonly codes = new Map<string, IssuedCode>();

  private constructor(
    private readonly server: Server,
    private readonly privateKey: KeyObject,
    private readonly publicKey: KeyObject,
  ) {}

  /** Starts a provider. */
  static async start(): Promise<OpenIdServer> {
    const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
    const server = createServer();
    const provider = new OpenIdServer(server, privateKey, publicKey);
    server.on("request", (request: IncomingMessage, response: ServerResponse) => void provider.answer(request, response));
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    return provider;
  }

  /** Its issuer. */
  get issuer(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Ends the provider. */
  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((done) => this.server.close(done));
  }

  /** A token that ends the sessions of the user. */
  logoutToken(): string {
    return this.token({ jti: randomUUID(), events: { "http://schemas.openid.net/event/backchannel-logout": {} } });
  }

  private token(claims: object): string {
    const now = Math.floor(Date.now() / 1_000);
    const text = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const header = text({ alg: "ES256", kid: "k1" });
    const payload = text({ iss: this.issuer, aud: CLIENT_ID, sub: "248", iat: now, exp: now + 300, ...claims });
    const message = `${header}.${payload}`;
    const signature = sign("sha256", Buffer.from(message), { key: this.privateKey, dsaEncoding: "ieee-p1363" });
    return `${message}.${signature.toString("base64url")}`;
  }

  private async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", this.issuer);
    const json = (body: object, status = 200): void => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
    };
    switch (url.pathname) {
      case "/.well-known/openid-configuration":
        return json({
          issuer: this.issuer,
          authorization_endpoint: `${this.issuer}/authorize`,
          token_endpoint: `${this.issuer}/token`,
          jwks_uri: `${this.issuer}/keys`,
        });
      case "/keys":
        return json({ keys: [{ ...this.publicKey.export({ format: "jwk" }), kid: "k1", use: "sig" }] });
      case "/authorize": {
        const query = url.searchParams;
        const code = randomUUID();
        this.codes.set(code, { nonce: query.get("nonce") ?? "", challenge: query.get("code_challenge") ?? "" });
        const back = new URL(query.get("redirect_uri") ?? "");
        back.searchParams.set("code", code);
        back.searchParams.set("state", query.get("state") ?? "");
        response.writeHead(302, { location: back.href }).end();
        return;
      }
      case "/token":
        if (request.headers.authorization !== CLIENT_AUTHORIZATION) return json({ error: "invalid_client" }, 401);
        return this.exchange(new URLSearchParams(await readBody(request)), json);
      default:
        return json({}, 404);
    }
  }

  private exchange(form: URLSearchParams, json: (body: object, status?: number) => void): void {
    const code = this.codes.get(form.get("code") ?? "");
    this.codes.delete(form.get("code") ?? "");
    const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url");
    const isRenewal = form.get("grant_type") === "refresh_token";
    if (!isRenewal && code?.challenge !== challenge) return json({ error: "invalid_grant" }, 400);
    const claims = { nonce: code?.nonce, groups: this.groups, preferred_username: `${this.userName}@example.com` };
    return json({ token_type: "Bearer", access_token: "a", refresh_token: "r", id_token: this.token(claims) });
  }
}

async function readBody(request: IncomingMessage): Promise<string> {
  let body = "";
  for await (const part of request) body += String(part);
  return body;
}
