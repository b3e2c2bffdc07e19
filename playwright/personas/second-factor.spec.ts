import { createHmac } from "node:crypto";

import type { Page } from "@playwright/test";

import { expectAccessible } from "../support/accessible.ts";
import { ofOneWorker, startGateway } from "../support/gateway.ts";
import { growOld } from "../support/old-sessions.ts";
import { freePort } from "../support/port.ts";
import { ada, adminToken, addPerson, expect, pageOf, setUp, signIn, test as base, vera } from "../support/signed-in.ts";

// Browsers allow passkeys at localhost, but not at an IP address.
const test = base.extend<object, object>({
  gateway: ofOneWorker(async () => {
    const port = await freePort();
    const url = `http://localhost:${port}`;
    return { ...(await startGateway({ demo: false, port, env: { GATEWAY_ADMIN_TOKEN: adminToken, GATEWAY_PUBLIC_URL: url } })), url };
  }),
});

/** Adds a device with a passkey store that verifies its user, and returns its client of the protocol. */
async function addDevice(page: Page) {
  const client = await page.context().newCDPSession(page);
  await client.send("WebAuthn.enable");
  const { authenticatorId } = await client.send("WebAuthn.addVirtualAuthenticator", {
    options: { protocol: "ctap2", transport: "internal", hasResidentKey: true, hasUserVerification: true, isUserVerified: true, automaticPresenceSimulation: true },
  });
  return { verify: (isUserVerified: boolean) => client.send("WebAuthn.setUserVerified", { authenticatorId, isUserVerified }) };
}

