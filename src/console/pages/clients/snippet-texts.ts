/** The snippets: public libraries that many people use, and nothing of our own. */
import type { KindName } from './kinds'

export interface Snippet {
  label: string
  text: string
  steps: readonly { title: string; code: string }[]
}

interface Ids {
  issuer: string
  clientId: string
  callback: string
  /** How its ID tokens are signed. */
  algorithm: string
}

const spa = ({ issuer, clientId, callback }: Ids): Snippet[] => [
  {
    label: 'JavaScript',
    text: 'With oidc-client-ts, in any framework. Pages of the callback’s origin may call this issuer.',
    steps: [
      { title: 'Terminal', code: 'npm install oidc-client-ts' },
      {
        title: 'auth.ts',
        code: `import { UserManager, WebStorageStateStore } from 'oidc-client-ts'

export const auth = new UserManager({
  authority: '${issuer}',
  client_id: '${clientId}',
  redirect_uri: '${callback}',
  scope: 'openid profile email',
  loadUserInfo: true,
  userStore: new WebStorageStateStore({ store: sessionStorage }),
})

// On the page that needs somebody signed in:
if (location.href.startsWith('${callback}')) {
  await auth.signinCallback()
  history.replaceState(null, '', '/')
}
const user = await auth.getUser()
if (!user) await auth.signinRedirect()
else console.log('Signed in as', user.profile.name ?? user.profile.sub)`,
      },
    ],
  },
]

/** What a server app says of its callback, whose path the library takes to be /callback. */
function serverOf(callback: string) {
  const { origin, pathname, port } = new URL(callback)
  const routes = pathname === '/callback' ? '' : `\n    routes: { callback: '${pathname}' },`
  return { origin, routes, port: port || '8080' }
}

const web = ({ issuer, clientId, callback, algorithm }: Ids): Snippet[] => [
  {
    label: 'Express',
    text: 'With express-openid-connect. The secret comes from the environment, never from the code.',
    steps: [
      { title: 'Terminal', code: 'npm install express express-openid-connect' },
      {
        title: 'server.mjs',
        code: `import express from 'express'
import openid from 'express-openid-connect'

const { auth, requiresAuth } = openid
const app = express()
app.use(
  auth({
    issuerBaseURL: '${issuer}',
    clientID: '${clientId}',
    clientSecret: process.env.CLIENT_SECRET,
    secret: process.env.COOKIE_SECRET, // openssl rand -hex 32
    baseURL: '${serverOf(callback).origin}',${serverOf(callback).routes}
    idTokenSigningAlg: '${algorithm}',
    authRequired: false,
    authorizationParams: { response_type: 'code', scope: 'openid profile email' },
  }),
)
app.get('/profile', requiresAuth(), async (req, res) => res.json(await req.oidc.fetchUserInfo()))
app.listen(${serverOf(callback).port})`,
      },
    ],
  },
]

/** A library refuses addresses without TLS unless it is told that they are meant: a Gatehouse on this machine. */
const plainHttp = (issuer: string): string =>
  issuer.startsWith('http:') ? ', { execute: [oidc.allowInsecureRequests] }' : ''

const native = ({ issuer, clientId, callback }: Ids): Snippet[] => [
  {
    label: 'Node.js',
    text: 'A program in a terminal: it opens the browser and waits on a port of its own (RFC 8252).',
    steps: [
      { title: 'Terminal', code: 'npm install openid-client' },
      {
        title: 'sign-in.mjs',
        code: `import { createServer } from 'node:http'
import * as oidc from 'openid-client'

const config = await oidc.discovery(new URL('${issuer}'), '${clientId}', undefined, oidc.None()${plainHttp(issuer)})
const verifier = oidc.randomPKCECodeVerifier()
const server = createServer().listen(0, '127.0.0.1')
await new Promise((done) => server.once('listening', done))
const callback = new URL('${callback}')
callback.port = server.address().port

const url = oidc.buildAuthorizationUrl(config, {
  redirect_uri: callback.href,
  scope: 'openid profile email',
  code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
  code_challenge_method: 'S256',
})
console.log('Open', url.href)
server.once('request', async (req, res) => {
  const tokens = await oidc.authorizationCodeGrant(config, new URL(req.url, callback), { pkceCodeVerifier: verifier })
  res.setHeader('Connection', 'close').end('You can close this window.')
  console.log('Signed in as', tokens.claims().sub)
  server.close()
})`,
      },
    ],
  },
]

const m2m = ({ issuer, clientId }: Ids): Snippet[] => [
  {
    label: 'Shell',
    text: 'The machine asks for a token with its own secret.',
    steps: [
      {
        title: 'Terminal',
        code: `curl -s -u '${clientId}:$CLIENT_SECRET' \\
  -d grant_type=client_credentials \\
  '${issuer}/token'`.replace(`'${clientId}:$CLIENT_SECRET'`, `"${clientId}:$CLIENT_SECRET"`),
      },
    ],
  },
  {
    label: 'Node.js',
    text: 'With openid-client, which keeps to the standard.',
    steps: [
      { title: 'Terminal', code: 'npm install openid-client' },
      {
        title: 'token.mjs',
        code: `import * as oidc from 'openid-client'

const config = await oidc.discovery(new URL('${issuer}'), '${clientId}', process.env.CLIENT_SECRET${plainHttp(issuer) && `, undefined${plainHttp(issuer)}`})
const { access_token } = await oidc.clientCredentialsGrant(config)
console.log(access_token)`,
      },
    ],
  },
]

const byKind: Record<KindName, (ids: Ids) => Snippet[]> = { spa, web, native, m2m }

/** At least one, with these ids in it. */
export const snippetsFor = (kind: KindName, ids: Ids): Snippet[] => byKind[kind](ids)
