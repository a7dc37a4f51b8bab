/** A TCP proxy between a process and the database server, with which a test interrupts the connections. */
import { connect, createServer, type Server, type Socket } from 'node:net'

export class DatabaseProxy {
  private sockets = new Set<Socket>()
  private server: Server | undefined
  private port = 0
  private readonly target: { host: string; port: number } | { path: string }
  constructor(private readonly url: string) {
    const { hostname, port, searchParams } = new URL(url)
    const folder = searchParams.get('host')
    this.target = folder?.startsWith('/')
      ? { path: `${folder}/.s.PGSQL.${port || 5432}` }
      : { host: hostname, port: Number(port || 5432) }
  }
  /** Accepts connections. @returns the URL of the database through the proxy, which is the same at each call */
  async open(): Promise<string> {
    const server = createServer((clientSocket) => {
      const databaseSocket = connect(this.target as { host: string; port: number })
      for (const socket of [clientSocket, databaseSocket]) {
        this.sockets.add(socket)
        socket
          .on('error', () => undefined)
          .on('close', () => {
            this.sockets.delete(socket)
            clientSocket.destroy()
            databaseSocket.destroy()
          })
      }
      clientSocket.pipe(databaseSocket).pipe(clientSocket)
    })
    await new Promise<void>((done) => server.listen(this.port, '127.0.0.1', done))
    this.port = (server.address() as { port: number }).port
    this.server = server
    const { username, password, pathname } = new URL(this.url)
    return `postgresql://${username}:${password}@127.0.0.1:${this.port}${pathname}`
  }
  /** Closes all connections and refuses new ones until `open` is called again. */
  async disconnect(): Promise<void> {
    const ended = new Promise((done) => this.server?.close(done))
    for (const socket of this.sockets) socket.destroy()
    await ended
  }
}
