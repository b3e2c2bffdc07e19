import { request, type APIRequestContext, type Browser, type BrowserContextOptions, type Page } from "@playwright/test";

import { type Gateway, ofOneWorker, startGateway } from "./gateway.ts";
import { expect, test as base } from "./test.ts";

export { expect };

/** Cookies of a browser, as Playwright stores them. */
export type State = Awaited<ReturnType<APIRequestContext["storageState"]>>;

/** The administration token of every gateway of the tests. */
export const adminToken = "administration-token-of-the-tests";

/** A user with an account. */
export interface Account {
  email: string;
  name: string;
  password: string;
}

/** The first administrator of every gateway of the tests. */
export const ada: Account = { email: "ada@example.com", name: "Ada Admin", password: "four quiet words here" };

/** A user with read access only. */
export const vera: Account = { email: "vera@example.com", name: "Vera Viewer", password: "other quiet words here" };

/** Starts a gateway with an empty database and without an administrator. */
export function startEmptyGateway(env: Record<string, string> = {}): Promise<Gateway> {
  return startGateway({ demo: false, env: { GATEWAY_ADMIN_TOKEN: adminToken, ...env } });
}

/** Posts forms as the pages of the gateway do. */
const ownPage = { "Sec-Fetch-Site": "same-origin" };

/** Creates the first administrator of an empty gateway and returns their cookies. */
export async function setUp(gateway: Gateway, who: Account = ada): Promise<State> {
  const client = await request.newContext({ baseURL: gateway.url });
  const token = new URL(gateway.setupURL).searchParams.get("token")!;
  const form = { token, email: who.email, name: who.name, password: who.password, again: who.password };
  const answer = await client.post("/setup", { form, headers: ownPage, maxRedirects: 0 });
  expect(answer.status(), await answer.text()).toBe(303);
  return stateOf(client);
}

/** Signs a user in and returns their cookies. */
export async function signIn(gateway: Gateway, who: Account): Promise<State> {
  // Without the cookies of the test's page: a sign-in would end its session.
  const client = await request.newContext({ baseURL: gateway.url, storageState: { cookies: [], origins: [] } });
  const answer = await client.post("/login", { form: { email: who.email, password: who.password }, headers: ownPage, maxRedirects: 0 });
  expect(answer.status(), await answer.text()).toBe(303);
  return stateOf(client);
}

/** Invites a user with a role, joins with the link, and returns the user's id. */
export async function addPerson(gateway: Gateway, who: Account, role: "admin" | "viewer" | "member"): Promise<string> {
  const { personId, link } = await send(gateway, "POST", "/api/invitations", { email: who.email, name: who.name, role });
  const client = await request.newContext({ baseURL: gateway.url, storageState: { cookies: [], origins: [] } });
  const answer = await client.post(new URL(link).pathname, { form: { name: who.name, password: who.password, again: who.password }, headers: ownPage, maxRedirects: 0 });
  expect(answer.status(), await answer.text()).toBe(303);
  await client.dispose();
  return personId;
}

/** Sends a request to the API with the administration token and returns its response. */
export async function send(gateway: Gateway, method: "POST" | "PUT" | "PATCH" | "DELETE", path: string, data?: object): Promise<any> {
  const client = await program(gateway);
  const answer = await client.fetch(path, { method, data });
  expect(answer.ok(), `${method} ${path}: ${await answer.text()}`).toBe(true);
  const body = await answer.text();
  await client.dispose();
  return body && JSON.parse(body);
}

/** Returns a request context with the administration token. */
export function program(gateway: Gateway): Promise<APIRequestContext> {
  return request.newContext({ baseURL: gateway.url, extraHTTPHeaders: { Authorization: `Bearer ${adminToken}` } });
}

/** Creates a project with servers by alias and URL, and syncs them. */
export async function addProject(gateway: Gateway, slug: string, servers: Record<string, string>, settings: object = {}): Promise<void> {
  const client = await program(gateway);
  const made = await client.post("/api/projects", { data: { projectSlug: slug, name: slug, ...settings } });
  expect(made.status(), await made.text()).toBe(201);
  for (const [alias, url] of Object.entries(servers)) {
    const added = await client.post(`/api/projects/${slug}/servers`, { data: { alias, url } });
    expect(added.status(), await added.text()).toBe(201);
    const read = await client.post(`/api/servers/${(await added.json()).id}/sync`);
    expect(read.status(), await read.text()).toBeLessThan(300);
  }
  await client.dispose();
}

/** Opens a page of another user in addition to the test's. */
export async function pageOf(browser: Browser, gateway: Gateway, state: State, options: BrowserContextOptions = {}): Promise<Page> {
  const context = await browser.newContext({ baseURL: gateway.url, storageState: state, ...options });
  return context.newPage();
}

async function stateOf(client: APIRequestContext): Promise<State> {
  const state = await client.storageState();
  await client.dispose();
  // The flash message is not part of a session.
  return { ...state, cookies: state.cookies.filter(({ name }) => name !== "flash") };
}

/**
 * The usual test function with a separate gateway of the worker
 * that is empty except for its users. `as` selects the page's user.
 */
export const test = base.extend<{ as: "admin" | "viewer" | "nobody" }, { people: Record<"admin" | "viewer", State> }>({
  gateway: ofOneWorker(() => startEmptyGateway()),
  people: [
    async ({ gateway }, use) => {
      const admin = await setUp(gateway);
      await addPerson(gateway, vera, "viewer");
      await use({ admin, viewer: await signIn(gateway, vera) });
    },
    { scope: "worker" },
  ],
  as: ["admin", { option: true }],
  storageState: async ({ as, people }, use) => use(as === "nobody" ? undefined : people[as]),
});
