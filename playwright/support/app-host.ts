import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

import { rolldown } from "rolldown";

const file = (name: string) => fileURLToPath(new URL(name, import.meta.url));

/** Something that runs on this machine. */
export interface Running {
  url: string;
  stop(): Promise<void>;
}

/** Serves the page of a host of MCP Apps. It shows apps with the official AppBridge. */
export async function startAppHost(): Promise<Running> {
  const bundle = await rolldown({ input: file("app-host-page.mjs"), platform: "browser" });
  const { output } = await bundle.generate({ format: "esm" });
  await bundle.close();
  const script = output[0].code;
  const server = createServer((request, response) => {
    if (request.url === "/host.js") response.setHeader("Content-Type", "text/javascript").end(script);
    else response.setHeader("Content-Type", "text/html").end('<!doctype html><title>Host</title><body><script type="module" src="/host.js"></script>');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const stop = async () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop };
}

/** Starts an npm package with an app. Its URL is the MCP endpoint. */
export async function startAppServer(name: string): Promise<Running> {
  const child = spawn(process.execPath, [file("app-server.mjs"), name], { stdio: ["ignore", "pipe", "ignore"] });
  const exited = once(child, "exit");
  const [line] = (await once(createInterface(child.stdout), "line")) as [string];
  const stop = async () => {
    child.kill();
    await exited;
  };
  return { url: line.replace("READY ", ""), stop };
}
