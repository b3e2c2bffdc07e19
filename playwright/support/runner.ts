import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { builtProgram } from "./build.ts";
import { localFile } from "./gateway.ts";

const program = fileURLToPath(new URL("program.mjs", import.meta.url));

/** Returns the entry of a local server that runs program.mjs with the arguments. */
export const runs = (...args: string[]) => ({ command: process.execPath, args: [program, ...args] });

/** A runner on "another computer": with its own directory. */
export interface Runner {
  /** Its exit code, once it has ended; null after a signal. */
  ended: Promise<number | null>;
  /** Stops it and deletes its directory. */
  stop(): Promise<void>;
}

/** Runs a command line in a new directory with the file of local servers and the file token. */
export async function startRunner(commandLine: string, file: string, token: string, env: Record<string, string> = {}): Promise<Runner> {
  const folder = await mkdtemp(path.join(tmpdir(), "gateway-runner-"));
  await writeFile(path.join(folder, localFile), file, { mode: 0o600 });
  await writeFile(path.join(folder, "token"), token, { mode: 0o600 });
  const child = spawn("sh", ["-c", `exec ${commandLine}`], {
    cwd: folder,
    env: { PATH: `${path.dirname(process.env[builtProgram]!)}:${process.env.PATH}`, HOME: folder, ...env },
    stdio: ["ignore", "ignore", process.env.DEBUG_RUNNER ? "inherit" : "ignore"],
  });
  const ended = once(child, "exit").then(([code]) => code as number | null);
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
    await ended;
    process.removeListener("exit", kill);
    await rm(folder, { recursive: true, force: true });
  };
  return { ended, stop };
}
