// Runs the npm package oidc-provider as an identity provider on the loopback
// interface:
//
//   CLIENT_ID=gateway CLIENT_SECRET=… REDIRECT_URI=… node provider.mjs [PORT]
//
// PORT 0, the default, selects a free port. The login is the subject, and its
// part after the first "|", if any, is the email address. The address is
// verified unless it starts with "unverified". A request to
// /claims?login=LOGIN&claims=JSON sets further claims of a login, in the members
// id_token and userinfo. Clients that request the scope "groups" get them. When
// the server is ready, it prints one line to stdout: READY http://127.0.0.1:PORT
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

const added = new Map(); // further claims by login
const server = createServer();
server.listen(Number(process.argv[2] ?? 0), host, () => {
  const issuer = `http://${host}:${server.address().port}`;
  const provider = new Provider(issuer, {
    clients: [{ client_id: CLIENT_ID, client_secret: CLIENT_SECRET, redirect_uris: [REDIRECT_URI], grant_types: ["authorization_code"], response_types: ["code"] }],
    pkce: { required: () => true },
    claims: {
      openid: ["sub"], email: ["email", "email_verified"], profile: ["name"],
      groups: ["groups", "realm_access", "hasgroups", "_claim_names", "_claim_sources"],
    },
    conformIdTokenClaims: false, // claims() decides
    cookies: { keys: ["a key of the tests"] },
    findAccount: (_ctx, login) => ({
      accountId: login,
      claims: (use) => {
        const email = login.split("|")[1] ?? login;
        const { id_token: token, userinfo } = added.get(login) ?? {};
        if (use === "id_token") return { sub: login, ...token };
        return { sub: login, email, email_verified: !email.startsWith("unverified"), name: `Name of ${email}`, ...userinfo };
      },
    }),
  });
  provider.on("server_error", (_ctx, error) => console.error(error));
  const callback = provider.callback();
  server.on("request", (request, response) => {
    const { pathname, searchParams } = new URL(request.url, issuer);
    if (pathname !== "/claims") return callback(request, response);
    added.set(searchParams.get("login"), JSON.parse(searchParams.get("claims")));
    return response.end();
  });
  process.stdout.write(`READY ${issuer}\n`);
});
process.on("SIGTERM", () => process.exit(0));
