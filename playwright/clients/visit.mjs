// All client scripts have the same command line and output, so that a test can
// run the same checks with each of them:
//
//   node CLIENT.mjs URL [BEARER] [call TOOL JSON-ARGUMENTS]...
//
// One JSON object goes to stdout: {client, protocolVersion, tools, results},
// where tools are the names in the order of tools/list (all pages) and results
// maps each called tool to its unchanged result. Any failure, including a JSON-RPC
// error, exits with 1 and its reason on stderr; wrong usage exits with 2.

import { inspect } from "node:util";

/** Maximum duration of the whole run in milliseconds. */
const visitLimit = 60_000;

/** Maximum number of pages; more mean an endless cursor. */
const pageLimit = 100;

/** Returns {url, bearer, calls} of the command line. Throws if it is invalid. */
export function readArguments(argv) {
  const [address, ...rest] = argv;
  if (!address) throw new Error("the URL of the MCP endpoint is missing");
  const url = new URL(address);
  const bearer = rest.length > 0 && rest[0] !== "call" ? rest.shift() : "";
  const calls = new Map();
  while (rest.length > 0) {
    const [word, tool, args] = rest.splice(0, 3);
    if (word !== "call" || !tool || args === undefined) throw new Error(`expected "call TOOL JSON-ARGUMENTS", found "${word}"`);
    if (calls.has(tool)) throw new Error(`${tool} is called twice, its results would hide each other`);
    calls.set(tool, JSON.parse(args));
  }
  return { url, bearer, calls };
}

/** Returns the transport options that send the bearer with every request. */
export function withBearer(bearer) {
  return bearer ? { requestInit: { headers: { Authorization: `Bearer ${bearer}` } } } : undefined;
}

async function listTools(client) {
  const names = [];
  let cursor;
  for (let page = 0; page < pageLimit; page++) {
    const { tools, nextCursor } = await client.listTools(cursor === undefined ? undefined : { cursor });
    names.push(...tools.map((tool) => tool.name));
    if (nextCursor === undefined) return names;
    cursor = nextCursor;
  }
  throw new Error(`tools/list did not end after ${pageLimit} pages`);
}

/** Writes the whole text before the process ends. */
function write(stream, text) {
  return new Promise((resolve) => stream.write(text + "\n", resolve));
}

/**
 * Runs one client until it disconnects. connect(url, bearer) returns
 * {client, transport, protocolVersion}; name is printed as "client".
 */
export async function visit(name, connect) {
  let wanted;
  try {
    wanted = readArguments(process.argv.slice(2));
  } catch (wrong) {
    await write(process.stderr, `${name}: ${wrong.message}\nusage: node ${process.argv[1]} URL [BEARER] [call TOOL JSON-ARGUMENTS]...`);
    process.exit(2);
  }
  const alarm = setTimeout(async () => {
    await write(process.stderr, `${name}: not done after ${visitLimit} ms`);
    process.exit(1);
  }, visitLimit);
  try {
    const { client, transport, protocolVersion } = await connect(wanted.url, wanted.bearer);
    const tools = await listTools(client);
    const results = {};
    for (const [tool, args] of wanted.calls) results[tool] = await client.callTool({ name: tool, arguments: args });
    // A client with a session ends it by DELETE, as desktop clients do when they quit.
    if (transport.sessionId) await transport.terminateSession();
    await client.close();
    clearTimeout(alarm);
    await write(process.stdout, JSON.stringify({ client: name, protocolVersion, tools, results }));
    // Idle keep-alive sockets would delay the exit for seconds.
    process.exit(0);
  } catch (failure) {
    // inspect also shows the status, code and cause, which a stack lacks.
    await write(process.stderr, `${name}: ${inspect(failure)}`);
    process.exit(1);
  }
}
