// Serves the page and the library beside it. In life a bundler does this; nothing here is needed at run time.
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
  const found = files[request.url.split('?')[0]]
  if (!found) return response.writeHead(404).end()
  response.setHeader('Content-Type', `${found[0]}; charset=utf-8`).end(found[1])
}).listen(PORT, 'localhost', () => console.log(`Open http://localhost:${PORT}`))
