/** Runs the examples of the folder examples/ against a running Gatehouse, with the command that users run. */
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { packageRoot } from '../../src/platform/package-info.js'
import type { TestApp } from './start-app.js'
import { waitUntil } from './wait-until.js'

export interface RunningExample {
  /** Returns the text written to stdout and stderr so far. */
  output(): string
  /**
   * Waits until the output matches the pattern, and returns the match.
   * @throws Error if the example exits before, or after 30 seconds
   */
  waitForOutput(pattern: RegExp): Promise<RegExpExecArray>
  exitCode: Promise<number | null>
  /** Sends SIGTERM to the example and waits until it has exited. */
  stop(): Promise<void>
}

/** Runs examples with one account. */
export interface ExampleRunner {
  /** @param port the environment variable PORT */
  run(name: string, port?: number): RunningExample
  /** Removes the folder with the API key of the account. */
  remove(): void
}

/** Creates a runner for examples that use this application. A temporary folder is the DATA_DIR of the examples. */
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
