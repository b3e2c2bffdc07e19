import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import type { Page } from "@playwright/test";

const startLimit = 50_000;

/** The server's client for token introspection at the provider. */
const inspector = {
  client_id: "inspector",
  client_secret: "inspectors-secret",
  token_endpoint_auth_method: "client_secret_post",
  grant_types: [],
  response_types: [],
  redirect_uris: [],
};

/** An MCP server that only accepts tokens of its provider, a real OpenID provider. */
export interface OAuthUpstream {
  /** URL of its MCP endpoint. */
  url: string;
  /** Issuer URL of its provider. */
  issuer: string;
  /** Accepted access tokens. */
  tokens: Set<string>;
  /** Number of rejected requests. */
  refused: number;
  stop(): Promise<void>;
}

/** Options of an upstream. */
export interface Settings {
  /** Lifetime of access tokens in seconds. */
  ttl?: number;
  /** Whether clients may register themselves. */
  registers?: boolean;
  /** The port of the provider; 0 selects a free one. */
  port?: number;
  /** Preregistered clients. */
  clients?: object[];
}

/** Starts the server and its provider on ports that the system chooses. */
export async function startOAuthUpstream({ ttl = 3600, registers = true, port = 0, clients = [] }: Settings = {}): Promise<OAuthUpstream> {
  const upstream: OAuthUpstream = { url: "", issuer: "", tokens: new Set(), refused: 0, stop: async () => {} };
  const server = http.createServer((request, response) => void serve(upstream, request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  upstream.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;

  const env = {
    PATH: process.env.PATH,
    PORT: String(port),
    TTL: String(ttl),
    DCR: registers ? "1" : "0",
    RESOURCES: upstream.url,
    SCOPES: "mcp:read",
    CLIENTS: JSON.stringify([inspector, ...clients]),
  };
  const script = fileURLToPath(new URL("oidc-provider.mjs", import.meta.url));
  const provider = spawn(process.execPath, [script], { env, stdio: ["pipe", "pipe", "ignore"] });
  upstream.stop = async () => {
    server.closeAllConnections();
    server.close();
    if (provider.exitCode === null && provider.signalCode === null && provider.kill("SIGTERM")) await once(provider, "exit");
  };
  try {
    upstream.issuer = await ready(provider);
  } catch (failure) {
    await upstream.stop();
    throw failure;
  }
  return upstream;
}

/** Resolves to the issuer of the provider when it is ready. */
function ready(provider: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    const alarm = setTimeout(() => reject(new Error(`the provider was not ready after ${startLimit} ms`)), startLimit);
    provider.once("exit", (code) => reject(new Error(`the provider ended with ${code}`)));
    createInterface(provider.stdout!).on("line", (line) => {
      if (!line.startsWith("READY ")) return;
      clearTimeout(alarm);
      resolve(line.slice("READY ".length));
    });
  });
}

async function serve(upstream: OAuthUpstream, request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
  const metadata = "/.well-known/oauth-protected-resource/mcp";
  const answer = (status: number, body: object) => response.writeHead(status, { "Content-Type": "application/json" }).end(JSON.stringify(body));
  if (request.url === metadata) {
    answer(200, { resource: upstream.url, authorization_servers: [upstream.issuer], scopes_supported: ["mcp:read"] });
    return;
  }
  if (request.url !== "/mcp") {
    response.writeHead(404).end();
    return;
  }
  const token = (request.headers.authorization ?? "").replace(/^Bearer /, "");
  if (!token || !(await holds(upstream, token))) {
    upstream.refused++;
    response.writeHead(401, { "WWW-Authenticate": `Bearer resource_metadata="${new URL(metadata, upstream.url)}"` }).end();
    return;
  }
  upstream.tokens.add(token);
  if (request.method !== "POST") {
    response.writeHead(405).end();
    return;
  }
  let body = "";
  for await (const part of request) body += part;
  const { id, method, params } = JSON.parse(body);
  const result = (value: object) => answer(200, { jsonrpc: "2.0", id, result: value });
  switch (true) {
    case id === undefined:
      response.writeHead(202).end();
      break;
    case method === "initialize":
      result({ protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "guarded", version: "1.0.0" } });
      break;
    case method === "tools/list":
      result({ tools: [{ name: "echo", description: "Says what it is told.", inputSchema: { type: "object", properties: { text: { type: "string" } } } }] });
      break;
    case method === "tools/call":
      result({ content: [{ type: "text", text: String(params.arguments?.text) }] });
      break;
    default:
      answer(200, { jsonrpc: "2.0", id, error: { code: -32601, message: "unknown method" } });
  }
}

/** Reports whether a token is valid for the server, by introspection (RFC 7662). */
async function holds(upstream: OAuthUpstream, token: string): Promise<boolean> {
  const { client_id, client_secret } = inspector;
  const answer = await fetch(`${upstream.issuer}/token/introspection`, { method: "POST", body: new URLSearchParams({ token, client_id, client_secret }) });
  const { active, aud } = (await answer.json()) as { active?: boolean; aud?: string };
  return active === true && aud === upstream.url;
}

/**
 * Signs a user in at the provider and accepts every consent, until the
 * browser is back at the origin.
 */
export async function agree(page: Page, origin: string, email = "ada@example.com"): Promise<void> {
  for (let step = 0; step < 4 && new URL(page.url()).origin !== origin; step++) {
    const login = page.locator("input[name=login]");
    if (await login.count()) {
      await login.fill(email);
      await page.locator("input[name=password]").fill("any");
    }
    const before = page.url();
    await page.locator("button[type=submit]").first().click();
    await page.waitForURL((url) => url.href !== before, { waitUntil: "domcontentloaded" });
  }
}

/** Blocks requests to other machines, because the provider's forms load fonts. */
export async function stayHere(page: Page): Promise<void> {
  await page.route(
    (url) => url.hostname !== "127.0.0.1",
    (route) => route.abort(),
  );
}
