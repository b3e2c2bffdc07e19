import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

/** The environment variable with the path of the built program, for the workers. */
export const builtProgram = "PLAYWRIGHT_GATEWAY";

/** Builds the gateway once for all tests and returns a function that removes it. */
export default function build(): () => void {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-program-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  const program = path.join(folder, "gateway");
  try {
    execFileSync(process.env.GO ?? "go", ["build", "-o", program, "./cmd/gateway"], { cwd: root, stdio: "inherit" });
  } catch (failure) {
    remove();
    throw failure;
  }
  process.env[builtProgram] = program;
  return remove;
}
