// Runs the npm package oidc-provider as a real identity provider on this
// machine only:
//
//   CLIENT_ID=gateway CLIENT_SECRET=… REDIRECT_URI=… node provider.mjs [PORT]
//
// PORT 0, the default, takes a free one. Whoever signs in is whom they say:
// what they type is their subject, and its part behind the first "|", if any,
// their e-mail address, verified unless it begins with "unverified". Once it listens, one line goes to stdout:
// READY http://127.0.0.1:PORT
import { createServer } from "node:http";
import Provider from "oidc-provider";

const host = "127.0.0.1";
const { CLIENT_ID, CLIENT_SECRET, REDIRECT_URI } = process.env;
if (!CLIENT_ID || !CLIENT_SECRET || !REDIRECT_URI) {
  console.error("provider.mjs: set CLIENT_ID, CLIENT_SECRET and REDIRECT_URI");
  process.exit(2);
}

// The package logs to stdout too; READY must be the only line that a reader sees there.
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
