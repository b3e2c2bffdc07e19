// Runs an npm package with an MCP app as a real upstream on this machine only:
//
//   node app-server.mjs PACKAGE
//
// The packages bind every interface and a fixed port, so this script restricts
// listening to a free port of the loopback address. Once it listens, one line
// goes to stdout: READY http://127.0.0.1:PORT/mcp
import { Server } from "node:net";
import { fileURLToPath } from "node:url";
import { dirname, join } from "node:path";

const host = "127.0.0.1";

// The packages also log to stdout; READY must be the only line there.
console.log = console.error;

const listen = Server.prototype.listen;
Server.prototype.listen = function (_port, ...rest) {
  const done = rest.find((argument) => typeof argument === "function");
  this.once("listening", () => {
    process.stdout.write(`READY http://${host}:${this.address().port}/mcp\n`);
  });
  return listen.call(this, { host, port: 0 }, done);
};

process.on("SIGTERM", () => process.exit(0));

const entry = fileURLToPath(import.meta.resolve(process.argv[2]));
await import(join(dirname(entry), "index.js"));
