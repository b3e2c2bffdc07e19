import type { Page } from "@playwright/test";

import { ada, expect, startEmptyGateway, test } from "../support/signed-in.ts";
import { startUpstream } from "../support/upstream.ts";

/** Maximum time of an administrator from an empty database to the first call. */
const firstCallLimit = 60_000;

test.use({ as: "nobody" });

for (const javaScriptEnabled of [true, false]) {
  test.describe(javaScriptEnabled ? "with JavaScript" : "without JavaScript", () => {
    test.use({ javaScriptEnabled });

    test("administrator: from an empty database to a successful call", async ({ browser }) => {
      test.setTimeout(firstCallLimit + 20_000);
      const gateway = await startEmptyGateway();
      const upstream = await startUpstream({
        tools: [
          {
            name: "add",
            description: "Adds two numbers.",
            inputSchema: { type: "object", required: ["a", "b"], properties: { a: { type: "integer" }, b: { type: "integer" }, note: { type: "string" } } },
          },
        ],
        call: (_, { a, b }) => ({ content: [{ type: "text", text: `The sum is ${Number(a) + Number(b)}.` }] }),
      });
      const context = await browser.newContext({ baseURL: gateway.url, javaScriptEnabled });
      try {
        const page = await context.newPage();
        const start = Date.now();
        await setUpByHand(page, gateway.setupURL);
        await addProjectByHand(page, { mcpServers: { calc: { url: upstream.url } } });
        const key = await createKeyByHand(page);
        await callByHand(page);
        const took = Date.now() - start;
        test.info().annotations.push({ type: "from an empty database to a call", description: `${took} ms` });
        console.log(`from an empty database to a call, ${javaScriptEnabled ? "with" : "without"} JavaScript: ${took} ms`);
        expect(took).toBeLessThan(firstCallLimit);

        const answer = await fetch(`${gateway.url}/v1/mcp/acme-dev/request`, {
          method: "POST",
          headers: { "Content-Type": "application/json", Authorization: `Bearer ${key}` },
          body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "calc__add", arguments: { a: 40, b: 2 } } }),
        });
        expect(await answer.text()).toContain("The sum is 42.");
      } finally {
        await context.close();
        await Promise.all([gateway.stop(), upstream.stop()]);
      }
    });
  });
}

async function setUpByHand(page: Page, setupURL: string): Promise<void> {
  await page.goto(setupURL);
  await page.getByRole("textbox", { name: "Email" }).fill(ada.email);
  await page.getByRole("textbox", { name: "Name" }).fill(ada.name);
  await page.getByLabel("Password", { exact: true }).fill(ada.password);
  await page.getByLabel("Repeat password").fill(ada.password);
  await page.getByRole("button", { name: "Create account" }).click();
  await expect(page).toHaveURL("/admin");
}

async function addProjectByHand(page: Page, pasted: object): Promise<void> {
  await page.getByRole("link", { name: /new project|create/i }).first().click();
  await page.getByRole("textbox", { name: "Name", exact: true }).fill("Acme dev");
  await page.getByRole("button", { name: "Create project" }).click();
  await expect(page).toHaveURL("/admin/projects/acme-dev/servers/new");
  await page.getByRole("textbox", { name: "URL, command or JSON" }).fill(JSON.stringify(pasted));
  await page.getByRole("button", { name: "Continue" }).click();
  await page.getByRole("button", { name: "Add server" }).click();
  await expect(page.getByText(/^Server added/).first()).toBeVisible();
}

async function createKeyByHand(page: Page): Promise<string> {
  await page.goto("/admin/projects/acme-dev/keys/new");
  await page.getByRole("textbox", { name: "Name" }).fill("Laptop");
  await page.getByRole("button", { name: "Create key" }).click();
  await expect(page.getByRole("button", { name: "Done" })).toBeVisible();
  const key = /gwk_[\w-]+/.exec(await page.getByRole("main").innerText());
  expect(key, "the key on the page").not.toBeNull();
  await page.getByRole("button", { name: "Done" }).click();
  return key![0];
}

async function callByHand(page: Page): Promise<void> {
  await page.getByRole("link", { name: "Tools", exact: true }).click();
  await page.getByRole("link", { name: "calc__add" }).click();
  await page.getByRole("textbox", { name: "a", exact: true }).fill("not a number");
  await page.getByRole("textbox", { name: "b", exact: true }).fill("2");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByText("A: enter a whole number.")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "b", exact: true })).toHaveValue("2");
  await page.getByRole("textbox", { name: "a", exact: true }).fill("40");
  await page.getByRole("button", { name: "Run" }).click();
  await expect(page.getByText("The sum is 42.", { exact: true })).toBeVisible();
}
