// The HTTP server of the services orders and stock. A service accepts only access tokens of the issuer whose audience
// is the service.
import { createServer } from 'node:http'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const { ISSUER } = process.env
const keys = createRemoteJWKSet(new URL(`${ISSUER}/jwks.json`))

/** Starts a service that verifies tokens for `audience` and responds with the result of `handle`. Returns its URL. */
export async function serve(audience, handle) {
  const server = createServer(async (request, response) => {
    response.setHeader('Content-Type', 'application/json')
    try {
      const token = request.headers.authorization?.replace(/^Bearer /, '') ?? ''
      const { payload } = await jwtVerify(token, keys, { issuer: ISSUER, audience, typ: 'at+jwt' })
      response.end(JSON.stringify(await handle(payload, token)))
    } catch (error) {
      response.writeHead(401).end(JSON.stringify({ error: error.message }))
    }
  })
  await new Promise((done) => server.listen(0, '127.0.0.1', done))
  return `http://127.0.0.1:${server.address().port}`
}
