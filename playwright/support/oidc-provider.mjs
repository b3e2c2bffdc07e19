// A real OpenID provider and OAuth authorization server for tests: npm's
// oidc-provider on a free port of 127.0.0.1. The first line on stdout is READY
// and its issuer. All users can sign in, under any name, with its own forms;
// a name with an @ is the user's verified email address.
//
//   PORT=0        the port
//   DCR=1         dynamic client registration; 0 switches it off
//   CIMD=0        client metadata documents; 1 switches them on
//   DOCUMENTS=    an http origin that documents are fetched from, instead of
//                 every https origin
//   TTL=3600      lifetime of access tokens in seconds
//   ROTATE=1      refresh tokens are valid once
//   RESOURCES=    resource identifiers (RFC 8707), separated by spaces
//   SCOPES=       scopes of these resources, separated by spaces
//   CLIENTS=[]    preregistered clients, as JSON
import http from 'node:http';
import { generateKeyPairSync } from 'node:crypto';
import Provider from 'oidc-provider';

const setting = (name, otherwise) => process.env[name] ?? otherwise;
const on = (name, otherwise) => setting(name, otherwise) === '1';
const words = (name) => setting(name, '').split(' ').filter(Boolean);

const ttl = Number(setting('TTL', '3600'));
const clients = JSON.parse(setting('CLIENTS', '[]'));
const resources = new Set(words('RESOURCES'));
const scopes = words('SCOPES');
const documents = setting('DOCUMENTS', '');

let answer = (_, res) => res.writeHead(503).end();
const server = http.createServer((req, res) => answer(req, res));
await new Promise((done) => server.listen(Number(setting('PORT', '0')), '127.0.0.1', done));
const issuer = `http://127.0.0.1:${server.address().port}`;

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const provider = new Provider(issuer, {
  clients,
  scopes: ['openid', 'offline_access', 'email', 'profile', ...scopes],
  claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
  jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid: 'test', use: 'sig', alg: 'RS256' }] },
  cookies: { keys: ['a key of the tests'] },
  conformIdTokenClaims: false,
  rotateRefreshToken: on('ROTATE', '1'),
  ttl: { AccessToken: ttl, AuthorizationCode: 60, IdToken: 3600, RefreshToken: 86400, Grant: 86400, Session: 86400, Interaction: 600 },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: on('DCR', '1') },
    revocation: { enabled: true },
    clientCredentials: { enabled: true },
    introspection: { enabled: true, allowedPolicy: () => true },
    clientIdMetadataDocument: { enabled: on('CIMD', '0'), ack: 'draft-02' },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, resource) => {
        if (!resources.has(resource)) throw Object.assign(new Error('invalid_target'), { error: 'invalid_target', status: 400, statusCode: 400, expose: true });
        return { scope: scopes.join(' '), audience: resource, accessTokenTTL: ttl, accessTokenFormat: 'opaque' };
      },
    },
  },
  // The provider's own dispatcher blocks loopback addresses.
  fetch: (url, { dispatcher, ...options }) => (documents ? fetch(new URL(new URL(url).pathname, documents), options) : fetch(url, { dispatcher, ...options })),
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, name: id.split('@')[0], ...(id.includes('@') && { email: id, email_verified: true }) }),
  }),
});
provider.on('server_error', (_, error) => console.error(error));
answer = provider.callback();
console.log(`READY ${issuer}`);

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(0));
// The parent test holds stdin open; this process ends when it closes.
process.stdin.on('end', () => process.exit(0)).resume();
