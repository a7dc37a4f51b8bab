/** Code snippets that use common public libraries. */
import type { ApplicationTypeName } from './application-types'
import { frameworkSnippets } from './server-snippets'
import type { Snippet, SnippetParams } from './snippet'
import { javascriptString, shellWord } from './string-literals'

const spa = ({ issuer, clientId, redirectUri }: SnippetParams): Snippet[] => [
  {
    label: 'JavaScript',
    text: 'With oidc-client-ts, in any framework. The issuer allows CORS requests from the origin of the redirect URI.',
    steps: [
      { title: 'Terminal', code: 'npm install oidc-client-ts' },
      {
        title: 'auth.ts',
        code: `import { UserManager, WebStorageStateStore } from 'oidc-client-ts'

export const auth = new UserManager({
  authority: ${javascriptString(issuer)},
  client_id: ${javascriptString(clientId)},
  redirect_uri: ${javascriptString(redirectUri)},
  scope: 'openid profile email',
  loadUserInfo: true,
  userStore: new WebStorageStateStore({ store: sessionStorage }),
})

// On a page that requires a signed-in user:
if (new URLSearchParams(location.search).has('state')) {
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

/** The settings of express-openid-connect that depend on the redirect URI. The library's default path is /callback. */
function serverSettings(redirectUri: string) {
  const { origin, pathname, port } = new URL(redirectUri)
  const routes = pathname === '/callback' ? '' : `\n    routes: { callback: ${javascriptString(pathname)} },`
  return { origin, routes, port: port || '8080' }
}

const express = ({ issuer, clientId, redirectUri, algorithm }: SnippetParams): Snippet[] => [
  {
    label: 'Express',
    text: 'With express-openid-connect. Set the secret in the environment, not in the code.',
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
    issuerBaseURL: ${javascriptString(issuer)},
    clientID: ${javascriptString(clientId)},
    clientSecret: process.env.CLIENT_SECRET,
    secret: process.env.COOKIE_SECRET, // openssl rand -hex 32
    baseURL: ${javascriptString(serverSettings(redirectUri).origin)},${serverSettings(redirectUri).routes}
    idTokenSigningAlg: ${javascriptString(algorithm)},
    authRequired: false,
    authorizationParams: { response_type: 'code', scope: 'openid profile email' },
  }),
)
app.get('/profile', requiresAuth(), async (req, res) => res.json(await req.oidc.fetchUserInfo()))
app.listen(${serverSettings(redirectUri).port})`,
      },
    ],
  },
]

const web = (params: SnippetParams): Snippet[] => [...express(params), ...frameworkSnippets(params)]

/** The option without which openid-client refuses an issuer with an http URL, such as a local Gatehouse. */
const insecureRequestsOption = (issuer: string): string =>
  issuer.startsWith('http:') ? ', { execute: [oidc.allowInsecureRequests] }' : ''

const native = ({ issuer, clientId, redirectUri }: SnippetParams): Snippet[] => [
  {
    label: 'Node.js',
    text: 'A terminal program: it prints the sign-in URL and listens on a loopback port (RFC 8252).',
    steps: [
      { title: 'Terminal', code: 'npm install openid-client' },
      {
        title: 'sign-in.mjs',
        code: `import { createServer } from 'node:http'
import * as oidc from 'openid-client'

const config = await oidc.discovery(new URL(${javascriptString(issuer)}), ${javascriptString(clientId)}, undefined, oidc.None()${insecureRequestsOption(issuer)})
const verifier = oidc.randomPKCECodeVerifier()
const server = createServer().listen(0, '127.0.0.1')
await new Promise((done) => server.once('listening', done))
const callback = new URL(${javascriptString(redirectUri)})
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

const m2m = ({ issuer, clientId }: SnippetParams): Snippet[] => [
  {
    label: 'Shell',
    text: 'Requests a token with the client secret.',
    steps: [
      {
        title: 'Terminal',
        code: `curl -s -u ${shellWord(clientId)}:"$CLIENT_SECRET" \\
  -d grant_type=client_credentials \\
  ${shellWord(`${issuer}/token`)}`,
      },
    ],
  },
  {
    label: 'Node.js',
    text: 'With openid-client.',
    steps: [
      { title: 'Terminal', code: 'npm install openid-client' },
      {
        title: 'token.mjs',
        code: `import * as oidc from 'openid-client'

const config = await oidc.discovery(new URL(${javascriptString(issuer)}), ${javascriptString(clientId)}, process.env.CLIENT_SECRET${insecureRequestsOption(issuer) && `, undefined${insecureRequestsOption(issuer)}`})
const { access_token } = await oidc.clientCredentialsGrant(config)
console.log(access_token)`,
      },
    ],
  },
]

const snippetsByType: Record<ApplicationTypeName, (ids: SnippetParams) => Snippet[]> = { spa, web, native, m2m }

/** Returns at least one snippet, with the given values filled in. */
export const snippetsForType = (type: ApplicationTypeName, params: SnippetParams): Snippet[] =>
  snippetsByType[type](params)
