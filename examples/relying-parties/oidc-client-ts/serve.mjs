// Serves the page, its configuration and the libraries. A real application uses a bundler instead.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'

const { ISSUER, CLIENT_ID, PORT = '8080' } = process.env
const files = {
  '/': ['text/html', 'index.html'],
  '/app.js': ['text/javascript', 'app.js'],
  '/node_modules/oidc-client-ts/dist/esm/oidc-client-ts.js': ['text/javascript'],
  '/node_modules/jwt-decode/build/esm/index.js': ['text/javascript'],
}

createServer((request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost')
  if (pathname === '/config.js') {
    const config = JSON.stringify({ issuer: ISSUER, clientId: CLIENT_ID })
    return response.setHeader('Content-Type', 'text/javascript').end(`export const config = ${config}`)
  }
  if (!Object.hasOwn(files, pathname)) return response.writeHead(404).end()
  const [type, file = pathname.slice(1)] = files[pathname]
  response.setHeader('Content-Type', `${type}; charset=utf-8`).end(readFileSync(new URL(file, import.meta.url)))
}).listen(PORT, 'localhost', () => console.log(`Open http://localhost:${PORT}`))
