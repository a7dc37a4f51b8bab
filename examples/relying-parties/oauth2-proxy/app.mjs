// An application behind oauth2-proxy. oauth2-proxy adds the user to each request, so the application has no sign-in code.
import { spawn } from 'node:child_process'
import { createServer } from 'node:http'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, SESSION_SECRET, PORT = '8080', OAUTH2_PROXY = 'oauth2-proxy' } = process.env
const home = `http://localhost:${PORT}`

// oauth2-proxy replaces {id_token}. Gatehouse signs the user out and redirects to the application.
const signOut = `${ISSUER}/logout?id_token_hint={id_token}&post_logout_redirect_uri=${home}/`
const escapeHtml = (text) => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
const application = createServer((request, response) => {
  response.setHeader('Content-Type', 'text/html')
  response.end(`<link rel="icon" href="data:,"><h1>Signed in as ${escapeHtml(request.headers['x-forwarded-email'])}</h1>
    <a href="/oauth2/sign_out?rd=${encodeURIComponent(signOut)}">Sign out</a>`)
})
// Only oauth2-proxy may reach the application: any other client could set the header.
await new Promise((done) => application.listen(0, '127.0.0.1', done))

const proxy = spawn(OAUTH2_PROXY, ['--config', 'oauth2-proxy.cfg'], {
  stdio: 'inherit',
  env: {
    ...process.env,
    OAUTH2_PROXY_OIDC_ISSUER_URL: ISSUER,
    OAUTH2_PROXY_CLIENT_ID: CLIENT_ID,
    OAUTH2_PROXY_CLIENT_SECRET: CLIENT_SECRET,
    OAUTH2_PROXY_COOKIE_SECRET: SESSION_SECRET.slice(0, 32),
    OAUTH2_PROXY_REDIRECT_URL: `${home}/oauth2/callback`,
    OAUTH2_PROXY_HTTP_ADDRESS: `localhost:${PORT}`,
    OAUTH2_PROXY_UPSTREAMS: `http://127.0.0.1:${application.address().port}`,
    OAUTH2_PROXY_WHITELIST_DOMAINS: new URL(ISSUER).host,
  },
})
for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => proxy.kill(signal))
proxy.on('error', ({ message }) => {
  console.error(message)
  process.exit(1)
})
proxy.on('exit', (code) => process.exit(code ?? 0))
console.log(`Open ${home}`)
