import { readFileSync } from 'node:fs'
import { bootstrap, makeFirstAdministrator } from '../bootstrap.js'
import type { Config } from '../config.js'
import { MINUTE } from '../kernel/time.js'
import { randomSecret } from '../platform/secrets.js'
import { recoverAdministrator } from '../recover.js'
import { consolePlace } from '../resources/console-place.js'
import { RECOVERY_LIFE } from '../resources/credentials/recovery.js'
import { inDeployment, note, say } from './deployment.js'

export interface AdminOptions {
  email: string
  passwordFile?: string
  json?: boolean
}

/** `gatehouse admin create`. */
export async function create(config: Config, { email, passwordFile, json }: AdminOptions): Promise<void> {
  const given = passwordFile === undefined ? undefined : readPassword(passwordFile)
  // Never as a word of the command: other people of the machine can read those.
  const password = given ?? randomSecret()
  await inDeployment(config, async (context) => {
    if (!(await consolePlace(context))) await bootstrap(context)
    const userId = await makeFirstAdministrator(context, { email, password })
    const shown = given === undefined ? { password_plain: password } : {}
    if (json) say(JSON.stringify({ user_id: userId, email, ...shown }))
    else {
      say(`administrator  ${userId}  ${email}`)
      if (given === undefined) say(`password       ${password}\nIt is shown this once.`)
    }
  })
}

export interface RecoverOptions {
  email: string
  reactivate?: boolean
  json?: boolean
}

/** `gatehouse admin recover`. */
export async function recover(config: Config, { email, reactivate = false, json }: RecoverOptions): Promise<void> {
  await inDeployment(config, async (context) => {
    const made = await recoverAdministrator(context, { email, reactivate })
    if (json) {
      const { userId: user_id, username, url, expiresAt: expires_at, created, madeOwner: made_owner, repaired } = made
      const reactivated_from = made.reactivatedFrom ?? null
      say(JSON.stringify({ user_id, username, url, expires_at, created, made_owner, reactivated_from, repaired }))
      return
    }
    if (made.repaired.length > 0) note(`Repaired the console: ${made.repaired.join(', ')}.`)
    if (made.created) note(`There was no administrator left. Created ${made.username}.`)
    if (made.madeOwner) note(`${made.username} owns the system account now, with all authority.`)
    if (made.reactivatedFrom) note(`${made.username} was ${made.reactivatedFrom} and is active now.`)
    say(`administrator  ${made.userId}  ${made.username}`)
    say(`link           ${made.url}`)
    say(`It works once and for ${RECOVERY_LIFE / MINUTE} minutes. It replaces all links from before.`)
  })
}

function readPassword(file: string): string {
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch {
    throw new Error(`There is no file ${file} that can be read.`)
  }
  const password = text.replace(/\r?\n$/, '')
  if (password === '') throw new Error('The password is empty.')
  return password
}
