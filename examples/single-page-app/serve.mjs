// Serves the page, the configuration and the libraries. A real application uses a bundler instead.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const { ISSUER, CLIENT_ID, PORT = '8080' } = process.env
const file = (path) => readFileSync(new URL(path, import.meta.url), 'utf8')
const packages = '../../node_modules'

const files = {
  '/': ['text/html', file('index.html')],
  '/app.js': ['text/javascript', file('app.js')],
  '/config.js': ['text/javascript', `export const config = ${JSON.stringify({ issuer: ISSUER, clientId: CLIENT_ID })}`],
  '/oidc-client-ts.js': ['text/javascript', file(`${packages}/oidc-client-ts/dist/esm/oidc-client-ts.js`)],
  '/jwt-decode.js': ['text/javascript', file(`${packages}/jwt-decode/build/esm/index.js`)],
}

createServer((request, response) => {
  const entry = files[request.url.split('?')[0]]
  if (!entry) return response.writeHead(404).end()
  response.setHeader('Content-Type', `${entry[0]}; charset=utf-8`).end(entry[1])
}).listen(PORT, 'localhost', () => console.log(`Open http://localhost:${PORT}`))
