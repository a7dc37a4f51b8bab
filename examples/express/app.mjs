// A web application that signs users in with express-openid-connect.
import { randomBytes } from 'node:crypto'
import express from 'express'
import openid from 'express-openid-connect'

const { auth, requiresAuth } = openid
const { ISSUER, CLIENT_ID, CLIENT_SECRET, PORT = '8080' } = process.env
const app = express()

app.use(
  auth({
    issuerBaseURL: ISSUER,
    baseURL: `http://localhost:${PORT}`,
    clientID: CLIENT_ID,
    clientSecret: CLIENT_SECRET,
    // Encrypts the session cookie of the application. Store this secret in production: a restart with a new secret
    // signs all users out of the application.
    secret: randomBytes(32).toString('hex'),
    idTokenSigningAlg: 'ES256',
    authorizationParams: { response_type: 'code', scope: 'openid profile email' },
    authRequired: false,
    idpLogout: true,
  }),
)

app.get('/', (request, response) => {
  response.send(
    request.oidc.isAuthenticated()
      ? '<h1>You are signed in</h1><a href="/profile">Profile</a> <a href="/logout">Sign out</a>'
      : '<h1>You are not signed in</h1><a href="/login">Sign in</a>',
  )
})

app.get('/profile', requiresAuth(), async (request, response) => {
  response.json({ claims: request.oidc.user, profile: await request.oidc.fetchUserInfo() })
})

app.listen(PORT, 'localhost', () => console.log(`Open http://localhost:${PORT}`))
