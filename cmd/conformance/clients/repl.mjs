// Makes a client of a TypeScript SDK a program that a test talks to:
//
//   node sdk1.mjs '{"url":…,"bearer":…,"capabilities":{…},"results":{METHOD:RESULT}}'
//
// stdin holds commands, one JSON object a line: {"do":NAME, …}. stdout holds their
// outcomes in order, {"result":…} or {"error":{code, message, data}}, the first that of
// connecting, and in between {"notification":{method, params}}, {"asked":{method,
// params}} for each request of the server, and {"body":TEXT} for each JSON response.
import { createInterface } from "node:readline";

const print = (message) => process.stdout.write(JSON.stringify(message) + "\n");

/** Returns the options of the command line. */
export const options = JSON.parse(process.argv[2]);

/** Returns the test's result for a request of the server. */
export function answer({ method, params }) {
  print({ asked: { method, params } });
  const given = options.results?.[method];
  if (given === undefined) throw new Error(`no result for ${method}`);
  return given;
}

export async function onNotification({ method, params }) {
  print({ notification: { method, params } });
}

/** Returns the options of the HTTP transport. */
export function transportOptions() {
  const headers = options.bearer ? { Authorization: `Bearer ${options.bearer}` } : {};
  return {
    requestInit: { headers },
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (response.headers.get("content-type")?.includes("json")) print({ body: await response.clone().text() });
      return response;
    },
  };
}

/** Runs the commands. connect returns the outcome of connecting. */
export async function run(connect, commands) {
  const attempt = async (action) => {
    try {
      print({ result: (await action()) ?? {} });
    } catch (failure) {
      print({ error: { code: failure.code, message: String(failure.message ?? failure), data: failure.data } });
    }
  };
  await attempt(connect);
  for await (const line of createInterface({ input: process.stdin })) {
    const { do: name, ...rest } = JSON.parse(line);
    await attempt(() => commands[name](rest));
  }
  process.exit(0);
}
