import { readFileSync } from 'node:fs'
import { bootstrap, makeFirstAdministrator } from '../bootstrap.js'
import type { Config } from '../config.js'
import { randomSecret } from '../platform/secrets.js'
import { consolePlace } from '../resources/console-place.js'
import { inDeployment, say } from './deployment.js'

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
