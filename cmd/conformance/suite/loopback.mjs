// Preloaded into a conformance suite: the servers that it starts for a client
// under test would listen on every interface. Clients are told "localhost".
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

// A server with a host looks it up before it listens. The suite asks for its
// port at once, so the answer must not come later.
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
