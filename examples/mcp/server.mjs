/**
 * An MCP server over streamable HTTP that accepts only access tokens of the issuer whose audience is this server. Its
 * metadata (RFC 9728) names the issuer to MCP clients.
 */
import { createServer } from 'node:http'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createRemoteJWKSet, jwtVerify } from 'jose'

const SCOPE = 'notes:read'

/**
 * Starts the server at `http://localhost:{port}/mcp`, which is also its resource identifier (RFC 8707).
 * @param issuer the issuer of the access tokens
 * @param serveOther handles requests to other paths
 */
export async function startMcpServer(issuer, port, serveOther) {
  const origin = `http://localhost:${port}`
  const resource = `${origin}/mcp`
  const metadataPath = '/.well-known/oauth-protected-resource/mcp'
  const keys = createRemoteJWKSet(new URL(`${issuer}/jwks.json`))

  /** Returns the claims of the access token, or answers 401 or 403 with a challenge (RFC 6750, RFC 9728 section 5.1). */
  async function authenticate(request, response) {
    const refuse = (status, error) => {
      const parameters = [
        error && `error="${error}"`,
        `resource_metadata="${origin}${metadataPath}"`,
        `scope="${SCOPE}"`,
      ]
      response.writeHead(status, { 'WWW-Authenticate': `Bearer ${parameters.filter(Boolean).join(', ')}` }).end()
    }
    const [, token] = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '') ?? []
    if (!token) return refuse(401)
    try {
      const { payload } = await jwtVerify(token, keys, { issuer, audience: resource, typ: 'at+jwt' })
      return payload.scope?.split(' ').includes(SCOPE) ? payload : refuse(403, 'insufficient_scope')
    } catch {
      return refuse(401, 'invalid_token')
    }
  }

  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url, origin)
    if (pathname === metadataPath) {
      const metadata = { resource, authorization_servers: [issuer], scopes_supported: [SCOPE] }
      return response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(metadata))
    }
    if (pathname !== '/mcp') return serveOther(request, response)
    const claims = await authenticate(request, response)
    if (!claims) return
    // Without session ids, each request has a transport of its own.
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    await createTools(claims).connect(transport)
    await transport.handleRequest(request, response)
  })
  await new Promise((done) => server.listen(port, 'localhost', done))
  return { resource, close: () => server.close() }
}

function createTools(claims) {
  const server = new McpServer({ name: 'Notes', version: '1.0.0' })
  const description = 'Lists the notes of the signed-in user.'
  server.registerTool('list-notes', { description }, async () => ({
    content: [{ type: 'text', text: `Notes of ${claims.sub} for ${claims.client_id}: buy tulips` }],
  }))
  return server
}
