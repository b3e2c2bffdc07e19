import { execFile } from "node:child_process";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

import type { Gateway } from "./gateway.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Sets every user's last authentication and confirmation to some time ago. */
export async function growOld(gateway: Gateway, age: string): Promise<void> {
  const database = `sqlite:${path.join(gateway.folder, "data", "gateway.db")}`;
  await promisify(execFile)(process.env.GO ?? "go", ["run", "./models/modelstest/oldsessions", database, age], { cwd: root, timeout: 120_000 });
}
