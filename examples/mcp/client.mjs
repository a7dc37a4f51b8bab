/**
 * An MCP client that signs a user in with the authorization flow of the MCP SDK: it finds the issuer in the metadata of
 * the MCP server, registers itself unless it has a client id, and receives the redirect on a loopback port.
 */
import { createServer } from 'node:http'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'

/** Metadata of the client, without its redirect URIs (RFC 7591). */
export const clientMetadata = {
  client_name: 'Example assistant',
  grant_types: ['authorization_code', 'refresh_token'],
  response_types: ['code'],
  token_endpoint_auth_method: 'none',
}

/**
 * Calls a tool of an MCP server.
 * @param clientId URL of a client ID metadata document; undefined for dynamic client registration
 */
export async function callTool(serverUrl, name, clientId) {
  const callback = createServer()
  await new Promise((done) => callback.listen(0, '127.0.0.1', done))
  const redirectUrl = `http://127.0.0.1:${callback.address().port}/callback`
  const provider = createProvider(redirectUrl, clientId && { client_id: clientId })

  const client = new Client({ name: 'example-assistant', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL(serverUrl), { authProvider: provider })
  const code = receiveCode(callback, redirectUrl, provider)
  try {
    await client.connect(transport)
  } catch (error) {
    // The first request is 401, and the provider has printed the URL of the sign-in.
    if (!(error instanceof UnauthorizedError)) throw error
    await transport.finishAuth(await code)
    await client.connect(new StreamableHTTPClientTransport(new URL(serverUrl), { authProvider: provider }))
  }
  callback.close()
  const result = await client.callTool({ name })
  await client.close()
  return { result, clientInformation: provider.clientInformation() }
}

/** Keeps the state of the flow in memory. A real client stores tokens and client information safely. */
function createProvider(redirectUrl, initialInformation) {
  const state = crypto.randomUUID()
  let clientInformation = initialInformation
  let tokens
  let codeVerifier
  return {
    redirectUrl,
    clientMetadata: { ...clientMetadata, redirect_uris: [redirectUrl] },
    state: () => state,
    clientInformation: () => clientInformation,
    saveClientInformation: (information) => {
      clientInformation = information
    },
    tokens: () => tokens,
    saveTokens: (received) => {
      tokens = received
    },
    codeVerifier: () => codeVerifier,
    saveCodeVerifier: (verifier) => {
      codeVerifier = verifier
    },
    redirectToAuthorization: (url) =>
      console.log(`Open this URL and sign in as anna@example.com with "a long first password":\n\n  ${url}\n`),
  }
}

/** Waits for the redirect, and returns the code. The state protects against forged redirects. */
const receiveCode = (server, redirectUrl, provider) =>
  new Promise((resolve, reject) => {
    server.on('request', (request, response) => {
      const { pathname, searchParams } = new URL(request.url, redirectUrl)
      response.setHeader('Connection', 'close')
      if (pathname !== '/callback' || searchParams.get('state') !== provider.state())
        return response.writeHead(404).end()
      response.end('You can close this page.')
      const code = searchParams.get('code')
      if (code) resolve(code)
      else reject(new Error(`${searchParams.get('error')}: ${searchParams.get('error_description')}`))
    })
  })
