/** TLS for the conformance runner: a certificate for localhost, and a reverse proxy that terminates TLS. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer, type Server } from 'node:https'
import { join } from 'node:path'
import type { TLSSocket } from 'node:tls'

export interface Certificate {
  /** The certificate with its private key, PKCS #12. */
  pfx: Buffer
  passphrase: string
  /** The file with the certificate alone, in PEM, for NODE_EXTRA_CA_CERTS. */
  pemFile: string
  /** The PKCS #12 file with the certificate as a trust anchor, for Java. */
  trustStore: string
}

/** The password of the key stores. keytool requires one; the key is valid for two days and only on this machine. */
const passphrase = 'conformance'

/**
 * The cipher suites of TLS 1.2 that BCP 195 (RFC 9325 section 4.2) recommends, which the FAPI plans require. Node.js
 * would also offer suites in CBC mode. All suites of TLS 1.3 are allowed.
 */
const ciphers = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES256-GCM-SHA384',
].join(':')

/**
 * Creates a self-signed certificate for localhost with keytool of the JDK, which the suite requires anyway.
 * @param folder receives the files
 * @throws Error if keytool is missing or fails
 */
export function createCertificate(folder: string): Certificate {
  const [keyStore, pemFile, trustStore] = ['localhost.p12', 'localhost.pem', 'trust.p12'].map((name) =>
    join(folder, name),
  ) as [string, string, string]
  const keytool = (command: string, store: string, ...args: string[]) => {
    const common = ['-alias', 'localhost', '-keystore', store, '-storetype', 'PKCS12', '-storepass', passphrase]
    execFileSync('keytool', [command, ...common, ...args], { stdio: ['ignore', 'ignore', 'pipe'] })
  }
  const names = ['-dname', 'CN=localhost', '-ext', 'san=dns:localhost,ip:127.0.0.1']
  keytool('-genkeypair', keyStore, '-keyalg', 'RSA', '-keysize', '2048', '-validity', '2', ...names)
  keytool('-exportcert', keyStore, '-rfc', '-file', pemFile)
  keytool('-importcert', trustStore, '-noprompt', '-file', pemFile)
  return { pfx: readFileSync(keyStore), passphrase, pemFile, trustStore }
}

/**
 * Starts a reverse proxy on 127.0.0.1 that terminates TLS and passes requests to a port of this machine.
 * @param port the port of the proxy
 * @param target the port of the server behind it
 */
export async function startTlsProxy(certificate: Certificate, port: number, target: number): Promise<Server> {
  const { pfx, passphrase } = certificate
  const server = createServer({ pfx, passphrase, ciphers, minVersion: 'TLSv1.2' }, (incoming, outgoing) => {
    const headers = { ...incoming.headers, ...forwardedHeaders(incoming.socket as TLSSocket, port) }
    const { method, url: path } = incoming
    const upstream = request({ host: '127.0.0.1', port: target, method, path, headers }, (response) => {
      outgoing.writeHead(response.statusCode!, response.rawHeaders)
      response.pipe(outgoing)
    })
    upstream.once('error', () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()))
    incoming.pipe(upstream)
  })
  await new Promise<void>((done) => server.listen(port, '127.0.0.1', done))
  return server
}

/** The headers from which the suite learns its own URL, and the TLS version that Gatehouse used in calls to it. */
function forwardedHeaders(socket: TLSSocket, port: number): Record<string, string> {
  return {
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'localhost',
    'x-forwarded-port': String(port),
    'x-ssl-protocol': socket.getProtocol() ?? '',
    'x-ssl-cipher': socket.getCipher().name,
  }
}
