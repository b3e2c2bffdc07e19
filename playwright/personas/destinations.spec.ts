import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { Webhook } from "standardwebhooks";

import { expectAccessible, inEach, looks } from "../support/accessible.ts";
import { expect, send, test as base } from "../support/signed-in.ts";

/** A receiver of webhooks with the bodies and headers that it got. */
interface Receiver {
  url: string;
  got: { headers: Record<string, string>; body: string }[];
  status: number;
}

const test = base.extend<object, { receiver: Receiver }>({
  receiver: [
    async ({}, use) => {
      const receiver: Receiver = { url: "", got: [], status: 204 };
      const server: Server = createServer(async (request, response) => {
        const chunks: Buffer[] = [];
        for await (const chunk of request) chunks.push(chunk as Buffer);
        receiver.got.push({ headers: request.headers as Record<string, string>, body: Buffer.concat(chunks).toString() });
        response.writeHead(receiver.status).end(receiver.status === 204 ? undefined : "no such channel");
      });
      await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
      receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
      await use(receiver);
      server.close();
    },
    { scope: "worker" },
  ],
});

// The tests share a gateway.
test.describe.configure({ mode: "default" });

test("the list and the form are accessible", async ({ page }) => {
  test.slow(); // checks the pages in each look
  await inEach(looks, page, async () => {
    await page.goto("/admin/destinations");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Destinations");
    await expectAccessible(page);
    await page.goto("/admin/destinations/new");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Add destination");
    await expectAccessible(page);
  });
});

test("an administrator adds a webhook, tests it and rotates its secret", async ({ page, receiver }) => {
  test.slow(); // checks the page in each look
  await page.goto("/admin/settings");
  await page.getByRole("link", { name: "Destinations" }).click();
  await page.getByRole("link", { name: "Add destination" }).first().click();
  await page.getByRole("textbox", { name: "Name" }).fill("Operations");
  await page.getByLabel("Address").fill(receiver.url);
  await page.getByRole("textbox", { name: "Filter" }).fill("colour:red");
  await page.getByRole("button", { name: "Add destination" }).click();
  await expect(page.getByRole("alert")).toContainText('Unknown filter "colour"');
  await expectAccessible(page);
  await page.getByLabel("Address").fill(receiver.url);
  await page.getByRole("textbox", { name: "Filter" }).fill("kind:audit");
  await page.getByRole("button", { name: "Add destination" }).click();
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Operations");
  const secret = await page.getByText(/^whsec_/).innerText();
  expect(page.url()).not.toContain("whsec_");
  await page.getByRole("button", { name: "Send a test event" }).click();
  await expect(page.getByText(/Delivered in .* with status 204/)).toBeVisible();
  await expect.poll(() => receiver.got.length).toBeGreaterThan(1); // the test, and the event of its creation
  for (const { headers, body } of receiver.got) new Webhook(secret).verify(body, headers);
  receiver.status = 500;
  await page.getByRole("button", { name: "Send a test event" }).click();
  await expect(page.getByText("no such channel")).toBeVisible();
  receiver.status = 204;
  await page.locator("summary", { hasText: "Rotate secret" }).click();
  await page.getByRole("button", { name: "Rotate secret" }).click();
  await expect(page.getByText(/^whsec_/)).not.toHaveText(secret);
  await inEach(looks, page, async () => {
    await page.reload();
    await expectAccessible(page);
  });
});

test("a destination of the operator's address is shown without its path", async ({ page, gateway, receiver }) => {
  await send(gateway, "POST", "/api/destinations", { name: "Channel", kind: "slack", address: receiver.url });
  await page.goto("/admin/destinations");
  await expect(page.getByRole("row", { name: "Channel" })).toContainText("Slack");
  await expect(page.getByRole("row", { name: "Channel" })).not.toContainText("/hook");
});
