import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { request } from "@playwright/test";

import { type Gateway } from "./gateway.ts";
import { addPerson, addProject, expect, program, send, signIn, type Account, type State } from "./signed-in.ts";

/** A person who may not add servers. */
export const mia: Account = { email: "mia@example.com", name: "Mia Member", password: "some quiet words here" };

/** A site with files of the catalog. */
export interface Site {
  url(name: string): string;
  /** Sets the rows of a file. */
  serve(name: string, rows: object[]): void;
  stop(): Promise<void>;
}

/** Starts a site without files. */
export async function startSite(): Promise<Site> {
  const files = new Map<string, object[]>();
  const server = createServer((request, response) => {
    const rows = files.get(request.url!.slice(1));
    if (!rows) return void response.writeHead(404).end();
    response.setHeader("Content-Type", "application/json").end(JSON.stringify({ version: 1, items: rows }));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  return {
    url: (name) => `http://127.0.0.1:${port}/${name}`,
    serve: (name, rows) => void files.set(name, rows),
    stop: () =>
      new Promise<void>((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

/** Returns n rows of a publisher. */
export function rowsOf(publisher: string, n: number, more: object = {}): object[] {
  const names = ["orders", "invoices", "returns", "shipping", "stock", "prices", "coupons", "reviews", "suppliers", "payroll"];
  return names.slice(0, n).map((name) => ({
    publisherName: publisher, publisherTitle: "Example", serverName: name, serverTitle: name[0].toUpperCase() + name.slice(1), serverType: "http", authType: "oauth",
    remoteUrl: `https://${name}.${publisher}.example.com/mcp`, description: `Reads and changes ${name}.`, tags: ["commerce"], ...more,
  }));
}

/** What the catalog of a gateway has for the tests of its pages. */
export interface World {
  site: Site;
  /** The ID of a source whose last sync waits for approval. */
  source: string;
  /** The ID of a row that its source changed. */
  row: string;
  member: State;
}

/** Returns the ID of a row by the name publisher/server. */
export async function rowID(gateway: Gateway, name: string): Promise<string> {
  const [publisher, server] = name.split("/");
  const client = await program(gateway);
  const { items } = await (await client.get("/api/registry", { params: { publisher, limit: 1000 } })).json();
  await client.dispose();
  const found = items.find((item: { serverName: string }) => item.serverName === server);
  expect(found, name).toBeDefined();
  return found.id;
}

/**
 * Fills the catalog: a published project with a toolset, a source whose sync waits,
 * a list and a query, a key, and requests in every state.
 */
export async function furnish(gateway: Gateway): Promise<World> {
  const site = await startSite();
  await addProject(gateway, "support", {}, { name: "Customer support", description: "Orders, refunds and tickets.", published: true });
  await send(gateway, "POST", "/api/projects/support/toolsets", { slug: "reader", name: "Reader", query: "readonly:true" });
  const person = await addPerson(gateway, mia, "member");
  await send(gateway, "POST", "/api/projects/support/access", { personId: person, toolset: null, role: "use" });

  const rows = rowsOf("example", 10);
  site.serve("shop.json", [...rows, { ...rows[0], serverName: "orders-eu", serverTitle: "Orders EU" }]);
  const { id: source } = await send(gateway, "POST", "/api/catalog/sources", { kind: "file", name: "Shop", url: site.url("shop.json") });
  await send(gateway, "POST", `/api/catalog/sources/${source}/run`);
  site.serve("shop.json", [{ ...rows[0], description: "Finds, changes and cancels orders." }, ...rows.slice(1), { ...rows[0], serverName: "orders-eu", serverTitle: "Orders EU" }]);
  await send(gateway, "POST", `/api/catalog/sources/${source}/run`);
  site.serve("shop.json", rows.slice(0, 6));
  expect((await send(gateway, "POST", `/api/catalog/sources/${source}/run`)).held).toBe(true);

  await send(gateway, "POST", "/api/catalog/views", { name: "engineering", title: "Engineering", kind: "list", gated: true });
  for (const name of ["github/github", "linear/linear", "example/orders"]) {
    await send(gateway, "PUT", `/api/catalog/views/engineering/entries/${await rowID(gateway, name)}`);
  }
  await send(gateway, "POST", "/api/catalog/views", { name: "databases", title: "Databases", kind: "query", query: "tag:database verified:true" });
  await send(gateway, "POST", "/api/catalog/views", { name: "new-list", title: "New list", kind: "list" });
  await send(gateway, "POST", "/api/catalog/keys", { name: "Editors of engineering" });

  const member = await signIn(gateway, mia);
  for (const [name, reason] of [["stripe/stripe", "Refunds are done by hand."], ["sentry/sentry", "To look up errors of the shop from tickets."], ["notion/notion", "The handbook of the team is there."]]) {
    await ask(gateway, member, await rowID(gateway, name), reason);
  }
  const { items } = await read(gateway, "/api/catalog/requests");
  await send(gateway, "POST", `/api/catalog/requests/${items.find(({ entryName }: { entryName: string }) => entryName === "notion/notion").id}/refuse`, { answer: "The handbook moves to another place next month." });
  return { site, source, row: await rowID(gateway, "example/orders"), member };
}

/** Returns the response of a GET of the API. */
export async function read(gateway: Gateway, path: string): Promise<any> {
  const client = await program(gateway);
  const answer = await client.get(path);
  expect(answer.ok(), path).toBe(true);
  const body = await answer.json();
  await client.dispose();
  return body;
}

/** Requests a row for a person. */
async function ask(gateway: Gateway, member: State, entry: string, reason: string): Promise<void> {
  const client = await request.newContext({ baseURL: gateway.url, storageState: member });
  const page = await (await client.get("/me/requests")).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(page)![1];
  const answer = await client.post("/me/requests", { form: { csrf, entry, reason, project: "support" }, headers: { "Sec-Fetch-Site": "same-origin" }, maxRedirects: 0 });
  expect(answer.status(), await answer.text()).toBe(303);
  await client.dispose();
}
