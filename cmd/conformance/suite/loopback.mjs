// Preloaded into a conformance suite. Makes the servers that the suite starts for a
// client under test listen on the loopback interface only. The suite passes
// "localhost" URLs to clients.
import dns from "node:dns";
import { Server } from "node:net";

const host = "127.0.0.1";

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  if (typeof port !== "number" || typeof rest[0] === "string") {
    return listen.call(this, port, ...rest);
  }
  return listen.call(this, { host, port }, ...rest.filter((argument) => typeof argument === "function"));
};

// A server with a host resolves it before it listens. The suite reads the port
// synchronously, so the lookup must be synchronous too.
const lookup = dns.lookup;
dns.lookup = function (name, ...rest) {
  if (name !== host) {
    return lookup.call(dns, name, ...rest);
  }
  const callback = rest.at(-1);
  if (rest[0].all) {
    callback(null, [{ address: host, family: 4 }]);
  } else {
    callback(null, host, 4);
  }
};
