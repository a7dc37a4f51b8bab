/** Installs and starts the relying parties of definitions.mjs, outside of the folders that are under version control. */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { root } from '../environment.mjs'
import { createAnna, createClient } from '../setup.mjs'
import { newSessionSecret, relyingParties } from './definitions.mjs'

// Ignored by Git. The packages stay here, so that the next run does not download them again.
const packagesFolder = join(root, '.gatehouse', 'relying-parties')

/**
 * Copies the folder of a relying party to `.gatehouse/relying-parties/` and installs its packages there, with the
 * package manager of its language. A second call reuses the packages.
 * @returns the folder of the copy
 * @throws Error with the output of the command that failed
 */
export function prepare(name) {
  const { install, folder: newFolder } = relyingParties[name]
  const folder = newFolder?.() ?? join(packagesFolder, name)
  mkdirSync(folder, { recursive: true })
  if (newFolder) chmodSync(folder, 0o755)
  cpSync(fileURLToPath(new URL(name, import.meta.url)), folder, { recursive: true })
  for (const [program, ...args] of install) {
    const { status, error, stdout, stderr } = spawnSync(program, args, { cwd: folder, encoding: 'utf8' })
    if (status !== 0) {
      throw new Error(`${[program, ...args].join(' ')} failed in ${folder}:\n${error?.message ?? stdout + stderr}`)
    }
  }
  return folder
}

/**
 * Creates the client and the user of a relying party through `/v1`, and starts the program.
 * @param stdio `inherit`, or `pipe` to collect the output
 * @returns `home`, the address of the program, `output()`, `exited`, and `stop()`
 */
export async function start(name, environment, { folder, port, stdio = 'pipe' }) {
  const { title, client, confidential = true, command, env, folder: newFolder } = relyingParties[name]
  const home = `http://localhost:${port}`
  await createAnna(environment)
  const absolute = (paths) => paths.map((path) => `${home}${path}`)
  const { id, secret } = await createClient(environment, title, confidential, {
    ...client,
    redirect_uris: absolute(client.redirect_uris),
    post_logout_redirect_uris: absolute(client.post_logout_redirect_uris),
  })
  const variables = {
    ISSUER: environment.issuerUrl,
    CLIENT_ID: id,
    ...(secret && { CLIENT_SECRET: secret }),
    SESSION_SECRET: newSessionSecret(),
    PORT: String(port),
  }
  const more = env?.({ folder, secret: variables.SESSION_SECRET })
  const [program, ...args] = command
  // A process group of its own: programs such as npm and dotnet start further processes, which end with the group.
  const child = spawn(program === 'node' ? process.execPath : program, args, {
    cwd: folder,
    env: { ...process.env, ...variables, ...more },
    stdio: ['ignore', stdio, stdio],
    detached: true,
  })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (text += chunk))
  const exited = new Promise((done) => {
    child.once('error', (error) => {
      text += error.message
      done(1)
    })
    child.once('close', (code) => done(code ?? 0))
  }).finally(() => newFolder && rmSync(folder, { recursive: true, force: true }))
  return {
    home,
    output: () => text,
    exited,
    hasExited: () => child.pid === undefined || child.exitCode !== null || child.signalCode !== null,
    stop() {
      try {
        if (child.pid) process.kill(-child.pid, 'SIGTERM')
      } catch (error) {
        if (error.code !== 'ESRCH') throw error
      }
      return exited
    },
  }
}
