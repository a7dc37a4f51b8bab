/**
 * Starts the MCP server, and calls one of its tools with the MCP client. REGISTRATION says how the issuer learns about
 * the client: `dynamic` for dynamic client registration, `document` for a client ID metadata document.
 */
import { callTool, clientMetadata } from './client.mjs'
import { startMcpServer } from './server.mjs'

const { ISSUER, PORT, REGISTRATION } = process.env

// In production the document is on the web site of the client, with https.
const clientId = `http://localhost:${PORT}/assistant/client.json`
const serveDocument = (request, response) => {
  if (new URL(request.url, clientId).href !== clientId) return response.writeHead(404).end()
  // The port of a loopback redirect URI may vary.
  const document = { client_id: clientId, ...clientMetadata, redirect_uris: ['http://127.0.0.1/callback'] }
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(document))
}

const { resource, close } = await startMcpServer(ISSUER, PORT, serveDocument)
const { result, clientInformation } = await callTool(
  resource,
  'list-notes',
  REGISTRATION === 'document' ? clientId : undefined,
)
console.log(`The client id is ${clientInformation.client_id}`)
console.log(`The tool answered: ${result.content[0].text}`)
close()
