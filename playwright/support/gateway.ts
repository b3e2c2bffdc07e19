import { spawn, execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";

import { builtProgram } from "./build.ts";

const startLimit = 50_000;
const stopLimit = 10_000;
const commandLimit = 40_000;

/** Number of log lines in the message of a failure. */
const keptLines = 200;

/** A running gateway in its own directory. */
export interface Gateway {
  /** Its origin, without a slash at the end. */
  url: string;
  /** The URL of the setup page, from the log. */
  setupURL: string;
  /** Its working directory and data directory. */
  folder: string;
  /** Runs a shell command line while it is running and returns the standard output. */
  shell(commandLine: string): Promise<string>;
  /** Stops it and deletes its directory. */
  stop(): Promise<void>;
}

/** Options of a gateway. */
export interface Start {
  /** Whether it has the demo project (default) or an empty database. */
  demo?: boolean;
  /** Whether it serves /kit. */
  dev?: boolean;
  /** Servers of the file localFile in its directory, which it runs (`--local`). */
  local?: Record<string, object>;
  /** The port. By default the system chooses one. */
  port?: number;
  /** Additional environment variables. */
  env?: Record<string, string>;
}

/** The name of the file with the local servers of a gateway. */
export const localFile = "servers.json";

/** Starts the built gateway and waits until it and its demo are ready. */
export async function startGateway({ demo = true, dev = false, local, port = 0, env: settings = {} }: Start = {}): Promise<Gateway> {
  const program = process.env[builtProgram];
  if (!program) throw new Error(`${builtProgram} is not set: the global set-up builds the gateway and sets it`);
  const folder = await mkdtemp(path.join(tmpdir(), "gateway-data-"));
  // The developer's settings must not reach the program under test.
  const env = { PATH: `${path.dirname(program)}:${process.env.PATH}`, HOME: folder, GATEWAY_LOG_FORMAT: "json", GATEWAY_CATALOG_ICONS: "false", ...settings };
  if (local) await writeFile(path.join(folder, localFile), JSON.stringify({ mcpServers: local }), { mode: 0o600 });
  const child = spawn(program, ["serve", ...(local ? ["--local", localFile] : []), ...(demo ? ["--demo"] : []), ...(dev ? ["--dev"] : []), "--addr", `127.0.0.1:${port}`], { cwd: folder, env, stdio: ["ignore", "pipe", "pipe"] });
  const exited = once(child, "exit");
  // A worker that ends early, such as on an interrupt, stops its gateway.
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
  let setupURL = "";
  try {
    await new Promise<void>((resolve, reject) => {
      const fail = (why: string) => reject(new Error(`the gateway ${why}\n${log.join("\n")}`));
      const alarm = setTimeout(() => fail(`was not ready after ${startLimit} ms`), startLimit);
      exited.then(([code, signal]) => fail(`ended at once: ${signal ?? `exit code ${code}`}`), reject);
      createInterface(child.stderr).on("line", (line) => {
        if (log.push(line) > keptLines) log.shift();
        const told = toldBy(line);
        setupURL ||= told.setupURL;
        url ||= told.url;
        if (url && !demo) ready();
      });
      // The demo prints its line on stdout after the sync.
      createInterface(child.stdout).on("line", (line) => {
        if (url && line.includes("/v1/mcp/demo/request")) ready();
      });
      const ready = () => {
        clearTimeout(alarm);
        resolve();
      };
    });
  } catch (failure) {
    await stop();
    throw failure;
  }

  const shell = async (commandLine: string) => {
    const { stdout } = await promisify(execFile)("sh", ["-c", commandLine], { cwd: folder, env, timeout: commandLimit });
    return stdout;
  };
  return { url, setupURL, folder, shell, stop };
}

/** Returns the URLs in a log line: of the gateway, or of its setup page. */
function toldBy(line: string): { url: string; setupURL: string } {
  try {
    const { msg, url } = JSON.parse(line);
    if (msg === "serving") return { url, setupURL: "" };
    if (typeof url === "string" && url.includes("/setup?token=")) return { url: "", setupURL: url };
  } catch {
    // Not every line is an event.
  }
  return { url: "", setupURL: "" };
}

/**
 * Returns a fixture: a gateway that runs until the worker ends. Each call returns another fixture, so that
 * specs with their own fixture don't share a gateway.
 */
export function ofOneWorker(start: () => Promise<Gateway>): [({}: object, use: (gateway: Gateway) => Promise<void>) => Promise<void>, { scope: "worker" }] {
  return [
    async ({}, use) => {
      const gateway = await start();
      await use(gateway);
      await gateway.stop();
    },
    { scope: "worker" },
  ];
}
