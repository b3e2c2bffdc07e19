import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { ada, adminToken, expect, send, setUp, test } from "../support/signed-in.ts";
import { startGateway } from "../support/gateway.ts";
import { agree } from "../support/oauth-upstream.ts";
import { freePort } from "../support/port.ts";

const client = { client_id: "gateway", client_secret: "a secret of the tests", token_endpoint_auth_method: "client_secret_basic" };

/** Starts a real OpenID provider with the gateway as a client, and returns its issuer. */
async function startProvider(redirectURL: string) {
  const script = fileURLToPath(new URL("../support/oidc-provider.mjs", import.meta.url));
  const env = { ...process.env, PORT: "0", CLIENTS: JSON.stringify([{ ...client, redirect_uris: [redirectURL] }]) };
  const child = spawn(process.execPath, [script], { env, stdio: ["pipe", "pipe", "inherit"] });
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  return {
    issuer: line.replace("READY ", ""),
    stop: async () => {
      child.kill();
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}

// The provider's pages have inline scripts and styles, so this page is
// not the watched one.
test("sign-in with an identity provider", async ({ browser, as }) => {
  expect(as).toBe("admin");
  const port = await freePort();
  const provider = await startProvider(`http://127.0.0.1:${port}/login/callback`);
  const gateway = await startGateway({
    demo: false,
    port,
    env: {
      GATEWAY_ADMIN_TOKEN: adminToken,
      GATEWAY_OIDC_ISSUER: provider.issuer,
      GATEWAY_OIDC_CLIENT_ID: client.client_id,
      GATEWAY_OIDC_CLIENT_SECRET: client.client_secret,
    },
  });
  const context = await browser.newContext({ baseURL: gateway.url, storageState: undefined });
  try {
    await setUp(gateway);
    await send(gateway, "POST", "/api/people", { email: "grace@example.com", name: "Grace", role: "viewer" });
    const page = await context.newPage();
    await page.goto("/admin/audit");
    await page.getByRole("link", { name: "Continue with 127.0.0.1" }).click();
    await page.waitForURL((url) => url.origin === provider.issuer, { waitUntil: "domcontentloaded" });
    await agree(page, gateway.url, "grace@example.com");
    await expect(page).toHaveURL(`${gateway.url}/admin/audit`);
    await page.goto("/me/account");
    await expect(page.getByRole("main")).toContainText("grace@example.com · Viewer · single sign-on");

    // A user without an account gets a message and can sign in with another account.
    await context.clearCookies();
    await page.goto("/login");
    await page.getByRole("link", { name: "Continue with 127.0.0.1" }).click();
    await page.waitForURL((url) => url.origin === provider.issuer, { waitUntil: "domcontentloaded" });
    await agree(page, gateway.url, "mallory@example.com");
    await expect(page.getByRole("alert")).toBeVisible();
    await page.getByRole("textbox", { name: "Email" }).fill(ada.email);
    await page.getByLabel("Password").fill(ada.password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await expect(page).toHaveURL(/\/admin$/);
  } finally {
    await context.close();
    await Promise.all([gateway.stop(), provider.stop()]);
  }
});
