import { ofOneWorker } from "../support/gateway.ts";
import { addProject, expect, pageOf, startEmptyGateway, test as base } from "../support/signed-in.ts";
import { startUpstream } from "../support/upstream.ts";

/** The usual test function with a separate gateway, because it opens every page. */
const test = base.extend({
  gateway: ofOneWorker(() => startEmptyGateway()),
});

test.use({ as: "viewer" });

test("viewer sees every page without controls", async ({ page, gateway, people, browser }) => {
  test.slow();
  const upstream = await startUpstream({ tools: [{ name: "add", inputSchema: { type: "object" } }] });
  await addProject(gateway, "looked-at", { calc: upstream.url });
  const visited = new Set<string>();
  const forms: string[] = [];
  const queue = ["/admin", "/admin/people", "/admin/audit", "/admin/settings", "/admin/connections", "/admin/catalog", "/me/account"];
  while (queue.length > 0) {
    const path = queue.shift()!;
    if (visited.has(path)) continue;
    visited.add(path);
    const answer = await page.request.get(path, { maxRedirects: 0 });
    expect(answer.status(), path).toBe(200);
    const html = await answer.text();
    if (!html.startsWith("<!")) continue; // a file or a feed
    // Users can change their own account.
    if (path !== "/me/account") {
      for (const [, attributes] of html.matchAll(/<form([^>]*)>/g)) {
        if (/method="post"/i.test(attributes) && !attributes.includes('action="/logout"')) forms.push(`${path}: ${attributes}`);
      }
    }
    for (const [, link] of html.matchAll(/href="(\/admin[^"#?]*)["#?]/g)) {
      const next = link.replaceAll("&amp;", "&");
      if (!/\/(live|export|download)$/.test(next)) queue.push(next);
    }
  }
  expect(visited.size).toBeGreaterThan(12);
  expect([...visited]).toEqual(expect.arrayContaining(["/admin/projects/looked-at/tools", "/admin/projects/looked-at/tools/calc__add", "/admin/projects/looked-at/keys"]));
  expect(forms, "forms with side effects").toEqual([]);

  // The server rejects an administrator's actions from a viewer.
  const admin = await pageOf(browser, gateway, people.admin);
  await admin.goto("/admin/projects/looked-at/tools/calc__add");
  const actions = await admin.locator('form[method="post"]').evaluateAll((list) => list.map((form) => new URL((form as HTMLFormElement).action).pathname));
  await admin.context().close();
  await page.goto("/admin");
  const csrf = await page.locator('form[action="/logout"] input[name=csrf]').inputValue();
  const refused = [...actions, "/admin/people", "/admin/projects", "/admin/projects/looked-at/keys", "/admin/projects/looked-at/tools"].filter((path) => path !== "/logout");
  expect(refused.length).toBeGreaterThan(5);
  for (const path of refused) {
    const answer = await page.request.post(path, { form: { csrf }, headers: { "Sec-Fetch-Site": "same-origin" }, maxRedirects: 0 });
    expect(answer.status(), path).toBe(403);
  }
  await upstream.stop();
});
