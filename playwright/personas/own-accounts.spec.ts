import { expectAccessible } from "../support/accessible.ts";
import { agree, startOAuthUpstream, stayHere } from "../support/oauth-upstream.ts";
import { addPerson, expect, pageOf, program, setUp, signIn, startEmptyGateway, test, type Account } from "../support/signed-in.ts";

const mia: Account = { email: "mia@example.com", name: "Mia Member", password: "quiet words of Mia here" };
const noa: Account = { email: "noa@example.com", name: "Noa Member", password: "quiet words of Noa here" };

test("member connects an own account in two clicks", async ({ browser }) => {
  test.setTimeout(120_000);
  const upstream = await startOAuthUpstream();
  const gateway = await startEmptyGateway();
  try {
    const ada = await setUp(gateway);
    const client = await program(gateway);
    const project = await client.post("/api/projects", {
      data: { projectSlug: "work", name: "Work", authMode: "oauth", mcpServers: { notes: { url: upstream.url, authType: "oauth", connection: "personal" } } },
    });
    expect(project.status(), await project.text()).toBe(201);
    const id = (await (await client.get("/api/projects/work/servers")).json()).items[0].id;
    await addPerson(gateway, mia, "member");
    await addPerson(gateway, noa, "member");

    const page = await pageOf(browser, gateway, await signIn(gateway, mia));
    await stayHere(page);
    await page.goto("/me/connections");
    await expectAccessible(page);
    let clicks = 0;
    const click = async (name: string | RegExp, role: "link" | "button") => {
      clicks++;
      await page.getByRole("main").getByRole(role, { name, exact: true }).click({ noWaitAfter: true });
    };
    await click("Connect notes", "link");
    await expect(page).toHaveURL(`/me/connections/${id}`);
    await expect(page.getByRole("main")).toContainText(new URL(upstream.url).host);
    await expect(page.getByLabel("Let the gateway read the list of tools with my connection")).toBeChecked();
    await expectAccessible(page);
    await click("Connect", "button");
    await page.waitForURL((url) => url.origin === upstream.issuer, { waitUntil: "domcontentloaded" });
    await agree(page, gateway.url, mia.email);
    await expect(page).toHaveURL(`/me/connections/${id}`);
    await expect(page.locator(".toast")).toContainText("Connected.");
    expect(clicks).toBe(2);
    await expect(page.getByRole("main")).toContainText("Reads the list of tools");
    await expectAccessible(page);

    // Another member sees their own page, and the administrator whose account is connected.
    const other = await pageOf(browser, gateway, await signIn(gateway, noa));
    await other.goto(`/me/connections/${id}`);
    await expect(other.getByRole("main")).toContainText("Not connected");
    await other.context().close();
    const admin = await pageOf(browser, gateway, ada);
    await admin.goto(`/admin/projects/work/servers/${id}#people`);
    await expect(admin.locator("#people")).toContainText("Mia Member");
    await expectAccessible(admin);
    await admin.goto(`/admin/projects/work/servers/${id}/edit`);
    await expect(admin.getByLabel("Everyone uses their own")).toBeChecked();
    await expectAccessible(admin);
    await admin.context().close();

    await page.locator("summary", { hasText: "Disconnect" }).click();
    await page.getByRole("button", { name: "Disconnect" }).click();
    await expect(page.locator(".toast")).toHaveText("Disconnected. Your token is revoked.");
    await page.context().close();
    await client.dispose();
  } finally {
    await gateway.stop();
    await upstream.stop();
  }
});
