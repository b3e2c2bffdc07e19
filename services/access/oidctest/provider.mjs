// Runs the npm package oidc-provider as an identity provider on the loopback
// interface:
//
//   CLIENT_ID=gateway CLIENT_SECRET=… REDIRECT_URI=… node provider.mjs [PORT]
//
// PORT 0, the default, selects a free port. The login is the subject, and its
// part after the first "|", if any, is the email address. The address is
// verified unless it starts with "unverified". When the server is ready, it
// prints one line to stdout: READY http://127.0.0.1:PORT
import { createServer } from "node:http";
import Provider from "oidc-provider";

const host = "127.0.0.1";
const { CLIENT_ID, CLIENT_SECRET, REDIRECT_URI } = process.env;
if (!CLIENT_ID || !CLIENT_SECRET || !REDIRECT_URI) {
  console.error("provider.mjs: set CLIENT_ID, CLIENT_SECRET and REDIRECT_URI");
  process.exit(2);
}

// The package logs to stdout too; stdout must contain only the READY line.
console.log = console.info = console.error;

const server = createServer();
server.listen(Number(process.argv[2] ?? 0), host, () => {
  const issuer = `http://${host}:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [REDIRECT_URI], grant_types: ["authorization_code"], response_types: ["code"] }],
    pkce: { required: () => true },
    claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
    cookies: { keys: ["a key of the tests"] },
    findAccount: (_ctx, id) => ({
      accountId: id,
      claims: () => {
        const email = id.split("|")[1] ?? id;
        return { sub: id, email, email_verified: !email.startsWith("unverified"), name: `Name of ${email}` };
      },
    }),
  });
  provider.on("server_error", (_ctx, error) => console.error(error));
  server.on("request", provider.callback());
  process.stdout.write(`READY ${issuer}\n`);
});
process.on("SIGTERM", () => process.exit(0));
