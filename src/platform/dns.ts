/** Questions to the name system. Every wait has a limit (security rule 24). */
import { Resolver } from 'node:dns/promises'
import type { Config } from '../config.js'
import { SECOND } from '../kernel/time.js'
import type { Context } from './context.js'
import { outside } from './database.js'

/** For one answer, and for all attempts together (milliseconds). */
const ANSWER_TIMEOUT = 1500
const TIMEOUT = 5 * SECOND

/**
 * The TXT records of a name, each with its parts joined (RFC 7208 3.3 reads them the same way).
 * @returns undefined when no server answered in time; nothing there is an empty list
 */
export const textRecords = (context: Context, name: string): Promise<string[] | undefined> =>
  outside(context, `TXT ${name}`, () => ask(context.config, name))

async function ask({ dnsResolver }: Config, name: string): Promise<string[] | undefined> {
  const resolver = new Resolver({ timeout: ANSWER_TIMEOUT, tries: 2 })
  if (dnsResolver !== undefined) resolver.setServers([dnsResolver])
  const timer = setTimeout(() => resolver.cancel(), TIMEOUT)
  try {
    const records = await resolver.resolveTxt(name)
    return records.map((parts) => parts.join(''))
  } catch (error) {
    const code = (error as { code?: string }).code ?? ''
    return ['ENODATA', 'ENOTFOUND'].includes(code) ? [] : undefined
  } finally {
    clearTimeout(timer)
  }
}
