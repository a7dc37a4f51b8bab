/** Examples as a newcomer starts them: one command beside a running Gatehouse. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../../src/platform/package-root.js'
import type { TestApp } from './start-app.js'

export interface RunningExample {
  /** What it printed so far, both streams. */
  output(): string
  /** Waits until it has printed this, and answers the match. */
  printed(pattern: RegExp): Promise<RegExpExecArray>
  ended: Promise<number | null>
  /** Ends it, if it still runs. */
  stop(): Promise<void>
}

/** Where the examples of one test keep the key of their account. */
export interface Shelf {
  run(name: string, port?: number): RunningExample
  remove(): void
}

/** Makes the place from which examples are run against this application. */
export function exampleShelf({ gatehouse: { config }, databaseUrl }: TestApp): Shelf {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-examples-'))
  const env = {
    PATH: process.env['PATH'] ?? '',
    BASE_URL: config.baseUrl,
    IDP_URL: config.idpUrl,
    DATABASE_URL: databaseUrl,
    SECRET_KEY: config.secretKeys[0]!.toString('base64'),
    DATA_DIR: folder,
  }
  return {
    run(name, port) {
      const child = spawn(process.execPath, ['examples/run.mjs', name], {
        cwd: packageRoot,
        env: { ...env, ...(port !== undefined && { PORT: String(port) }) },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let text = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk))
      const ended = new Promise<number | null>((done) => child.once('close', done))
      return {
        output: () => text,
        async printed(pattern) {
          for (let look = 0; look < 600; look++) {
            const found = pattern.exec(text)
            if (found) return found
            if (child.exitCode !== null) break
            await new Promise((done) => setTimeout(done, 50))
          }
          throw new Error(`${name} never printed ${pattern}:\n${text}`)
        },
        ended,
        async stop() {
          child.kill()
          await ended
        },
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
