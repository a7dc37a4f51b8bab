// A web application that signs users in with openid-client 5. It keeps tokens in a session on the server.
import express from 'express'
import session from 'express-session'
import { generators, Issuer } from 'openid-client'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, SESSION_SECRET, PORT = '8080' } = process.env
const home = `http://localhost:${PORT}`
const issuer = await Issuer.discover(ISSUER)
// The client has response_signature_alg RS256, which openid-client 5 expects. For a client that signs with ES256, add
// id_token_signed_response_alg: 'ES256'.
const client = new issuer.Client({
  client_id: CLIENT_ID,
  client_secret: CLIENT_SECRET,
  redirect_uris: [`${home}/callback`],
  response_types: ['code'],
})

const app = express()
app.use(session({ secret: SESSION_SECRET, resave: false, saveUninitialized: false, cookie: { sameSite: 'lax' } }))

app.get('/', (request, response) => {
  const { user, refreshed } = request.session
  response.send(
    user
      ? `<h1>Signed in as ${user.email}</h1><p>${refreshed ? 'Tokens refreshed' : ''}</p>
         <a href="/refresh">Refresh</a> <a href="/logout">Sign out</a>`
      : '<h1>You are not signed in</h1><a href="/login">Sign in</a>',
  )
})

app.get('/login', (request, response) => {
  const code_verifier = generators.codeVerifier()
  const state = generators.state()
  const nonce = generators.nonce()
  request.session.checks = { code_verifier, state, nonce, response_type: 'code' }
  const url = client.authorizationUrl({
    scope: 'openid profile email offline_access',
    state,
    nonce,
    code_challenge: generators.codeChallenge(code_verifier),
    code_challenge_method: 'S256',
  })
  response.redirect(url)
})

app.get('/callback', async (request, response) => {
  const tokens = await client.callback(`${home}/callback`, client.callbackParams(request), request.session.checks)
  const user = await client.userinfo(tokens)
  // A new session id, so that an id from before the sign-in does not give access to the session.
  request.session.regenerate(() => {
    Object.assign(request.session, { user, idToken: tokens.id_token, refreshToken: tokens.refresh_token })
    response.redirect('/')
  })
})

app.get('/refresh', async (request, response) => {
  const tokens = await client.refresh(request.session.refreshToken)
  // Each refresh token can be used once: the response contains the next one.
  Object.assign(request.session, { idToken: tokens.id_token, refreshToken: tokens.refresh_token, refreshed: true })
  response.redirect('/')
})

app.get('/logout', (request, response) => {
  const url = client.endSessionUrl({
    id_token_hint: request.session.idToken,
    post_logout_redirect_uri: `${home}/`,
  })
  request.session.destroy(() => response.redirect(url))
})

app.listen(PORT, 'localhost', () => console.log(`Open ${home}`))
