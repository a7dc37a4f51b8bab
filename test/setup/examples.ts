/** Runs examples as a user does: one command with a running Gatehouse. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../../src/platform/package-info.js'
import type { TestApp } from './start-app.js'
import { waitUntil } from './wait-until.js'

export interface RunningExample {
  /** Its output so far, both streams. */
  output(): string
  /** Waits until it has printed this, and returns the match. */
  waitForOutput(pattern: RegExp): Promise<RegExpExecArray>
  exitCode: Promise<number | null>
  /** Ends it, if it still runs. */
  stop(): Promise<void>
}

/** The folder where the examples of one test store the key of their account. */
export interface ExampleRunner {
  run(name: string, port?: number): RunningExample
  remove(): void
}

/** Prepares the folder from which examples run against this application. */
export function createExampleRunner({ gatehouse: { config }, databaseUrl }: TestApp): ExampleRunner {
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
      const exitCode = new Promise<number | null>((done) => child.once('close', done))
      return {
        output: () => text,
        async waitForOutput(pattern) {
          const found = await waitUntil(
            `${name} has printed ${pattern}`,
            () => {
              const match = pattern.exec(text)
              if (!match && child.exitCode !== null) throw new Error(`${name} ended without ${pattern}:\n${text}`)
              return match
            },
            { limit: 30_000, details: () => text },
          )
          return found!
        },
        exitCode,
        async stop() {
          child.kill()
          await exitCode
        },
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}
