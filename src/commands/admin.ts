import { readFileSync } from 'node:fs'
import type { Config } from '../config.js'
import { limits } from '../kernel/limits.js'
import { MINUTE } from '../kernel/time.js'
import { randomSecret } from '../platform/crypto/secrets.js'
import { consolePath } from '../resources/console-path.js'
import { bootstrap, createFirstAdministrator } from '../setup/bootstrap.js'
import { recoverAdministrator } from '../setup/recover-administrator.js'
import { print, printNotice, withDeployment } from './deployment.js'

export interface AdminOptions {
  email: string
  /**
   * Path of a file with the password, or `-` for standard input. There is no option for the password itself, because
   * other users of the machine can read the arguments of a process.
   */
  passwordFile?: string
  json?: boolean
}

/** `gatehouse admin create`. */
export async function create(config: Config, { email, passwordFile, json }: AdminOptions): Promise<void> {
  const suppliedPassword = passwordFile === undefined ? undefined : readPassword(passwordFile)
  const password = suppliedPassword ?? randomSecret()
  await withDeployment(config, async (context) => {
    if (!(await consolePath(context))) await bootstrap(context)
    const userId = await createFirstAdministrator(context, { email, password })
    const generatedPassword = suppliedPassword === undefined ? { password_plain: password } : {}
    if (json) print(JSON.stringify({ user_id: userId, email, ...generatedPassword }))
    else {
      print(`administrator  ${userId}  ${email}`)
      if (suppliedPassword === undefined) print(`password       ${password}\nThe password is shown only once.`)
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
  await withDeployment(config, async (context) => {
    const recovered = await recoverAdministrator(context, { email, reactivate })
    if (json) {
      const {
        userId: user_id,
        username,
        url,
        expiresAt: expires_at,
        created,
        becameOwner: made_owner,
        repaired,
      } = recovered
      const reactivated_from = recovered.reactivatedFrom ?? null
      print(JSON.stringify({ user_id, username, url, expires_at, created, made_owner, reactivated_from, repaired }))
      return
    }
    if (recovered.repaired.length > 0) printNotice(`Repaired the console: ${recovered.repaired.join(', ')}.`)
    if (recovered.created) printNotice(`There was no administrator. Created ${recovered.username}.`)
    if (recovered.becameOwner)
      printNotice(`${recovered.username} is now the owner of the system account, with all scopes.`)
    if (recovered.reactivatedFrom)
      printNotice(`${recovered.username} was ${recovered.reactivatedFrom} and is now active.`)
    print(`administrator  ${recovered.userId}  ${recovered.username}`)
    print(`link           ${recovered.url}`)
    print(`The link works once, within ${limits.recoveryLinkLifetime / MINUTE} minutes. Earlier links no longer work.`)
  })
}

function readPassword(file: string): string {
  let text: string
  try {
    text = readFileSync(file === '-' ? 0 : file, 'utf8')
  } catch {
    throw new Error(`The file ${file} cannot be read; check the path and its permissions.`)
  }
  const password = text.replace(/\r?\n$/, '')
  if (password === '') throw new Error(`The password in ${file === '-' ? 'standard input' : file} is empty.`)
  return password
}
