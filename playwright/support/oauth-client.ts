import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";

import type { Browser, Page } from "@playwright/test";

import type { Gateway } from "./gateway.ts";
import { expect, pageOf, program, type State } from "./signed-in.ts";

/** Adds a project whose clients use OAuth. */
export async function addOAuthProject(gateway: Gateway, slug: string): Promise<void> {
  const client = await program(gateway);
  const answer = await client.post("/api/projects", { data: { projectSlug: slug, name: `Project ${slug}`, authMode: "oauth" } });
  expect(answer.status(), await answer.text()).toBe(201);
  await client.dispose();
}

/** An authorization requested by a client. */
export interface Request {
  /** URL for the browser. */
  url: string;
  clientID: string;
  redirect: string;
  state: string;
  verifier: string;
}

/** Registered clients by gateway, name and kind of redirect URI. Registrations per hour are limited. */
const registered = new Map<string, string>();

/**
 * Returns the request of a client to use a project. The client registers
 * itself, as MCP clients do, once for all ports of this computer.
 */
export async function requestAccess(gateway: Gateway, slug: string, redirect: string, name = "Notebook"): Promise<Request> {
  const kind = [gateway.url, name, redirect.replace(/:\d+/, "")].join(" ");
  if (!registered.has(kind)) {
    const answer = await fetch(`${gateway.url}/oauth/register`, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ client_name: name, redirect_uris: [redirect], grant_types: ["authorization_code", "refresh_token"], token_endpoint_auth_method: "none" }),
    });
    expect(answer.status, await answer.clone().text()).toBe(201);
    registered.set(kind, ((await answer.json()) as { client_id: string }).client_id);
  }
  const clientID = registered.get(kind)!;
  return { ...beginAgain(gateway, slug, clientID, redirect), clientID, redirect };
}

/** Returns another request of a registered client. */
export function beginAgain(gateway: Gateway, slug: string, clientID: string, redirect: string): Pick<Request, "url" | "state" | "verifier"> {
  const [state, verifier] = [randomBytes(16).toString("base64url"), randomBytes(32).toString("base64url")];
  const url = new URL("/oauth/authorize", gateway.url);
  url.search = new URLSearchParams({
    response_type: "code",
    client_id: clientID,
    redirect_uri: redirect,
    state,
    code_challenge: createHash("sha256").update(verifier).digest("base64url"),
    code_challenge_method: "S256",
    scope: "mcp:read mcp:call",
    resource: endpoint(gateway, slug),
  }).toString();
  return { url: url.href, state, verifier };
}

/** Exchanges the code of a response for an access token. */
export async function redeem(gateway: Gateway, request: Request, answer: URL): Promise<string> {
  expect(answer.searchParams.get("state")).toBe(request.state);
  expect(answer.searchParams.get("iss")).toBe(gateway.url);
  const granted = await fetch(`${gateway.url}/oauth/token`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "authorization_code",
      code: answer.searchParams.get("code")!,
      redirect_uri: request.redirect,
      client_id: request.clientID,
      code_verifier: request.verifier,
    }),
  });
  expect(granted.status, await granted.clone().text()).toBe(200);
  return ((await granted.json()) as { access_token: string }).access_token;
}

/** Lists the tools of a project with a token and returns the HTTP status. */
export async function listTools(gateway: Gateway, slug: string, token: string): Promise<number> {
  const answer = await fetch(endpoint(gateway, slug), {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" }),
  });
  await answer.text();
  return answer.status;
}

export function endpoint(gateway: Gateway, slug: string): string {
  return `${gateway.url}/v1/mcp/${slug}/request`;
}

/** A client that receives the response on a port of this computer, and pages of another origin. */
export interface Listener {
  origin: string;
  /** The redirect URI. */
  redirect: string;
  /** Every received response. */
  answers: URL[];
  /** The page that it serves at /, on another origin. */
  page: string;
  stop(): void;
}

export async function listen(): Promise<Listener> {
  const listener: Listener = { origin: "", redirect: "", answers: [], page: "", stop: () => {} };
  const server = http.createServer((request, response) => {
    response.setHeader("Content-Type", "text/html");
    if (request.url!.startsWith("/callback")) {
      listener.answers.push(new URL(request.url!, listener.origin));
      response.end("<!doctype html><title>Client</title><p>You may close this window.");
      return;
    }
    response.end(request.url === "/" ? listener.page : "");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  listener.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  listener.redirect = `${listener.origin}/callback`;
  listener.stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return listener;
}

/** Opens a user's page that may navigate away from the gateway, and collects violations of its content security policy. */
export async function roamingPage(browser: Browser, gateway: Gateway, state: State): Promise<{ page: Page; violations: string[] }> {
  const page = await pageOf(browser, gateway, state);
  const violations: string[] = [];
  // Violations during navigation only appear on the console.
  page.on("console", (message) => {
    if (message.text().includes("Content Security Policy")) violations.push(message.text());
  });
  return { page, violations };
}
