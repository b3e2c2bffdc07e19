// Runs the npm package server-everything (Streamable HTTP, one session per
// client) as a real upstream on this machine only:
//
//   node everything.mjs [PORT]        PORT 0, the default, selects a free one
//
// The package always binds every interface, so
// this script restricts listening to the loopback address. Once it
// listens, one line goes to stdout: READY http://127.0.0.1:PORT/mcp
import { Server } from "node:net";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";

const host = "127.0.0.1";
const port = process.argv[2] ?? "0";
if (!/^\d{1,5}$/.test(port) || Number(port) > 65535) {
  console.error(`everything.mjs: ${port} is not a port; give 0 to 65535`);
  process.exit(2);
}

// The package also logs to stdout; READY must be the only line there.
console.log = console.error;

const listen = Server.prototype.listen;
Server.prototype.listen = function (_port, ...rest) {
  const done = rest.find((argument) => typeof argument === "function");
  this.once("listening", () => {
    process.stdout.write(`READY http://${host}:${this.address().port}/mcp\n`);
  });
  return listen.call(this, { host, port: Number(port) }, done);
};

process.env.PORT = port;
process.on("SIGTERM", () => process.exit(0));

// The package doesn't export its transports, but its files are in the same directory.
const entry = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"));
await import(join(dirname(entry), "transports", "streamableHttp.js"));
