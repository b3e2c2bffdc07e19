import { spawn, execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

import { builtProgram } from "./build.ts";

const startLimit = 15_000;
const stopLimit = 10_000;
const commandLimit = 10_000;

/** How many lines of the log are kept for the message of a failure. */
const keptLines = 200;

/** A running gateway with its demo project, in a folder of its own. */
export interface Gateway {
  /** Its origin, without a slash at the end. */
  url: string;
  /** Where it runs and keeps its data. */
  folder: string;
  /** Runs a command line beside it, as typed into a shell, and returns what it prints on stdout. */
  shell(commandLine: string): Promise<string>;
  /** Ends it and removes its folder. */
  stop(): Promise<void>;
}

/** Starts the built gateway on a port that the system chooses, and waits until the demo answers. */
export async function startGateway(): Promise<Gateway> {
  const program = process.env[builtProgram];
  if (!program) throw new Error(`${builtProgram} is not set: the global set-up builds the gateway and sets it`);
  const folder = await mkdtemp(path.join(tmpdir(), "gateway-data-"));
  // Nothing of the developer's own settings reaches the program under test.
  const env = { PATH: `${path.dirname(program)}:${process.env.PATH}`, HOME: folder, GATEWAY_LOG_FORMAT: "json" };
  const child = spawn(program, ["serve", "--demo", "--addr", "127.0.0.1:0"], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  // A worker that ends early, on an interrupt for instance, takes its gateway along.
  const kill = () => void child.kill("SIGKILL");
  process.once("exit", kill);

  const stop = async () => {
    const alarm = setTimeout(kill, stopLimit);
    if (child.exitCode === null && child.signalCode === null && child.kill("SIGTERM")) await exited;
    clearTimeout(alarm);
    process.removeListener("exit", kill);
    await rm(folder, { recursive: true, force: true });
  };

  const log: string[] = [];
  let url = "";
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (why: string) => reject(new Error(`the gateway ${why}\n${log.join("\n")}`));
      const alarm = setTimeout(() => fail(`was not ready after ${startLimit} ms`), startLimit);
      exited.then(([code, signal]) => fail(`ended at once: ${signal ?? `exit code ${code}`}`), reject);
      createInterface(child.stderr).on("line", (line) => {
        if (log.push(line) > keptLines) log.shift();
        url ||= servingAt(line);
      });
      // The demo's line on stdout comes after its tools were read.
      createInterface(child.stdout).on("line", (line) => {
        if (!url || !line.includes("/v1/mcp/demo/request")) return;
        clearTimeout(alarm);
        resolve();
      });
    });
  } catch (failure) {
    await stop();
    throw failure;
  }

  const shell = async (commandLine: string) => {
    const { stdout } = await promisify(execFile)("sh", ["-c", commandLine], { cwd: folder, env, timeout: commandLimit });
    return stdout;
  };
  return { url, folder, shell, stop };
}

/** Returns the URL of the log line that says where the gateway serves, or "". */
function servingAt(line: string): string {
  try {
    const event = JSON.parse(line);
    return event.msg === "serving" ? event.url : "";
  } catch {
    return "";
  }
}
