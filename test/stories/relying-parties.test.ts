/**
 * Runs `npm run relying-parties` for relying parties that need only Node.js. It installs their packages from the npm
 * registry. On a machine with the other runtimes, run the command without names.
 */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from '@jest/globals'
import { packageRoot } from '../../src/platform/package-info.js'

/** Runs the command until it ends. */
async function runRelyingParties(...names: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, [join(packageRoot, 'examples/relying-parties/run.mjs'), ...names], {
    cwd: packageRoot,
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const code = await new Promise<number | null>((done) => child.once('close', done))
  return { code, output }
}

test('openid-client 6, openid-client 5 and oidc-client-ts sign in, refresh tokens and sign out', async () => {
  const names = ['openid-client-6', 'openid-client-5', 'oidc-client-ts']
  const { code, output } = await runRelyingParties(...names)
  expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('3 passed, 0 failed, 0 skipped') })
  for (const name of names) expect(output).toContain(`passed: ${name}: signed in, refreshed, signed out`)
}, 300_000)

test('an unknown name causes exit code 1 and lists the known names', async () => {
  const { code, output } = await runRelyingParties('nothing')
  expect(code).toBe(1)
  expect(output).toMatch(/Unknown relying party: nothing\. Known: openid-client-6, /)
})