/** Returns what an authenticator app shows (RFC 6238). `steps` is the number of codes later. */
function codeOf(key: string, steps = 0): string {
  const bits = [...key.replaceAll(" ", "")].map((c) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(c).toString(2).padStart(5, "0")).join("");
  const secret = Buffer.from(bits.match(/.{8}/g)!.map((byte) => parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const hash = createHmac("sha1", secret).update(counter).digest();
  return String((hash.readUInt32BE(hash[19]! & 15) & 0x7fffffff) % 1e6).padStart(6, "0");
}

async function enterPassword(page: Page, who: typeof ada): Promise<void> {
  await page.goto("/login?next=/me/account");
  await page.getByRole("textbox", { name: "Email" }).fill(who.email);
  await page.getByLabel("Password").fill(who.password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

const expectSignedIn = (page: Page) => expect(page).toHaveURL("/me/account");

test("a passkey is added, signs in alone and after the password, and confirms", async ({ browser, gateway, people }) => {
  expect(people.admin.cookies).not.toEqual([]);
  const page = await pageOf(browser, gateway, await signIn(gateway, ada));
  const device = await addDevice(page);

  await page.goto("/me/account");
  await page.getByRole("link", { name: "Set up and change" }).click();
  await expectAccessible(page);
  await page.getByRole("link", { name: "Add passkey" }).click();
  await expectAccessible(page);
  await page.getByLabel("Name").fill("Test device");
  await page.getByRole("button", { name: "Create passkey" }).click();
  await expect(page).toHaveURL("/me/security/codes");
  await expectAccessible(page);
  await page.getByRole("link", { name: "I saved them" }).click();
  await expect(page.getByText("Test device", { exact: true })).toBeVisible();
  await expect(page.getByText("10 of 10 codes left")).toBeVisible();

  await page.goto("/me/security/passkey");
  await page.getByRole("button", { name: "Create passkey" }).click();
  await expect(page.getByRole("alert")).toHaveText("This device already has a passkey for your account.");

  await page.context().clearCookies();
  await page.goto("/login?next=/me/account");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await expectSignedIn(page);

  await page.context().clearCookies();
  await enterPassword(page, ada);
  await expect(page).toHaveURL(/\/login\/second\?/);
  await expectAccessible(page);
  await page.getByRole("button", { name: "Use your passkey" }).click();
  await expectSignedIn(page);

  // Confirmation on the page, and then in the dialog.
  await page.goto("/login/again?next=/me/account");
  await expectAccessible(page);
  await device.verify(false);
  await page.getByRole("button", { name: "Use your passkey" }).click();
  await expect(page.getByText("The passkey was not used.")).toBeVisible();
  await device.verify(true);
  await page.getByRole("button", { name: "Use your passkey" }).click();
  await expectSignedIn(page);

  await growOld(gateway, "61m");
  await page.goto("/admin/people/invite");
  await page.getByRole("textbox", { name: "Email" }).fill("grace@example.com");
  await page.getByRole("radio", { name: "Member" }).check();
  await page.getByRole("button", { name: "Create invite link" }).click();
  const dialog = page.getByRole("dialog", { name: "Confirm it's you" });
  await expect(dialog).toBeVisible();
  await dialog.getByLabel(`Password for ${ada.email}`).fill(ada.password);
  await dialog.getByLabel("Code").fill("000000");
  await dialog.getByRole("button", { name: /^Confirm/ }).click();
  await expect(dialog.getByText("That code isn't right.")).toBeVisible();
  await dialog.getByRole("button", { name: "Use your passkey" }).click();
  await expect(page.getByText("grace@example.com invited.")).toBeVisible();
  await page.context().close();
});

test("an app's code and a recovery code sign in, each once", async ({ browser, gateway, people }) => {
  expect(people.viewer.cookies).not.toEqual([]);
  const page = await pageOf(browser, gateway, await signIn(gateway, vera));
  await page.goto("/me/security");
  await page.getByRole("link", { name: "Add app" }).click();
  await expect(page.getByRole("img", { name: "QR code" })).toBeVisible();
  await expectAccessible(page);
  const key = await page.getByRole("group", { name: "Key" }).innerText();
  await page.getByLabel("Code", { exact: true }).fill(codeOf(key));
  await page.getByRole("button", { name: "Add app" }).click();
  await expect(page).toHaveURL("/me/security/codes");
  const [recovery] = (await page.getByRole("group", { name: "Recovery codes" }).innerText()).split("\n");

  const enter = async (code: string) => {
    await page.getByLabel("Code", { exact: true }).fill(code);
    await page.getByRole("button", { name: "Continue" }).click();
  };
  await page.context().clearCookies();
  await enterPassword(page, vera);
  const later = codeOf(key, 1);
  await enter(later);
  await expectSignedIn(page);

  await page.context().clearCookies();
  await enterPassword(page, vera);
  await enter(later);
  await expect(page.getByText("This code was already used.")).toBeVisible();
  await enter(recovery!);
  await expectSignedIn(page);
  await expect(page.getByText("9 of 10 are left")).toBeVisible();

  await page.context().clearCookies();
  await enterPassword(page, vera);
  await enter(recovery!);
  await expect(page.getByText("That code isn't right.")).toBeVisible();
  await page.context().close();
});

test("a required factor comes first", async ({ browser }) => {
  const port = await freePort();
  const url = `http://localhost:${port}`;
  const strict = { ...(await startGateway({ demo: false, port, env: { GATEWAY_ADMIN_TOKEN: adminToken, GATEWAY_PUBLIC_URL: url, GATEWAY_REQUIRE_SECOND_FACTOR: "everyone" } })), url };
  try {
    await setUp(strict);
    await addPerson(strict, vera, "member");
    const page = await pageOf(browser, strict, await signIn(strict, vera));
    await addDevice(page);
    await page.goto("/me/keys");
    await expect(page).toHaveURL("/me/security?next=%2Fme%2Fkeys");
    await expect(page.getByText("Set up a second factor to continue")).toBeVisible();
    await expectAccessible(page);
    await page.getByRole("link", { name: "Add passkey" }).click();
    await page.getByRole("button", { name: "Create passkey" }).click();
    await page.getByRole("link", { name: "I saved them" }).click();
    await expect(page).toHaveURL("/me/keys");
    await page.context().close();
  } finally {
    await strict.stop();
  }
});
