import { randomInt } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:net";

/** Ports below the ephemeral range, so that no other program gets one by chance before it is used. */
const [first, last] = [20_000, 32_000];

/** Returns an unused port of this machine, for a program whose address must be known before it starts. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(first, last);
    const server = createServer().listen(port, "127.0.0.1");
    try {
      await once(server, "listening");
    } catch {
      continue; // in use
    }
    server.close();
    await once(server, "close");
    return port;
  }
}
