// A web application that signs users in with openid-client 6. It keeps tokens in a session on the server.
import express from 'express'
import session from 'express-session'
import * as client from 'openid-client'

const { ISSUER, CLIENT_ID, CLIENT_SECRET, SESSION_SECRET, PORT = '8080' } = process.env
const home = `http://localhost:${PORT}`
// openid-client refuses http URLs. Allow them only for a Gatehouse on this machine.
const execute = ISSUER.startsWith('http://localhost') ? [client.allowInsecureRequests] : []
const config = await client.discovery(new URL(ISSUER), CLIENT_ID, CLIENT_SECRET, undefined, { execute })

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

app.get('/login', async (request, response) => {
  const pkceCodeVerifier = client.randomPKCECodeVerifier()
  const expectedState = client.randomState()
  const expectedNonce = client.randomNonce()
  request.session.checks = { pkceCodeVerifier, expectedState, expectedNonce }
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: `${home}/callback`,
    scope: 'openid profile email offline_access',
    state: expectedState,
    nonce: expectedNonce,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  })
  response.redirect(url.href)
})

app.get('/callback', async (request, response) => {
  const url = new URL(request.originalUrl, home)
  const tokens = await client.authorizationCodeGrant(config, url, request.session.checks)
  const user = await client.fetchUserInfo(config, tokens.access_token, tokens.claims().sub)
  // A new session id, so that an id from before the sign-in does not give access to the session.
  request.session.regenerate(() => {
    Object.assign(request.session, { user, idToken: tokens.id_token, refreshToken: tokens.refresh_token })
    response.redirect('/')
  })
})

app.get('/refresh', async (request, response) => {
  const tokens = await client.refreshTokenGrant(config, request.session.refreshToken)
  // Each refresh token can be used once: the response contains the next one.
  Object.assign(request.session, { idToken: tokens.id_token, refreshToken: tokens.refresh_token, refreshed: true })
  response.redirect('/')
})

app.get('/logout', (request, response) => {
  const url = client.buildEndSessionUrl(config, {
    id_token_hint: request.session.idToken,
    post_logout_redirect_uri: `${home}/`,
  })
  request.session.destroy(() => response.redirect(url.href))
})

app.listen(PORT, 'localhost', () => console.log(`Open ${home}`))
